"""The picture of the start page: its five lines, drawn."""

from __future__ import annotations

from matplotlib import pyplot as plt
from shared import show
from sklearn.datasets import load_digits

from dikmeans import DIKMeans


def centroids():
    digits = load_digits()
    model = DIKMeans(n_clusters=10, random_state=0).fit(digits.images)
    k_means = DIKMeans(n_clusters=10, warp="none", random_state=0).fit(digits.images)
    grid = plt.subplots(2, 10, figsize=(9, 2.1), layout="constrained")[1]
    for axes, fitted, name in zip(grid, (k_means, model), ("K-means", "dikmeans"), strict=True):
        for axis, centroid in zip(axes, fitted.cluster_centers_, strict=True):
            show(axis, centroid)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center")
