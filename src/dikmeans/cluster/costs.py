"""Costs of images to fixed centroids, and what is read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dikmeans.align.bulk import cost_matrix

Summary = Callable[[np.ndarray], np.ndarray]


def evaluate(
    images: np.ndarray,
    aligner: Any,
    centroids: np.ndarray,
    prune: float,
    summarise: Summary,
    n_jobs: int | None,
) -> np.ndarray:
    """What `summarise` makes of the costs (n, K) of images to centroids, aligned from the identity."""
    images, bank = images.astype(aligner.dtype, copy=False), aligner.bank(centroids.astype(aligner.dtype))
    return summarise(cost_matrix(aligner, images, bank, prune=prune, n_jobs=n_jobs))


def all_costs(costs: np.ndarray) -> np.ndarray:
    """The costs as they are."""
    return costs


def lowest_costs(costs: np.ndarray) -> np.ndarray:
    """The cost of each image to its own centroid."""
    return costs.min(axis=1)


def cheapest(costs: np.ndarray) -> np.ndarray:
    """The number of each image's own centroid."""
    return costs.argmin(axis=1).astype(np.int32)
