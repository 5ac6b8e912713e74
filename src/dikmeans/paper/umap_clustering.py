"""UMAP, then K-means or a Gaussian mixture: what many people do with images that have no labels.

McInnes, Healy and Melville (2018). Pixels are embedded as they are; UMAP knows nothing of
deformations. New images are placed into the fitted embedding (`umap.UMAP.transform`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from dikmeans._typing import Array, IntArray
from dikmeans.errors import MissingExtraError
from dikmeans.images import flatten
from dikmeans.parameters import Constraint, Number, OneOf, Whole, check_parameters


class UMAPClustering(ClusterMixin, BaseEstimator):
    """Clusters in a UMAP embedding of the pixels.

    It has no ``inertia_``: every seed has another embedding with another scale, so neither the
    inertia nor the likelihood of two runs can be compared.

    Parameters
    ----------
    n_clusters : int
    clusterer : {"k-means", "gaussian-mixture"}, default="k-means"
        What is fitted in the embedding; the mixture has full covariances.
    n_neighbors : int, default=15
        Size of a neighborhood; 15 is UMAP's default.
    min_dist : float, default=0.0
        How far apart embedded points stay. 0 keeps clusters dense, as UMAP's authors advise for
        clustering.
    n_components : int, default=10
        Dimensions of the embedding. For clustering more than the two of a picture are usual.
    n_init : int, default=10
        Starts of K-means or of the mixture, of which the best is kept.
    random_state : int, default=0
        Seed of the embedding and of what is fitted in it.

    Attributes
    ----------
    labels_ : int array of shape (N,)
        Clusters of the training images.
    processor_seconds_ : float
        Processor time of the fit, in all threads.
    """

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        "n_clusters": [Whole(1)],
        "clusterer": [OneOf(("k-means", "gaussian-mixture"))],
        "n_neighbors": [Whole(2)],
        "min_dist": [Number(0.0, 1.0)],
        "n_components": [Whole(1)],
        "n_init": [Whole(1)],
        "random_state": [Whole(0)],
    }

    def __init__(
        self,
        n_clusters: int,
        clusterer: str = "k-means",
        *,
        n_neighbors: int = 15,
        min_dist: float = 0.0,
        n_components: int = 10,
        n_init: int = 10,
        random_state: int = 0,
    ):
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.n_components = n_components
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Embed the images X and find clusters in the embedding.

        Raises
        ------
        MissingExtraError
            umap-learn is not installed.
        """
        check_parameters(self, self.constraints)
        UMAP = _import_umap()
        clock = process_time()
        table, _ = flatten(X)
        # Without n_jobs=1, UMAP warns that a seed allows one thread only.
        self.embedding_ = UMAP(
            n_neighbors=self.n_neighbors,
            min_dist=self.min_dist,
            n_components=self.n_components,
            random_state=self.random_state,
            n_jobs=1,
        )
        embedded: Array = self.embedding_.fit_transform(table)
        options = {"n_init": self.n_init, "random_state": self.random_state}
        self.model_ = (
            KMeans(self.n_clusters, **options)
            if self.clusterer == "k-means"
            else GaussianMixture(self.n_clusters, covariance_type="full", **options)
        )
        self.labels_: IntArray = self.model_.fit_predict(embedded)
        self.processor_seconds_ = process_time() - clock
        return self

    def predict(self, X: Any) -> IntArray:
        """Place images into the embedding and return their clusters."""
        check_is_fitted(self)
        table, _ = flatten(X)
        labels: IntArray = self.model_.predict(self.embedding_.transform(table))
        return labels


def _import_umap() -> Any:
    try:
        with warnings.catch_warnings():  # it announces that TensorFlow is not installed
            warnings.simplefilter("ignore", ImportWarning)
            from umap import UMAP
    except ModuleNotFoundError as error:
        if error.name != "umap":
            raise
        raise MissingExtraError("umap-learn", "umap", "UMAPClustering") from error
    return UMAP
