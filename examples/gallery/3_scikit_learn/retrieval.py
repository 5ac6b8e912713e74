"""
Pictures like this one
======================

To search a collection for a picture, compare it with all others, and sort. A bent and shifted copy
comes first under the deformation-invariant cost, and far down by pixels.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans import pairwise_cost
from dikmeans.demo import load_digits

digits = load_digits(500, seed=0)
X = digits.images / np.linalg.norm(digits.images, axis=(1, 2), keepdims=True)
queries = [int(np.flatnonzero(digits.labels == digit)[4]) for digit in (2, 4, 8)]

by_cost = pairwise_cost(X, X[queries])
by_pixels = ((X[:, None] - X[queries]) ** 2).sum(axis=(2, 3))

# %%
# Each query, followed by what is nearest to it: above by pixels, below under deformations. Digits
# of another class have a red frame.

figure, axes = plt.subplots(6, 11, figsize=(9, 5.2), layout="constrained")
for number, query in enumerate(queries):
    for line, costs in enumerate((by_pixels, by_cost)):
        row = axes[2 * number + line]
        for axis, picture in zip(row, np.argsort(costs[:, number])[:11], strict=True):
            axis.imshow(X[picture], cmap="gray_r")
            wrong = digits.labels[picture] != digits.labels[query]
            axis.set(xticks=[], yticks=[])
            plt.setp(
                axis.spines.values(), color="tab:red" if wrong else "0.85", linewidth=1 + wrong
            )
        row[0].set_ylabel(("pixels", "bent")[line], rotation=0, ha="right", va="center")

# %%
# The share of the ten nearest that show the same digit, over these queries:

for name, costs in {"pixels": by_pixels, "deformation-invariant": by_cost}.items():
    nearest = np.argsort(costs, axis=0)[1:11]
    right = digits.labels[nearest] == digits.labels[queries]
    print(f"{name}: {right.mean():.0%}")
