"""Which clusters are nearly alike: every centroid compared with every other, as pictures are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from dikmeans._typing import FloatArray, IntArray
from dikmeans.images import to_channels_first
from dikmeans.registration.batches import align_images
from dikmeans.registration.warps import Warp

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

# All prototypes are compared up to this many, then only the first of each cluster, then nothing.
MAX_PROTOTYPES, MAX_CLUSTERS = 50, 120
MAX_PAIRS = 60


class Pair(NamedTuple):
    """Two clusters, and how the one is warped onto the other.

    Attributes
    ----------
    target, warped : int
        Prototypes, of two clusters: the second is warped onto the first (or the first onto the
        second, if pictures are warped onto centroids).
    cost : float
        As a share of the squared norm of `target`.
    parameters : array of shape (n_basis, 2)
    orientation : array of shape (2, 2)
        In which `target` (or the picture that is warped) is compared.
    """

    target: int
    warped: int
    cost: float
    parameters: FloatArray
    orientation: FloatArray


class Likeness(NamedTuple):
    """How alike clusters are.

    Attributes
    ----------
    costs : array of shape (K, K)
        Cost between the nearest prototypes of two clusters, in the cheaper direction.
    merges : array of shape (K - 1, 4)
        The tree of clusters by average linkage, as `scipy.cluster.hierarchy.linkage` has it.
    pairs : list of Pair
        The most similar pairs of clusters, the nearest first.
    """

    costs: FloatArray
    merges: FloatArray
    pairs: list[Pair]


def compare_clusters(model: DIKMeans, warp: Warp) -> Likeness | None:
    """How alike the clusters of a model are; None for one cluster, or for very many."""
    if not 1 < model.n_clusters <= MAX_CLUSTERS:
        return None
    clusters = model.prototype_clusters_
    chosen = np.arange(len(clusters))
    if len(chosen) > MAX_PROTOTYPES:
        _, chosen = np.unique(clusters, return_index=True)
    shape = model.compared_shape_
    measure = model.measure_.build(shape)
    table = model.prototypes_[chosen].reshape(len(chosen), -1)
    pictures = to_channels_first(table, shape).astype(measure.dtype)
    fits = align_images(measure, pictures, measure.bank(pictures), n_jobs=model.n_jobs)
    costs = fits.costs / measure.intensity.energies(pictures)[:, None]
    pairs = []
    between = np.zeros((model.n_clusters, model.n_clusters))
    for a in range(model.n_clusters):
        for b in range(a + 1, model.n_clusters):
            target, warped = _nearest(costs, clusters[chosen], a, b)
            parameters = warp.identity + fits.deltas[target, warped].T
            cost = float(costs[target, warped])
            between[a, b] = between[b, a] = cost
            orientation = measure.orientations[fits.orientations[target, warped]]
            numbers = int(chosen[target]), int(chosen[warped])
            pairs.append(Pair(*numbers, cost, parameters, orientation))
    pairs.sort(key=lambda pair: pair.cost)
    return Likeness(between, linkage(squareform(between), "average"), pairs[:MAX_PAIRS])


def _nearest(costs: FloatArray, clusters: IntArray, a: int, b: int) -> tuple[int, int]:
    """Row and column of the lowest cost between prototypes of two clusters."""
    pairs = (clusters[:, None] == a) & (clusters == b)
    pairs |= pairs.T
    row, column = divmod(int(np.where(pairs, costs, np.inf).argmin()), len(clusters))
    return row, column
