"""First centroids: k-means++ under the Euclidean distance or under the measure, random, or given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from dikmeans.registration.batches import cost_matrix
from dikmeans.kmeans.task import Task


def euclidean_plus_plus(task: Task, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Indices of seeds by k-means++ (Arthur and Vassilvitskii 2007), in scikit-learn's greedy form."""
    flat = task.images.reshape(len(task.images), -1)
    _, chosen = kmeans_plusplus(flat, n_clusters, sample_weight=task.weights, random_state=rng)
    return chosen


def measure_plus_plus(task: Task, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Indices of seeds by k-means++ with the measure in place of the squared distance."""
    weights = task.weights
    chosen = [int(rng.choice(len(weights), p=weights / weights.sum()))]
    nearest = np.full(len(weights), np.inf)
    while len(chosen) < n_clusters:
        bank = task.measure.bank(task.images[chosen[-1:]].astype(task.measure.dtype))
        costs = cost_matrix(task.measure, task.images, bank, n_jobs=task.n_jobs)
        nearest = np.minimum(nearest, costs[:, 0])
        nearest[chosen] = 0.0
        mass = weights * nearest
        if mass.sum() > 0:
            chosen.append(int(rng.choice(len(weights), p=mass / mass.sum())))
        else:  # only copies of the seeds are left
            free = np.setdiff1d(np.arange(len(weights)), chosen)
            chosen.append(int(rng.choice(free)))
    return np.array(chosen)


def random_seeds(task: Task, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Indices of distinct images, drawn by weight."""
    p = task.weights / task.weights.sum()
    return rng.choice(len(p), size=n_clusters, replace=False, p=p)


SEEDINGS: dict[str, Any] = {
    "k-means++": euclidean_plus_plus,
    "measure-k-means++": measure_plus_plus,
    "random": random_seeds,
}
