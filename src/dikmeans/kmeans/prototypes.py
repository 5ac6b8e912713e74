"""Prototypes: the several pictures that one cluster may have.

Some sevens are crossed and some fours are open: no bending makes one of the other, and the mean of
both is neither. At the end of a run each cluster is divided into prototypes by the same algorithm,
on its members alone (those in the sample of the search are enough). An image then belongs to the
cluster of its cheapest prototype. There are as many clusters as were asked for, but their borders
are drawn more finely.

Lloyd's algorithm is not continued with the prototypes of all clusters: it would see prototypes
only, no clusters, and a prototype may drift to the members of another cluster.

All prototypes of a cluster share its deformation prior, which was learned from all its members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.lloyd import descend
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.seeding import measure_plus_plus
from dikmeans.kmeans.shard import counted_weights
from dikmeans.registration.measure import Measure

# Iterations, and the fall of the inertia that ends them, of the division of one cluster.
DIVISION_ITERATIONS, DIVISION_TOL = 20, 1e-3


class PrototypeRule(NamedTuple):
    """How many prototypes a cluster gets: as many as it has members for.

    Attributes
    ----------
    most : int
        At most so many.
    members : int
        Members that each prototype needs.

    Examples
    --------
    >>> rule = PrototypeRule(most=4, members=25)
    >>> [rule.number_for(size) for size in (0, 49, 50, 90, 1000)]
    [1, 1, 2, 3, 4]
    """

    most: int
    members: int

    def number_for(self, size: int) -> int:
        """Prototypes of a cluster with so many members."""
        return max(1, min(self.most, size // self.members))


AUTO_PROTOTYPES = PrototypeRule(most=4, members=25)
ONE_PROTOTYPE = PrototypeRule(most=1, members=1)
# Whoever asks for a number of prototypes gets it where a cluster has so many members for each.
MIN_MEMBERS_IF_ASKED = 5


def prototype_rule(n_prototypes: int | str, warp: str) -> PrototypeRule:
    """The rule for the parameter `n_prototypes`; K-means has one per cluster by default."""
    if n_prototypes == "auto":
        return ONE_PROTOTYPE if warp == "none" else AUTO_PROTOTYPES
    if n_prototypes == 1:
        return ONE_PROTOTYPE
    return PrototypeRule(int(n_prototypes), MIN_MEMBERS_IF_ASKED)


class Prototypes(NamedTuple):
    """The prototypes of all clusters, cluster by cluster.

    Attributes
    ----------
    pictures : array of shape (M, C, rows, columns)
    clusters : int array of shape (M,)
        The cluster of each; ascending.
    """

    pictures: FloatArray
    clusters: IntArray

    @classmethod
    def one_each(cls, centroids: FloatArray) -> Prototypes:
        """Clusters that are not divided."""
        return cls(centroids, np.arange(len(centroids)))

    def joined(self, pictures: FloatArray, clusters: IntArray) -> Prototypes:
        """With further prototypes, each behind those that its cluster has."""
        owners = np.concatenate([self.clusters, clusters])
        order = np.argsort(owners, kind="stable")
        return Prototypes(np.concatenate([self.pictures, pictures])[order], owners[order])


def divide_clusters(
    dataset: Dataset,
    centroids: FloatArray,
    rule: PrototypeRule,
    measure_of: Callable[[IntArray], Measure],
    max_iter: int,
    rng: np.random.RandomState,
) -> Prototypes:
    """Divide each cluster into prototypes: those with most members first, none without any.

    Parameters
    ----------
    dataset : Dataset
        The images to learn from, in memory; outliers take no part.
    centroids : array of shape (K, C, rows, columns)
    rule : PrototypeRule
    measure_of : callable
        Returns the measure for prototypes of given clusters.
    max_iter : int
        Iterations of each division, at most; never more than `DIVISION_ITERATIONS`.
    rng : RandomState
        Draws the seeds.
    """
    pictures: list[FloatArray] = []
    clusters = np.arange(len(centroids))
    assigned = dataset.evaluate(measure_of(clusters), centroids, clusters)
    labels = assigned.labels
    weights = counted_weights(dataset.local(), assigned.costs, dataset.cutoff)
    for k, centroid in enumerate(centroids):
        members = np.flatnonzero((labels == k) & (weights > 0))
        n_prototypes = rule.number_for(len(members))
        if n_prototypes == 1:
            pictures.append(centroid[None])
            continue
        measure = measure_of(np.full(n_prototypes, k))
        part = dataset.subset(members).cast(measure.dtype)
        seeds = part.local().images[measure_plus_plus(part, measure, n_prototypes, rng)]
        start = part.assign(measure, scale_to_unit_norm(seeds) if measure.unit_norm else seeds)
        divided = descend(
            part, measure, start, max_iter=min(DIVISION_ITERATIONS, max_iter), tol=DIVISION_TOL
        )
        order = np.argsort(-divided.sizes, kind="stable")
        posed = to_mean_pose(part, measure, divided)
        pictures.append(posed[order[divided.sizes[order] > 0]])
    counts = [len(prototypes) for prototypes in pictures]
    return Prototypes(np.concatenate(pictures), np.repeat(clusters, counts))
