r"""The centroid update: the picture that fits the members of a cluster best, their warps held fixed.

*Image to centroid.* The cost of a cluster is :math:`\sum_i w_i \|\mathrm{warp}(x_i;\nu_i) - \mu\|^2`;
its minimum is the weighted mean of the warped members (the paper's Proposition 1), scaled to unit
norm where :math:`\|\mu\| = 1` is asked for.

*Centroid to image.* Warping is linear in the picture: :math:`\mathrm{warp}(\mu;\nu_i) = W_i \mu` with
a sparse matrix of bilinear weights, so the cost :math:`\sum_i w_i \|W_i\mu - x_i\|^2` is a linear
least-squares problem. It is solved by a few steps of

.. math::
    \mu \leftarrow \mu + D^{-1} \sum_i w_i W_i^T (x_i - W_i \mu), \qquad
    D = \mathrm{diag}\sum_i w_i W_i^T 1,

none of which raises the cost: :math:`W_i \ge 0` with rows that sum to one at most, hence
:math:`W_i^T W_i \preceq \mathrm{diag}(W_i^T 1)`. Under the unit-norm constraint :math:`D` is replaced
by its largest entry, so that going back to the sphere is the exact minimum of the bound.

Where no image has a negative value, no centroid gets one.

Neither update raises the distortion. Both need no more of the images than sums over them (`Sums`), so images
that lie in several places are summed where they lie. Sums run over the images in their order, in double
precision: they do not depend on chunks or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit

from dikmeans.registration.batches import chunks
from dikmeans.parallel.threads import run_threads
from dikmeans.images import scale_to_unit_norm
from dikmeans.registration.sampling import PADDING, pad

N_LEAST_SQUARES_STEPS = 3


class Members(NamedTuple):
    """Images in memory, each with its own centroid and its warp.

    Attributes
    ----------
    images : array of shape (N, C, rows, columns)
    weights, labels : arrays of shape (N,)
    deltas : contiguous array of shape (N, 2, n_basis)
        Parameters, less the identity, of each image's alignment with its own centroid.
    """

    images: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    deltas: np.ndarray


@dataclass(frozen=True)
class Sums:
    """What the update needs to know of a set of images; sets are joined by adding.

    Attributes
    ----------
    pictures : float64 array of shape (K, C, rows, columns)
        Weighted sum, over the members of each cluster, of what they add to the centroid.
    mass : float64 array of shape (K, 1, 1 or rows, 1 or columns)
        Weight behind it, of each cluster or pixel by pixel.
    lowest : float
        The lowest value of all images.
    """

    pictures: np.ndarray
    mass: np.ndarray
    lowest: float

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.pictures + other.pictures, self.mass + other.mass, min(self.lowest, other.lowest))


class UpdateRule(Protocol):
    """How centroids follow from sums over images, in a number of passes over them."""

    n_passes: int

    def still(self, centroids: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Sums of that mass (K, 1, 1, 1) that would leave the centroids where they are."""

    def gather(self, measure: Any, members: Members, centroids: np.ndarray, n_jobs: int | None) -> Sums:
        """Sums over the members of all clusters."""

    def step(self, measure: Any, centroids: np.ndarray, sums: Sums, unit_norm: bool) -> np.ndarray:
        """The centroids that follow from the sums over all images, in double precision."""


def rule_for(measure: Any) -> UpdateRule:
    """The update that belongs to a measure."""
    return MEAN_OF_WARPED if measure.exact else _RULES[measure.direction]


def standing_still(measure: Any, centroids: np.ndarray, weights: np.ndarray) -> Sums:
    """Sums of images of that weight, cluster by cluster, that would leave the centroids where they are."""
    mass = weights[:, None, None, None]
    return Sums(rule_for(measure).still(centroids, mass), mass, float(min(centroids.min(), 0.0)))


