"""What a person has said about some images, as surcharges on their costs.

The cost of image i in cluster k is that of the measure plus a surcharge: 0 where nobody has said
anything, infinity where the image must not be, anything between where it should rather not be.
Lloyd's algorithm, swaps and the centroid update then need to know no more: an image belongs to
the cluster that costs least, and the inertia still falls monotonically.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.measure import PairFits

FREE, REJECTED = -2, -1
"""In arrays of what was decided for each image: nothing; that it belongs to no cluster."""


class Guidance(NamedTuple):
    """Surcharges of some images.

    Attributes
    ----------
    numbers : int array of shape (m,)
        The images; ascending.
    surcharges : float64 array of shape (m, K)
        What each cluster costs them beyond the measure: infinity forbids it.
    """

    numbers: IntArray
    surcharges: FloatArray

    @classmethod
    def build(
        cls,
        n_clusters: int,
        pinned: Mapping[int, int],
        forbidden: Mapping[int, frozenset[int]] | None = None,
        strength: float = np.inf,
    ) -> Guidance | None:
        """From the cluster that images should be in, and those that they must not be in.

        Parameters
        ----------
        n_clusters : int
        pinned : mapping from image to cluster
        forbidden : mapping from image to clusters, optional
        strength : float, default=inf
            What an image pays for not being where it is pinned.

        Examples
        --------
        >>> Guidance.build(3, {4: 1}, {2: frozenset({0})}).surcharges
        array([[inf,  0.,  0.],
               [inf,  0., inf]])
        """
        forbidden = forbidden or {}
        numbers = np.array(sorted({*pinned, *forbidden}), dtype=np.int64)
        if not len(numbers):
            return None
        surcharges = np.zeros((len(numbers), n_clusters))
        for row, number in enumerate(numbers.tolist()):
            if number in pinned:
                surcharges[row] = strength
                surcharges[row, pinned[number]] = 0.0
            surcharges[row, list(forbidden.get(number, ()))] = np.inf
        return cls(numbers, surcharges)

    def take(self, numbers: IntArray) -> Guidance | None:
        """For the images `numbers` (ascending), counted anew."""
        places = np.searchsorted(numbers, self.numbers)
        found = places < len(numbers)
        found[found] = numbers[places[found]] == self.numbers[found]
        if not found.any():
            return None
        return Guidance(places[found], self.surcharges[found])

    def charge(self, fits: PairFits, columns: IntArray | None = None) -> PairFits:
        """Alignments with the surcharges added to their costs; of these clusters only."""
        clusters = np.arange(self.surcharges.shape[1]) if columns is None else columns
        costs = fits.costs.copy()
        costs[np.ix_(self.numbers, clusters)] += self.surcharges[:, clusters]
        return fits._replace(costs=costs)
