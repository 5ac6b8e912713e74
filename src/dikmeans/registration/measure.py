r"""What a measure is: the cost between images and centroids, found by warping one onto the other.

.. math::
    d(x, \mu) = \min_\nu \; \| \mathrm{warp}(x; \nu) - \mu \|^2 + \|x\|^2\,\delta^T Q\,\delta,
    \qquad \delta = \nu - \nu_{id},

for ``direction="image-to-centroid"``, the paper's; for ``"centroid-to-image"`` the centroid is the
one that is warped, :math:`\| \mathrm{warp}(\mu; \nu) - x \|^2`. Without a warp it is the squared
Euclidean distance. `dikmeans.registration.warped_measure` has the penalty :math:`Q`. With
``intensity="affine"`` the warped picture gets the gain and offset that fit best, and costs have no
unit; `dikmeans.registration.intensity` has the formulas.

The algorithm in `dikmeans.kmeans` knows no more of a measure than the protocol below.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from dikmeans._typing import DType, FloatArray, IntArray
from dikmeans.registration.intensity import Intensity
from dikmeans.registration.warps import Border, Warp

Direction = Literal["centroid-to-image", "image-to-centroid"]
DIRECTIONS: tuple[Direction, ...] = ("image-to-centroid", "centroid-to-image")

Bank: TypeAlias = Any
"""Centroids as a measure has prepared them: only the measure that made one looks into it."""


class PairFits(NamedTuple):
    """Alignments of n images with M centroids each: with all, or with their candidates.

    Attributes
    ----------
    costs : float64 array of shape (n, M)
    deltas : float32 array of shape (n, M, 2, n_basis)
        Warp parameters minus the identity: those of rows, then those of columns.
    status : int8 array of shape (n, M)
        Values of `dikmeans.registration.Status`.
    orientations : int8 array of shape (n, M)
        Number, among `Measure.orientations`, of the orientation that the image is compared in.
    centroids : int32 array of shape (n, M)
        Which centroids these are, ascending.
    """

    costs: FloatArray
    deltas: FloatArray
    status: IntArray
    orientations: IntArray
    centroids: IntArray

    @property
    def nearest(self) -> tuple[IntArray, IntArray]:
        """The pair of each image that costs least: rows and columns of the arrays."""
        return np.arange(len(self.costs)), self.costs.argmin(axis=1)

    @property
    def labels(self) -> IntArray:
        """The nearest centroid of each image."""
        return self.centroids[self.nearest].astype(np.int64)

    def columns(self, chosen: IntArray) -> PairFits:
        """Some of the pairs of each image: columns (n, m)."""
        rows = np.arange(len(chosen))[:, None]
        return PairFits._make(array[rows, chosen] for array in self)

    def replaced(self, fresh: PairFits, centroids: IntArray) -> PairFits:
        """With `fresh` alignments with some `centroids` in place of those that there are.

        Each image keeps as many as it has: the cheapest.
        """
        stale = np.isin(self.centroids, centroids)
        both = PairFits._make(
            np.concatenate(pair, axis=1) for pair in zip(self, fresh, strict=True)
        )
        rank = np.pad(stale, [(0, 0), (0, fresh.costs.shape[1])])
        order = np.lexsort((both.costs, rank))[:, : self.costs.shape[1]]
        ascending = np.argsort(np.take_along_axis(both.centroids, order, axis=1), axis=1)
        return both.columns(np.take_along_axis(order, ascending, axis=1))


def all_centroids(n_images: int, n_centroids: int) -> IntArray:
    """`PairFits.centroids` of images that are aligned with all of them."""
    return np.broadcast_to(np.arange(n_centroids, dtype=np.int32), (n_images, n_centroids))


class WarmStart(NamedTuple):
    """Alignments of n images with M slightly different centroids each, to be refined.

    Attributes
    ----------
    deltas : array of shape (n, M, 2, n_basis)
        Warp parameters minus the identity.
    orientations : int array of shape (n, M), optional
        The orientation of each pair, which stays as it is. By default all are upright.
    costs : array of shape (n, M), optional
        What the pairs cost, if that should tell which of them are hopeless.
    centroids : int array of shape (n, M), optional
        Which centroids the columns are, if not all.
    keep : int array of shape (n,), optional
        One column per image that is refined whatever it costs.
    """

    deltas: FloatArray
    orientations: IntArray | None = None
    costs: FloatArray | None = None
    centroids: IntArray | None = None
    keep: IntArray | None = None

    def rows(self, part: slice) -> WarmStart:
        """The start of some of the images."""
        return WarmStart._make(None if array is None else array[part] for array in self)


class Change(NamedTuple):
    """What one iteration of Lloyd's algorithm changed.

    Attributes
    ----------
    inertia_before, inertia : float
    moved : int
        Images with another centroid than before.
    n_images : int
    shift : float
        Squared distance, summed over all centroids, that they moved.
    pixel_variance : float
        Variance of a pixel over the images, on average.
    """

    inertia_before: float
    inertia: float
    moved: int
    n_images: int
    shift: float
    pixel_variance: float


class Measure(Protocol):
    """A deformation-invariant cost between images and centroids, evaluated in bulk.

    Pictures are arrays (n, channels, rows, columns) of `dtype`. A measure treats every image on its
    own: no result depends on batch, order or thread.

    Attributes
    ----------
    warp : Warp
        The family of warps.
    direction : {"image-to-centroid", "centroid-to-image"}
        Which of the two is warped.
    border : {"zero", "edge", "rim"}
        What lies outside a picture.
    intensity : Intensity
        How light and contrast count.
    orientations : array of shape (n_orientations, 2, 2)
        Orientations that an image may be compared in; see `dikmeans.registration.orientation`.
    unit_norm : bool
        Whether centroids are constrained to unit norm.
    centroid_update : {"mean", "least-squares"}
        How the best centroid follows from its members; see `dikmeans.kmeans.centroid_update`.
    warm_starts : bool
        Whether an iteration of Lloyd's algorithm starts from the warps of the one before; otherwise
        every iteration aligns every pair from scratch.
    needs_pixel_variance : bool
        Whether `stop_reason` looks at `Change.pixel_variance`.
    batch_pixels : int
        Pixels of images that `align` should get at once.
    max_threads : int or None
        Threads that may call `align` at the same time; None for any number.
    """

    warp: Warp
    direction: Direction
    border: Border
    intensity: Intensity
    orientations: FloatArray
    unit_norm: bool
    centroid_update: Literal["mean", "least-squares"]
    warm_starts: bool
    needs_pixel_variance: bool
    batch_pixels: int
    max_threads: int | None

    @property
    def dtype(self) -> DType:
        """Type of the pixels it works on."""

    @property
    def n_basis(self) -> int:
        """Basis functions of the warp; a warp has twice as many parameters."""

    def bank(
        self, centroids: FloatArray, *, warm: bool = False, columns: IntArray | None = None
    ) -> Bank:
        """Prepare centroids (K, C, rows, columns) for calls of `align`.

        Parameters
        ----------
        centroids : array of shape (K, C, rows, columns)
        warm : bool
            Whether `align` will be called with warm starts only.
        columns : int array of shape (K,), optional
            Which of all centroids these are, where each has a prior of its own; by default the
            first K.
        """

    def align(
        self,
        images: FloatArray,
        bank: Bank,
        *,
        start: WarmStart | None = None,
        prune: float = np.inf,
        narrow: bool = False,
    ) -> PairFits:
        """Align every image with every centroid, or with its candidates.

        Parameters
        ----------
        images : array of shape (n, C, rows, columns)
        bank
            What `bank` returned.
        start : WarmStart, optional
            Where the pairs start from. Without it each starts from the identity or from the best of
            a lattice of poses.
        prune : float
            A pair takes part in the next stage of a descent only if its cost so far is at most
            `prune` times that of the image's best pair. If `start` knows costs, a pair that cost
            more than the square of `prune` times the best is not even evaluated: it keeps its cost
            and its warp.
        narrow : bool
            From a cold start: whether only the most promising pairs of each image are aligned and
            returned, where there are many centroids.
        """

    def penalty(self, deltas: FloatArray, columns: IntArray) -> FloatArray:
        """Cost of the warps themselves (n, 2, n_basis) of these centroids, at unit energy."""

    def orient(self, images: FloatArray, orientations: IntArray) -> FloatArray:
        """Each image (C, rows, columns) in the orientation with its number."""

    def render(self, pictures: FloatArray, which: IntArray, deltas: FloatArray) -> FloatArray:
        """``pictures[which[i]]`` warped by ``deltas[i]``, for each i."""

    def render_at(self, pictures: FloatArray, pixels: FloatArray) -> FloatArray:
        """``pictures[i]`` sampled at its own places ``pixels[i]`` (rows, columns, 2)."""

    def back_project(
        self,
        centroids: FloatArray,
        images: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        deltas: FloatArray,
        n_jobs: int | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Residuals carried back to the centroids' pixels, and their weight; see there."""

    def stop_reason(self, change: Change, tol: float) -> str:
        """Why no further iteration is worth its time; empty if one is."""
