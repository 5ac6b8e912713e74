"""What a fitted `DIKMeans` says of images: their clusters, their costs, their alignments."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from dikmeans.registration.api import align_to_own
from dikmeans.registration.result import Alignments
from dikmeans.kmeans.costs import OfClusters, Summary, all_costs, cheapest, lowest_costs
from dikmeans.kmeans.task import PRUNE_COLD
from dikmeans.images import ImageShape, to_channels_first


class Prediction:
    """The part of `DIKMeans` that looks at images with the forms fixed."""

    # parameters, attributes and methods of the estimator
    warp: str
    n_jobs: int | None
    image_shape_: ImageShape
    prototypes_: np.ndarray
    prototype_clusters_: np.ndarray
    prototype_weights_: np.ndarray
    deformation_precision_: np.ndarray | None
    _measure: Any
    _new_images: Any

    @property
    def cluster_centers_(self) -> np.ndarray:
        """The centroids (K, rows, columns[, channels]): the most frequent form of each cluster."""
        _, first = np.unique(self.prototype_clusters_, return_index=True)
        return self.prototypes_[first]

    @property
    def cluster_weights_(self) -> np.ndarray:
        """Weight of the members of each cluster (K,): their number, without sample weights."""
        return np.bincount(self.prototype_clusters_, weights=self.prototype_weights_)

    def _form_pictures(self) -> np.ndarray:
        return to_channels_first(self.prototypes_.reshape(len(self.prototypes_), -1), self.image_shape_)

    def _fitted_aligner(self) -> Any:
        """The measure that was found: the forms of a cluster share its stiffness."""
        stiffness = None if self.deformation_precision_ is None else self.deformation_precision_[self.prototype_clusters_]
        return self._measure(self.warp, stiffness=stiffness)

    def _evaluate(self, images: Any, prune: float, summarise: Summary) -> np.ndarray:
        """What `summarise` makes of the costs (N, K) of a population to the clusters."""
        return images.evaluate(
            self._fitted_aligner(),
            self._form_pictures(),
            prune=prune,
            summarise=OfClusters(summarise, self.prototype_clusters_),
            n_jobs=self.n_jobs,
        )

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each image, an int array of shape (N,)."""
        with self._new_images(X) as images:
            return self._evaluate(images, PRUNE_COLD, cheapest)

    def decision_costs(self, X: Any) -> np.ndarray:
        """The costs by which `predict` decides, shape (N, K): its cluster is the cheapest.

        Hopeless pairs are not refined, which saves time; their costs are upper bounds. `transform` refines
        them all.
        """
        with self._new_images(X) as images:
            return self._evaluate(images, PRUNE_COLD, all_costs)

    def transform(self, X: Any) -> np.ndarray:
        """The cost of each image to each cluster, shape (N, K): to the cheapest of its forms.

        Every pair is refined to the end, whereas `predict` gives up on hopeless ones early: in rare
        near-ties the cheapest cluster here is another than the predicted one.
        """
        with self._new_images(X) as images:
            return self._evaluate(images, np.inf, all_costs).astype(images.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the distortion of X: the higher, the better the forms fit."""
        with self._new_images(X) as images:
            costs = self._evaluate(images, PRUNE_COLD, lowest_costs)
        return -float(_check_sample_weight(sample_weight, costs, dtype=np.float64) @ costs)

    def align(self, X: Any, labels: Any = None) -> Alignments:
        """Each image's alignment with its centroid: warped picture, deformed grid, residual, costs.

        Parameters
        ----------
        X : array of images
        labels : int array of shape (N,), optional
            The cluster each image is aligned with, by the cheapest of its forms, to see how it would fit
            elsewhere; by default the one it is assigned to.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images[:60]
        >>> alignment = DIKMeans(3, random_state=0).fit(X).align(X[:5])[0]
        >>> alignment.warped.shape, alignment.grid.shape
        ((8, 8), (8, 8, 2))
        """
        with self._new_images(X) as population:
            images = population.in_memory().images  # alignments are pictures, all of them
        alignments = align_to_own(
            self._fitted_aligner(),
            images,
            self._form_pictures(),
            self.image_shape_,
            clusters=self.prototype_clusters_,
            prune=PRUNE_COLD,  # as `predict` does, so that both name the same cluster
            n_jobs=self.n_jobs,
        )
        return alignments if labels is None else alignments.onto(labels, n_jobs=self.n_jobs)
