r"""The centroid update: the picture that fits the members of a cluster best, warps held fixed.

*Mean* (image to centroid, or no warp). The cost of a cluster is
:math:`\sum_i w_i \|\mathrm{warp}(x_i;\nu_i) - \mu\|^2`; its minimum is the weighted mean of the
warped members (the paper's Proposition 1), scaled to unit norm under the constraint
:math:`\|\mu\| = 1`.

*Least squares* (centroid to image). Warping is linear in the picture:
:math:`\mathrm{warp}(\mu;\nu_i) = W_i \mu` with a sparse matrix of bilinear weights, so the cost
:math:`\sum_i w_i \|W_i\mu - x_i\|^2` is a linear least-squares problem. It is solved by a few steps
of

.. math::
    \mu \leftarrow \mu + D^{-1} \sum_i w_i W_i^T (x_i - W_i \mu), \qquad
    D = \mathrm{diag}\sum_i w_i W_i^T 1,

none of which raises the cost: :math:`W_i \ge 0` with rows that sum to one at most, hence
:math:`W_i^T W_i \preceq \mathrm{diag}(W_i^T 1)`. Under the unit-norm constraint :math:`D` is
replaced by its largest entry, so that projecting onto the sphere is the exact minimum of the bound.

Where no image has a negative value, no centroid gets one.

Neither update raises the inertia. Both need no more of the images than sums over them (`Sums`), so
images that lie in several places are summed where they lie. Sums run over the images in their
order, in double precision: they do not depend on batches or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.parallel.threads import run_threads
from dikmeans.registration.batches import batches
from dikmeans.registration.measure import Measure

N_LEAST_SQUARES_STEPS = 3
# Batches rendered before they are added up: bounds the memory.
BATCHES_AT_ONCE = 16


class Members(NamedTuple):
    """Images in memory, each with its nearest centroid and its warp.

    Attributes
    ----------
    images : array of shape (n, C, rows, columns)
    weights, labels : arrays of shape (n,)
    deltas : contiguous array of shape (n, 2, n_basis)
        Parameters, minus the identity, of each image's alignment with its centroid.
    """

    images: FloatArray
    weights: FloatArray
    labels: IntArray
    deltas: FloatArray


@dataclass(frozen=True)
class Sums:
    """What the update needs to know of a set of images; sets are joined by adding.

    Attributes
    ----------
    pictures : float64 array of shape (K, C, rows, columns)
        Weighted sum, over the members of each cluster, of what they add to the centroid.
    mass : float64 array of shape (K, 1, 1 or rows, 1 or columns)
        Its weight, per cluster or per pixel.
    lowest : float
        The lowest value of all images.
    """

    pictures: FloatArray
    mass: FloatArray
    lowest: float

    def __add__(self, other: Sums) -> Sums:
        lowest = min(self.lowest, other.lowest)
        return Sums(self.pictures + other.pictures, self.mass + other.mass, lowest)


class UpdateRule(Protocol):
    """How centroids follow from sums over images, in a number of passes over them."""

    n_passes: int

    def unmoving(self, centroids: FloatArray, mass: FloatArray) -> FloatArray:
        """Sums of that mass (K, 1, 1, 1) that leave the centroids where they are."""

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        """Sums over the members of all clusters."""

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        """The centroids that follow from the sums over all images, in double precision."""


def weight_per_cluster(labels: IntArray, weights: FloatArray | None, n_clusters: int) -> FloatArray:
    """Sum of the weights of each cluster's members; without weights, their number."""
    totals = np.bincount(labels, weights=weights, minlength=n_clusters)
    return totals.astype(np.float64, copy=False)


def gather_sums(
    measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
) -> Sums:
    """Sums over the members of all clusters, as the update of a measure needs them."""
    return RULES[measure.centroid_update].gather(measure, members, centroids, n_jobs)


def unmoving_sums(measure: Measure, centroids: FloatArray, weights: FloatArray) -> Sums:
    """Sums of images of that weight, per cluster, that leave the centroids where they are."""
    mass = weights[:, None, None, None]
    pictures = RULES[measure.centroid_update].unmoving(centroids, mass)
    return Sums(pictures, mass, float(min(centroids.min(), 0.0)))


def update_step(measure: Measure, centroids: FloatArray, sums: Sums) -> FloatArray:
    """Centroids after one pass over all images; one without any mass stays where it is."""
    current = centroids.astype(np.float64)
    moved = RULES[measure.centroid_update].step(current, sums, measure.unit_norm)
    empty = sums.mass.max(axis=(1, 2, 3)) == 0
    moved[empty] = current[empty]
    return moved


def move_centroids(
    measure: Measure, centroids: FloatArray, gather: Callable[[FloatArray], Sums]
) -> FloatArray:
    """Best centroids, given who gathers the sums over all images.

    Parameters
    ----------
    measure : Measure
    centroids : array of shape (K, C, rows, columns)
        The present centroids.
    gather : callable
        Takes centroids, returns the `Sums` over all images. Called once per pass.
    """
    moved: FloatArray = centroids.astype(np.float64)
    for _ in range(RULES[measure.centroid_update].n_passes):
        moved = update_step(measure, moved, gather(moved))
    return moved.astype(centroids.dtype)


class _Mean:
    """The weighted mean of the warped members."""

    n_passes = 1

    def unmoving(self, centroids: FloatArray, mass: FloatArray) -> FloatArray:
        return mass * centroids

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, weights, labels, deltas = members

        def render(part: slice) -> FloatArray:
            which = np.arange(part.stop - part.start)
            return measure.render(images[part], which, deltas[part])

        sums = np.zeros((len(centroids), centroids[0].size))
        parts = batches(len(images), images[0].size)
        for first in range(0, len(parts), BATCHES_AT_ONCE):
            group = parts[first : first + BATCHES_AT_ONCE]
            for part, warped in zip(group, run_threads(render, group, n_jobs), strict=True):
                flat = warped.reshape(len(warped), -1)
                _add_in_order(sums, flat, labels[part], weights[part])
        totals = weight_per_cluster(labels, weights, len(centroids))
        pictures = sums.reshape(centroids.shape)
        return Sums(pictures, totals[:, None, None, None], float(images.min()))

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        means = sums.pictures / np.where(sums.mass > 0, sums.mass, 1.0)
        return scale_to_unit_norm(means) if unit_norm else means


class _LeastSquares:
    """One step of majorization per pass."""

    n_passes = N_LEAST_SQUARES_STEPS

    def unmoving(self, centroids: FloatArray, mass: FloatArray) -> FloatArray:
        return np.zeros_like(centroids)

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, weights, labels, deltas = members
        push, mass = measure.back_project(centroids, images, labels, weights, deltas, n_jobs)
        return Sums(push, mass, float(images.min()))

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        # the bound is separable, so clipping is its exact minimum among non-negative pictures
        lowest = 0.0 if sums.lowest >= 0 and centroids.min() >= 0 else -np.inf
        mass = sums.mass
        if unit_norm:
            mass = np.broadcast_to(mass.max(axis=(2, 3), keepdims=True), mass.shape)
        moved = np.maximum(centroids + sums.pictures / np.where(mass > 0, mass, np.inf), lowest)
        return scale_to_unit_norm(moved) if unit_norm else moved


@njit(nogil=True, cache=True)
def _add_in_order(sums, pictures, labels, weights):
    for i in range(pictures.shape[0]):
        row, weight = sums[labels[i]], weights[i]
        for p in range(pictures.shape[1]):
            row[p] += weight * pictures[i, p]


RULES: dict[str, UpdateRule] = {"mean": _Mean(), "least-squares": _LeastSquares()}
