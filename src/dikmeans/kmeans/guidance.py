"""What a person has said about some images, as surcharges on their costs.

The cost of image i in cluster k is that of the measure plus a surcharge: 0 where nobody has said
anything, infinity where the image must not be, anything between where it should rather not be.
A cluster may also cost all images more. Lloyd's algorithm, swaps and the centroid update then need
to know no more: an image belongs to the cluster that costs least, and the inertia still falls
monotonically. For images that are linked to others, all clusters but one are forbidden: which one,
follows from the costs of all that they are linked to (`dikmeans.kmeans.links`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.kmeans.links import Links
from dikmeans.registration.measure import PairFits

FREE, REJECTED = -2, -1
"""In arrays of what was decided for each image: nothing; that it belongs to no cluster."""


class Guidance(NamedTuple):
    """Surcharges of some images.

    Attributes
    ----------
    numbers : int array of shape (m,)
        The images; ascending. Those that are linked are among them.
    surcharges : float64 array of shape (m, K)
        What each cluster costs them beyond the measure: infinity forbids it.
    of_clusters : float64 array of shape (K,) or None
        What each cluster costs all images beyond the measure.
    links : Links or None
        Which of the images are together or apart.
    columns : int array or None
        The cluster of each column of the costs, if clusters have several; else one each.
    """

    numbers: IntArray
    surcharges: FloatArray
    of_clusters: FloatArray | None = None
    links: Links | None = None
    columns: IntArray | None = None

    @classmethod
    def build(
        cls,
        n_clusters: int,
        pinned: Mapping[int, int],
        forbidden: Mapping[int, frozenset[int]] | None = None,
        strength: float = np.inf,
        links: Links | None = None,
        of_clusters: FloatArray | None = None,
    ) -> Guidance | None:
        """From the cluster that images should be in, and those that they must not be in.

        Parameters
        ----------
        n_clusters : int
        pinned : mapping from image to cluster
        forbidden : mapping from image to clusters, optional
        strength : float, default=inf
            What an image pays for not being where it is pinned.
        links : Links, optional
        of_clusters : array of shape (K,), optional
            What each cluster costs all images beyond the measure.

        Examples
        --------
        >>> Guidance.build(3, {4: 1}, {2: frozenset({0})}).surcharges
        array([[inf,  0.,  0.],
               [inf,  0., inf]])
        """
        forbidden = forbidden or {}
        linked = () if links is None else links.images
        numbers = np.array(sorted({*pinned, *forbidden, *linked}), dtype=np.int64)
        if not len(numbers) and of_clusters is None:
            return None
        surcharges = np.zeros((len(numbers), n_clusters))
        for row, number in enumerate(numbers.tolist()):
            if number in pinned:
                surcharges[row] = strength
                surcharges[row, pinned[number]] = 0.0
            surcharges[row, list(forbidden.get(number, ()))] = np.inf
        return cls(numbers, surcharges, of_clusters, links)

    def take(self, numbers: IntArray) -> Guidance | None:
        """For the images `numbers` (ascending), counted anew."""
        assert self.links is None, "links hold among all images"
        places = np.searchsorted(numbers, self.numbers)
        found = places < len(numbers)
        found[found] = numbers[places[found]] == self.numbers[found]
        if not found.any() and self.of_clusters is None:
            return None
        return self._replace(numbers=places[found], surcharges=self.surcharges[found])

    def charge(self, fits: PairFits, columns: IntArray | None = None) -> PairFits:
        """Alignments with the surcharges added to their costs; of these columns only."""
        clusters = np.arange(self.surcharges.shape[1]) if self.columns is None else self.columns
        chosen = np.arange(len(clusters)) if columns is None else columns
        costs = fits.costs.copy()
        if self.of_clusters is not None:
            costs[:, chosen] += self.of_clusters[clusters[chosen]]
        costs[np.ix_(self.numbers, chosen)] += self.surcharges[:, clusters[chosen]]
        if self.links is not None:
            costs[self.numbers] += self.linked(costs[self.numbers], clusters)
        return fits._replace(costs=costs)

    def linked(self, costs: FloatArray, clusters: IntArray) -> FloatArray:
        """Surcharges that links amount to: infinity in all clusters but one.

        Parameters
        ----------
        costs : array of shape (m, columns)
            Of the images `numbers`, with all other surcharges.
        clusters : int array of shape (columns,)
            The cluster of each column.
        """
        surcharges = np.zeros(costs.shape)
        if self.links is None:
            return surcharges
        by_cluster = np.full((len(costs), self.surcharges.shape[1]), np.inf)
        np.minimum.at(by_cluster.T, clusters, costs.T)
        rows = [np.searchsorted(self.numbers, group) for group in self.links.groups]
        found = self.links.assign(np.stack([by_cluster[row].sum(axis=0) for row in rows]))
        for row, cluster in zip(rows, found, strict=True):
            surcharges[np.ix_(row, np.flatnonzero(clusters != cluster))] = np.inf
        return surcharges
