"""
Smoothness and landmarks by pictures
====================================

Two parameters say how far a warp may go. ``landmarks`` is the grid of points that move the picture:
more of them reach finer detail. ``smoothness`` is the price of bending: 0 lets almost anything fit
onto anything, a high one leaves little more than shifts, turns and stretches.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans import align
from dikmeans.demo import load_digits

digits = load_digits(200, seed=0)
two, other_two = digits.images[digits.labels == 2][[0, 5]]
three = digits.images[digits.labels == 3][0]
smoothnesses = (0.0, 0.03, 0.3, 3.0)


def normalized(picture):
    """Unit norm: a cost of 1 is then no better than an empty picture."""
    return picture / np.linalg.norm(picture)


# %%
# A two is bent onto another two, and onto a three. Under each picture stands the cost: what does
# not fit, plus the price of the warp.

figure, axes = plt.subplots(2, 6, figsize=(9, 3.4), layout="constrained")
for row, target in zip(axes, (other_two, three), strict=True):
    row[0].imshow(two, cmap="gray_r")
    row[0].set_title("this")
    row[1].imshow(target, cmap="gray_r")
    row[1].set_title("onto this")
    for axis, smoothness in zip(row[2:], smoothnesses, strict=True):
        result = align(normalized(target), normalized(two), smoothness=smoothness)
        axis.imshow(result.warped, cmap="gray_r", vmin=0)
        axis.set(title=f"smoothness {smoothness:g}", xlabel=f"cost {result.cost:.2f}")
for axis in axes.ravel():
    axis.set(xticks=[], yticks=[])

# %%
# What matters for clustering is the gap between the two rows: a two should fit a two far better
# than a three. The same for the number of landmarks per side:

for landmarks in (2, 3, 4, 6, 8):
    costs = [
        align(normalized(target), normalized(two), landmarks=landmarks).cost
        for target in (other_two, three)
    ]
    print(f"{landmarks} x {landmarks} landmarks: cost {costs[0]:.3f} and {costs[1]:.3f}")

# %%
# The price of bending counts in the cost that decides the cluster. In a fit each cluster also
# learns which deformations are typical of it, and those become cheap.
