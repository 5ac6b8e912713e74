"""K-means on the same pictures, to compare the clustering with."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dikmeans._typing import FloatArray, IntArray
from dikmeans.evaluation.metrics import confusion

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans


class Baseline(NamedTuple):
    """K-means with the same number of clusters, first centroids and preprocessing.

    Attributes
    ----------
    centroids : array of shape (K, rows, columns[, channels])
        In the order of the model's clusters with which they share most pictures (one to one).
    labels : int array of shape (N,)
        In that order too.
    inertia : float
    """

    centroids: FloatArray
    labels: IntArray
    inertia: float


def fit_baseline(model: DIKMeans, images: FloatArray, labels: IntArray) -> Baseline:
    """Fit K-means with the parameters of `model`; match its clusters with the model's `labels`."""
    kmeans = clone(model).set_params(
        warp="none", n_prototypes=1, preprocessing=model.preprocessing_, outliers=None, verbose=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # empty clusters are shown as such
        kmeans.fit(images)
    partners = match_clusters(labels, kmeans.labels_, model.n_clusters)
    matched = partners[kmeans.labels_]
    return Baseline(
        centroids=kmeans.cluster_centers_[np.argsort(partners)],
        labels=matched,
        inertia=float(kmeans.inertia_),
    )


def match_clusters(labels: IntArray, other_labels: IntArray, n_clusters: int) -> IntArray:
    """The partner in `labels` of each cluster in `other_labels`.

    Clusters are matched one to one so that partners share as many pictures as possible.

    Examples
    --------
    >>> match_clusters(np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]), 3).tolist()
    [1, 2, 0]
    """
    overlap = confusion(labels, other_labels)
    partners = np.full(n_clusters, -1)
    partners[overlap.clusters[: overlap.n_matched]] = overlap.classes[: overlap.n_matched]
    # empty clusters on either side are left over and become partners
    partners[partners < 0] = np.setdiff1d(np.arange(n_clusters), partners)
    return partners
