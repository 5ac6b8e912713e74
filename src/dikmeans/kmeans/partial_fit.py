"""`partial_fit`: the part of `DIKMeans` that learns from batches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_sample_weight

from dikmeans.registration.solvers import make_solver
from dikmeans.kmeans.minibatch import FirstImages, absorb, check_batch
from dikmeans.kmeans.population import Population
from dikmeans.kmeans.run import Run
from dikmeans.kmeans.runs import Tally
from dikmeans.images import from_channels_first


class PartialFit:
    """Streaming fits; see `dikmeans.kmeans.minibatch`."""

    # parameters, attributes and methods of the estimator
    prototype_clusters_: Any
    solver: Any
    unit_norm_centroids: bool
    n_jobs: int | None
    image_shape_: Any
    prototype_weights_: Any
    labels_: Any
    _first_images: Any
    _check_images: Any
    _form_pictures: Any
    _fitted_aligner: Any
    _plan: Any
    _seeds: Any
    _keep: Any

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let a batch of images move the centroids: for streams, and for what does not fit anywhere.

        The first images, `search_size` of them, are collected over as many calls as it takes, and a search
        is made whenever their number has doubled; after that every batch moves the centroids a little,
        against the weight of all images before it. After `fit`, or on a loaded model, the batches go on
        from there. See `dikmeans.kmeans.minibatch`. How pictures are normalised is learned from the first
        batch, which should be more than a handful.

        Afterwards `labels_` and `inertia_` are those of this batch, `cluster_weights_` counts all.

        Parameters
        ----------
        X : array of shape (n, rows, columns), (n, rows, columns, channels) or (n, features)
            The first batch must have at least `n_clusters` images.
        y : ignored
        sample_weight : array of shape (n,), optional
            Weight of each image.

        Returns
        -------
        self : DIKMeans

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images
        >>> model = DIKMeans(10, search_size=300, random_state=0)
        >>> for first in range(0, 1000, 100):
        ...     model = model.partial_fit(X[first : first + 100])
        >>> float(model.cluster_weights_.sum())
        1000.0
        """
        fresh = not hasattr(self, "prototypes_")
        images = self._check_images(X, reset=fresh, weights=sample_weight)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if fresh:
            check_batch(self, int((weights > 0).sum()))
            self.n_steps_, self._first_images = 0, FirstImages(self._plan().search_size)
        if self._first_images is None or not self._first_images.add(images, weights):
            self._absorb(images, weights)
        else:
            self._search_first(len(images))
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        return self

    def _search_first(self, n_new: int) -> None:
        """Search the first images, the last `n_new` of which have just come."""
        population, plan = self._first_images.take(), self._plan()
        if self._first_images.complete:
            self._first_images = None
        self.solver_ = make_solver(self.solver)
        tally = Tally()
        for seed in self._seeds():
            run = Run(plan, population, seed)
            run.go()
            assert run.outcome is not None
            tally = tally.plus(run.outcome)
        self._keep(tally.best)
        self.labels_ = self.labels_[-n_new:]

    def _absorb(self, images: np.ndarray, weights: np.ndarray) -> None:
        """Let a batch move the centroids, under the measure that has been found."""
        batch = Population(images, weights).under(
            self._fitted_aligner(),
            unit_norm=self.unit_norm_centroids,
            n_jobs=self.n_jobs,
        )
        after = absorb(batch, self._form_pictures(), self.prototype_weights_)
        self.prototypes_ = from_channels_first(after.centroids, self.image_shape_)
        self.prototype_weights_ = after.weights
        self.labels_, self.inertia_ = self.prototype_clusters_[after.labels].astype(np.int32), after.distortion
