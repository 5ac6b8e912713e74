"""The three kinds of K-means from the same start, as the paper's figures compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dikmeans.kmeans import DIKMeans

FAMILY = {"K-means": "none", "AI K-means": "affine", "DI K-means": "tps"}
"""What each is called, and the deformation it is blind to."""


def fit_family(
    images: np.ndarray,
    n_clusters: int,
    seed: int,
    *,
    step: Callable[[str], Any] = lambda text: None,
) -> dict[str, DIKMeans]:
    """Fit all three with their defaults, on the same images, from the same seed and so the same centroids.

    Unlike the table's K-means, this one has its images normalised as the others do: what differs between
    the three is the warp alone.

    Parameters
    ----------
    images : array of shape (N, rows, columns[, channels])
    n_clusters : int
    seed : int
    step : callable, optional
        Hears what is being fitted.

    Returns
    -------
    dict of str to DIKMeans
    """
    fitted = {}
    for name, warp in FAMILY.items():
        step(name)
        fitted[name] = DIKMeans(n_clusters, warp=warp, random_state=seed).fit(images)
    return fitted
