"""First centroids: k-means++ or random images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.cluster import kmeans_plusplus

from dikmeans._typing import IntArray
from dikmeans.kmeans.dataset import Dataset
from dikmeans.registration.batches import cost_matrix
from dikmeans.registration.measure import Measure


def kmeans_plus_plus(dataset: Dataset, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Indices of seeds by k-means++ (Arthur and Vassilvitskii 2007), as scikit-learn draws them.

    Distances are Euclidean, as in the paper.
    """
    images, weights, _ = dataset.local()
    flat = images.reshape(len(images), -1)
    _, chosen = kmeans_plusplus(flat, n_clusters, sample_weight=weights, random_state=rng)
    return np.asarray(chosen)


def random_images(dataset: Dataset, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Indices of distinct images, drawn by weight."""
    weights = dataset.local().weights
    p = weights / weights.sum()
    return rng.choice(len(p), size=n_clusters, replace=False, p=p)


def measure_plus_plus(
    dataset: Dataset, measure: Measure, n_seeds: int, rng: np.random.RandomState
) -> IntArray:
    """Indices of seeds by k-means++ with the measure in place of the squared distance."""
    images, weights, _ = dataset.local().cast(measure.dtype)
    chosen = [int(rng.choice(len(weights), p=weights / weights.sum()))]
    nearest = np.full(len(weights), np.inf)
    while len(chosen) < n_seeds:
        bank = measure.bank(images[chosen[-1:]])
        costs = cost_matrix(measure, images, bank, n_jobs=dataset.n_jobs)
        nearest = np.minimum(nearest, costs[:, 0])
        nearest[chosen] = 0.0
        mass = weights * nearest
        if mass.sum() > 0:
            chosen.append(int(rng.choice(len(weights), p=mass / mass.sum())))
        else:  # only copies of the seeds are left
            free = np.setdiff1d(np.arange(len(weights)), chosen)
            chosen.append(int(rng.choice(free)))
    return np.array(chosen)


SEEDINGS: dict[str, Callable[[Dataset, int, np.random.RandomState], IntArray]] = {
    "k-means++": kmeans_plus_plus,
    "random": random_images,
}
