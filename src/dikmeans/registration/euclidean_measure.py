"""The measure without a warp: exact and in double precision.

It is the squared Euclidean distance, or, where light and contrast are solved for, the distance
after the best gain and offset of the centroid.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dikmeans._typing import DType, FloatArray, IntArray
from dikmeans.registration.batches import BATCH_PIXELS
from dikmeans.registration.intensity import FixedIntensity, Intensity
from dikmeans.registration.measure import Change, Direction, PairFits, WarmStart, all_centroids
from dikmeans.registration.orientation import orientation_matrices
from dikmeans.registration.warps import Border, Warp


class EuclideanMeasure:
    """Alignments that move nothing; with them the algorithm is K-means.

    See `dikmeans.registration.measure.Measure` for its methods.

    Parameters
    ----------
    warp : NoWarp
    direction : {"image-to-centroid", "centroid-to-image"}
        Only tells which of two unmoved pictures counts as the warped one.
    border : {"zero", "edge", "rim"}
        Without effect: nothing outside a picture is ever looked at.
    unit_norm : bool, default=False
        Whether centroids are constrained to unit norm.
    intensity : Intensity, optional
        How light and contrast count; by default as they are.
    """

    needs_pixel_variance = True
    warm_starts = True
    batch_pixels = BATCH_PIXELS
    max_threads: int | None = None
    n_basis = 0
    centroid_update: Literal["mean", "least-squares"]

    def __init__(
        self,
        warp: Warp,
        *,
        direction: Direction,
        border: Border = "zero",
        unit_norm: bool = False,
        intensity: Intensity | None = None,
    ):
        self.warp = warp
        self.direction: Direction = direction
        self.border: Border = border
        self.unit_norm = unit_norm
        self.intensity = intensity or FixedIntensity()
        self.orientations = orientation_matrices("upright")
        self.centroid_update = "mean" if self.intensity.name == "fixed" else "least-squares"

    @property
    def dtype(self) -> DType:
        """Double precision, as in scikit-learn's KMeans."""
        return np.dtype(np.float64)

    def bank(
        self, centroids: FloatArray, *, warm: bool = False, columns: IntArray | None = None
    ) -> FloatArray:
        """The centroids as they are compared."""
        return self.intensity.prepare(centroids)

    def align(
        self,
        images: FloatArray,
        bank: FloatArray,
        *,
        start: WarmStart | None = None,
        prune: float = np.inf,
        narrow: bool = False,
    ) -> PairFits:
        """The cost of every image to every centroid."""
        n, k = len(images), len(bank)
        costs = self.intensity.distances(self.intensity.prepare(images), bank)
        upright, converged = np.zeros((2, n, k), np.int8)
        deltas = np.zeros((n, k, 2, 0), np.float32)
        return PairFits(costs, deltas, converged, upright, all_centroids(n, k))

    def penalty(self, deltas: FloatArray, columns: IntArray) -> FloatArray:
        """Zero: nothing is warped."""
        return np.zeros(len(deltas))

    def orient(self, images: FloatArray, orientations: IntArray) -> FloatArray:
        """The images as they are: all are upright."""
        return images

    def render(self, pictures: FloatArray, which: IntArray, deltas: FloatArray) -> FloatArray:
        """The pictures as they are."""
        return pictures[which]

    def render_at(self, pictures: FloatArray, pixels: FloatArray) -> FloatArray:
        """The pictures as they are: without a warp every pixel stays in its place."""
        return pictures

    def back_project(
        self,
        centroids: FloatArray,
        images: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        deltas: FloatArray,
        n_jobs: int | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Residuals of the images of each cluster, and their weight."""
        push, mass = (
            np.zeros(centroids.shape),
            np.zeros((*centroids.shape[:1], 1, *centroids.shape[2:])),
        )
        for k, centroid in enumerate(centroids):
            members = np.flatnonzero(labels == k)
            residuals = images[members] - centroid
            push[k] = np.einsum("n,ncij->cij", weights[members], residuals)
            mass[k] = weights[members].sum()
        return push, mass

    def stop_reason(self, change: Change, tol: float) -> str:
        """As in scikit-learn's KMeans: no image moved, or the centroids moved less than `tol`."""
        if change.moved == 0:
            return "no image changed its cluster"
        moved_little = change.shift <= tol * change.pixel_variance
        return "the centroids moved less than tol" if moved_little else ""