def move(
    measure: Any, centroids: np.ndarray, gather: Callable[[np.ndarray], Sums], *, unit_norm: bool
) -> np.ndarray:
    """Best centroids, given who gathers the sums over all images; one of no mass stays where it is.

    Parameters
    ----------
    measure : WarpedMeasure
    centroids : array of shape (K, C, rows, columns)
        The present centroids.
    gather : callable
        Takes centroids, gives the `Sums` of the measure's rule over all images. Called for every pass.
    unit_norm : bool
        Keep every centroid at unit norm.
    """
    rule = rule_for(measure)
    moved = centroids.astype(np.float64)
    empty = np.zeros(len(centroids), bool)
    for _ in range(rule.n_passes):
        sums = gather(moved)
        empty = sums.mass.max(axis=(1, 2, 3)) == 0
        moved = rule.step(measure, moved, sums, unit_norm)
        moved[empty] = centroids[empty]
    return moved.astype(centroids.dtype)


class _MeanOfWarped:
    """Image to centroid: the weighted mean of the warped members."""

    n_passes = 1

    def still(self, centroids: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return mass * centroids

    def gather(self, measure: Any, members: Members, centroids: np.ndarray, n_jobs: int | None) -> Sums:
        images, weights, labels, deltas = members

        def render(part: slice) -> np.ndarray:
            return measure.render(images[part], np.arange(part.stop - part.start), deltas[part])

        sums = np.zeros((len(centroids), centroids[0].size))
        parts = list(chunks(len(images), images[0].size))
        group = 16  # chunks rendered before they are added up: bounds the memory
        for first in range(0, len(parts), group):
            some = parts[first : first + group]
            for part, warped in zip(some, run_threads(render, some, n_jobs), strict=True):
                flat = warped.reshape(len(warped), -1)
                _add_in_order(sums, flat, labels[part], weights[part])
        totals = np.bincount(labels, weights=weights, minlength=len(centroids))
        return Sums(sums.reshape(centroids.shape), totals[:, None, None, None], float(images.min()))

    def step(self, measure: Any, centroids: np.ndarray, sums: Sums, unit_norm: bool) -> np.ndarray:
        means = sums.pictures / np.where(sums.mass > 0, sums.mass, 1.0)
        return scale_to_unit_norm(means) if unit_norm else means


class _LeastSquares:
    """Centroid to image: a step of majorisation a pass."""

    n_passes = N_LEAST_SQUARES_STEPS

    def still(self, centroids: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return np.zeros_like(centroids)

    def gather(self, measure: Any, members: Members, centroids: np.ndarray, n_jobs: int | None) -> Sums:
        images, weights, labels, deltas = members
        templates = pad(centroids, measure.border)
        targets = images.reshape(*images.shape[:2], -1)
        push = np.zeros(templates.shape)
        mass = np.zeros((len(templates), templates.shape[2]))
        measure.back_project(templates, targets, labels, weights, deltas, push, mass, n_jobs)
        push = _unpad(push.reshape(len(push), -1, *_padded(centroids)), measure.border)
        mass = _unpad(mass.reshape(len(mass), 1, *_padded(centroids)), measure.border)
        return Sums(push, mass, float(images.min()))

    def step(self, measure: Any, centroids: np.ndarray, sums: Sums, unit_norm: bool) -> np.ndarray:
        # the bound is separable, so clipping is its exact minimum among pictures without negative values
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


def _padded(pictures: np.ndarray) -> tuple[int, int]:
    rows, columns = pictures.shape[2:]
    return rows + 2 * PADDING, columns + 2 * PADDING


def _unpad(padded: np.ndarray, border: str) -> np.ndarray:
    """The adjoint of padding: drop what fell outside, or give it to the nearest edge pixel."""
    inner = slice(PADDING, -PADDING)
    if border == "edge":
        padded = padded.copy()
        for axis in (2, 3):
            front, back, first, last = (_along(axis, s) for s in _EDGES)
            padded[first] += padded[front].sum(axis=axis, keepdims=True)
            padded[last] += padded[back].sum(axis=axis, keepdims=True)
    return padded[:, :, inner, inner]


_EDGES = (
    slice(0, PADDING),
    slice(-PADDING, None),
    slice(PADDING, PADDING + 1),
    slice(-PADDING - 1, -PADDING),
)


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    index = [slice(None)] * 4
    index[axis] = part
    return tuple(index)


MEAN_OF_WARPED, LEAST_SQUARES = _MeanOfWarped(), _LeastSquares()
_RULES: dict[str, UpdateRule] = {
    "image-to-centroid": MEAN_OF_WARPED,
    "centroid-to-image": LEAST_SQUARES,
}
