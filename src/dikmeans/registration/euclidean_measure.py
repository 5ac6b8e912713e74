"""The measure without a warp: the squared Euclidean distance, behind the same face as `WarpedMeasure`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from dikmeans.registration.warped_measure import Fits
from dikmeans.registration.warps import Warp


class EuclideanMeasure:
    """Alignments that move nothing: exact, in double precision, with no parameters.

    Parameters
    ----------
    warp : NoWarp
    direction : {"image-to-centroid", "centroid-to-image"}
        Only tells which of two unmoved pictures counts as the warped one.
    """

    dtype: Any = np.float64
    exact = True
    n_basis = 0
    chunk_pixels: int | None = None

    def __init__(self, warp: Warp, *, direction: str):
        self.warp = warp
        self.direction = direction

    def bank(
        self, centroids: np.ndarray, *, warm: bool = False, numbers: np.ndarray | None = None
    ) -> np.ndarray:
        """Nothing to prepare."""
        return centroids

    def fit(
        self,
        images: np.ndarray,
        bank: np.ndarray,
        *,
        start: np.ndarray | None = None,
        keep: np.ndarray | None = None,
        prune: float = np.inf,
    ) -> Fits:
        """Squared distances of every image to every centroid."""
        n, k = len(images), len(bank)
        middle = bank.mean(axis=0)  # pictures far from zero would lose their differences to rounding
        costs = euclidean_distances(
            (images - middle).reshape(n, -1), (bank - middle).reshape(k, -1), squared=True
        )
        return Fits(costs, np.zeros((n, k, 2, 0), np.float32), np.zeros((n, k), np.int8))

    def penalty(self, deltas: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Nothing bends."""
        return np.zeros(len(deltas))

    def render(self, pictures: np.ndarray, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """The pictures as they are."""
        return pictures[which]

    def render_at(self, pictures: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        """The pictures as they are: without a warp every pixel is its own place."""
        return pictures
