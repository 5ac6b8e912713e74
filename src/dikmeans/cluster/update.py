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

Neither update raises the distortion. Sums run over the images in their order, in double precision:
they do not depend on chunks or threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dikmeans.align.bulk import chunks
from dikmeans.align.threads import run_threads
from dikmeans.images import scale_to_unit_norm
from dikmeans.warp.sampling import PADDING, pad

N_LEAST_SQUARES_STEPS = 3


def update_centroids(
    aligner: Any,
    images: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    deltas: np.ndarray,
    centroids: np.ndarray,
    *,
    unit_norm: bool,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Best centroids for the given assignment and warps; a cluster of no weight keeps its centroid.

    Parameters
    ----------
    aligner : Aligner
    images : array of shape (N, C, rows, columns)
    weights, labels : arrays of shape (N,)
    deltas : array of shape (N, 2, n_basis)
        Parameters, less the identity, of each image's alignment with its own centroid.
    centroids : array of shape (K, C, rows, columns)
        The present centroids.
    unit_norm : bool
        Keep every centroid at unit norm.
    """
    totals = np.bincount(labels, weights=weights, minlength=len(centroids))
    update = _mean_of_warped if aligner.exact else _UPDATES[aligner.direction]
    updated = update(aligner, images, weights, labels, deltas, centroids, totals, unit_norm, n_jobs)
    updated[totals == 0] = centroids[totals == 0]
    return updated.astype(centroids.dtype)


def _mean_of_warped(
    aligner: Any,
    images: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    deltas: np.ndarray,
    centroids: np.ndarray,
    totals: np.ndarray,
    unit_norm: bool,
    n_jobs: int | None,
) -> np.ndarray:
    def render(part: slice) -> np.ndarray:
        return aligner.render(images[part], np.arange(part.stop - part.start), deltas[part])

    sums = np.zeros((len(centroids), centroids[0].size))
    parts = list(chunks(len(images), images[0].size))
    group = 16  # chunks rendered before they are added up: bounds the memory
    for first in range(0, len(parts), group):
        some = parts[first : first + group]
        for part, warped in zip(some, run_threads(render, some, n_jobs), strict=True):
            flat = warped.reshape(len(warped), -1)
            _add_in_order(sums, flat, labels[part], weights[part])
    means = (sums / np.where(totals > 0, totals, 1.0)[:, None]).reshape(centroids.shape)
    return scale_to_unit_norm(means) if unit_norm else means


@njit(nogil=True, cache=True)
def _add_in_order(sums, pictures, labels, weights):
    for i in range(pictures.shape[0]):
        row, weight = sums[labels[i]], weights[i]
        for p in range(pictures.shape[1]):
            row[p] += weight * pictures[i, p]


def _least_squares(
    aligner: Any,
    images: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    deltas: np.ndarray,
    centroids: np.ndarray,
    totals: np.ndarray,
    unit_norm: bool,
    n_jobs: int | None,
) -> np.ndarray:
    targets = images.reshape(*images.shape[:2], -1)
    deltas = np.ascontiguousarray(deltas)
    centroids = centroids.astype(np.float64)
    # the bound is separable, so clipping is its exact minimum among pictures without negative values
    lowest = 0.0 if images.min() >= 0 and centroids.min() >= 0 else -np.inf
    for _ in range(N_LEAST_SQUARES_STEPS):
        templates = pad(centroids, aligner.border)
        push = np.zeros(templates.shape)
        mass = np.zeros((len(templates), templates.shape[2]))
        aligner.back_project(templates, targets, labels, weights, deltas, push, mass)
        push = _unpad(push.reshape(len(push), -1, *_padded(centroids)), aligner.border)
        mass = _unpad(mass.reshape(len(mass), 1, *_padded(centroids)), aligner.border)
        if unit_norm:
            mass = np.broadcast_to(mass.max(axis=(2, 3), keepdims=True), mass.shape)
        centroids = np.maximum(centroids + push / np.where(mass > 0, mass, np.inf), lowest)
        if unit_norm:
            centroids = scale_to_unit_norm(centroids)
    return centroids


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


_UPDATES = {"image-to-centroid": _mean_of_warped, "centroid-to-image": _least_squares}
