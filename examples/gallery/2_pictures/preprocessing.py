"""
Preprocessing by pictures
=========================

What counts in a picture is rarely its brightness. Before pictures are compared they are prepared,
so that paper, light, color, place or stroke weight do not matter. ``preprocessing="auto"`` composes
the steps from the pictures; here each is shown alone.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans.demo import load_digits
from dikmeans.preprocessing import (
    Background,
    Centering,
    Chain,
    LocalContrast,
    UnitNorm,
    Whitening,
    choose_preprocessing,
)

# %%
# Eight digits as they would be scanned: dark ink on paper under uneven light, off the middle.

ink = np.pad(load_digits(8, seed=3).images, [(0, 0), (8, 0), (0, 8)])
rows, columns = np.mgrid[:36, :36] / 36
paper = 0.95 - 0.35 * rows + 0.1 * columns
noise = np.random.default_rng(0).normal(scale=0.01, size=ink.shape)
X = (paper * (1 - 0.8 * ink) + noise).astype(np.float32)

# %%
# Each step is a scikit-learn transformer of pictures. `Background` replaces every pixel by its
# distance from the ground of its picture, and the others work on what it leaves.

steps = {
    "as scanned": Chain(()),
    "background": Background(),
    "+ centering": Chain((Background(), Centering())),
    "+ local contrast": Chain((Background(), Centering(), LocalContrast())),
    "or + whitening": Chain((Background(), Centering(), Whitening())),
    "or + unit norm": Chain((Background(), Centering(), UnitNorm())),
}
figure, axes = plt.subplots(6, 8, figsize=(8, 6), layout="constrained")
for row, (name, step) in zip(axes, steps.items(), strict=True):
    for axis, picture in zip(row, step.fit_transform(X), strict=True):
        axis.imshow(picture, cmap="gray" if name == "as scanned" else "gray_r")
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")

# %%
# Local contrast gives a dot as much weight as a line; whitening gives fine detail more weight, for
# thicker things such as hands. What "auto" chooses, and why:

chosen, reason = choose_preprocessing(X[:, None])
print(chosen.learn(X[:, None]))
print(reason)
