"""Costs of images to fixed centroids, and what is read off them.

A cluster may have several centroids, its forms: its cost is that of the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dikmeans.registration.batches import cost_matrix
from dikmeans.registration.result import costs_of_clusters

Summary = Callable[[np.ndarray], np.ndarray]


def evaluate(
    images: np.ndarray,
    measure: Any,
    centroids: np.ndarray,
    prune: float,
    summarise: Summary,
    n_jobs: int | None,
) -> np.ndarray:
    """What `summarise` makes of the costs (n, K) of images to centroids, aligned from the identity."""
    images, bank = images.astype(measure.dtype, copy=False), measure.bank(centroids.astype(measure.dtype))
    return summarise(cost_matrix(measure, images, bank, prune=prune, n_jobs=n_jobs))


class OfClusters(NamedTuple):
    """What `summarise` makes of costs to clusters, from the costs of their forms.

    Attributes
    ----------
    summarise : callable
    clusters : int array of shape (M,)
        The cluster of each form; ascending.
    """

    summarise: Summary
    clusters: np.ndarray

    def __call__(self, costs: np.ndarray) -> np.ndarray:
        """From costs (n, M) to forms."""
        return self.summarise(costs_of_clusters(costs, self.clusters))


def all_costs(costs: np.ndarray) -> np.ndarray:
    """The costs as they are."""
    return costs


def lowest_costs(costs: np.ndarray) -> np.ndarray:
    """The cost of each image to its own cluster."""
    return costs.min(axis=1)


def cheapest(costs: np.ndarray) -> np.ndarray:
    """The number of each image's own cluster."""
    return costs.argmin(axis=1).astype(np.int32)
