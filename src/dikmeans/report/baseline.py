"""Plain K-means on the same pictures: what the clustering is compared with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dikmeans.evaluation.metrics import confusion


@dataclass(frozen=True)
class Baseline:
    """K-means with the same number of clusters, start and normalisation.

    Attributes
    ----------
    centroids : array of shape (K, rows, columns[, channels])
        In the order of the model's clusters they overlap with most (one to one).
    labels : int array of shape (N,)
        In that order too.
    mean_cost : array of shape (K,)
        Mean squared distance of the members; nan for an empty cluster.
    distortion : float
    """

    centroids: np.ndarray
    labels: np.ndarray
    mean_cost: np.ndarray
    distortion: float


def fit_baseline(model: Any, images: np.ndarray, labels: np.ndarray) -> Baseline:
    """K-means beside `model`, its clusters matched to the model's `labels`."""
    kmeans = clone(model).set_params(warp="none", n_prototypes=1, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # fewer shapes than clusters: shown as such
        kmeans.fit(images)
    mine_of = match_clusters(labels, kmeans.labels_, model.n_clusters)
    found = mine_of[kmeans.labels_]
    squared = kmeans.transform(images)[np.arange(len(images)), kmeans.labels_]
    counts = np.bincount(found, minlength=model.n_clusters)
    sums = np.bincount(found, squared, minlength=model.n_clusters)
    return Baseline(
        centroids=kmeans.cluster_centers_[np.argsort(mine_of)],
        labels=found,
        mean_cost=np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0),
        distortion=float(kmeans.inertia_),
    )


def match_clusters(labels: np.ndarray, others: np.ndarray, n_clusters: int) -> np.ndarray:
    """For each of the other clusters its partner: the one-to-one matching with the largest overlap.

    Examples
    --------
    >>> match_clusters(np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]), 3).tolist()
    [1, 2, 0]
    """
    found = confusion(labels, others)
    partner = np.full(n_clusters, -1)
    partner[found.clusters[: found.n_matched]] = found.classes[: found.n_matched]
    # empty clusters on either side are left over and go together
    partner[partner < 0] = np.setdiff1d(np.arange(n_clusters), partner)
    return partner
