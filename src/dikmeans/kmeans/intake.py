"""What an estimator does with X: checked, normalised, and kept where it is if it is not in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from dikmeans.preprocessing import NORMALISERS, Normaliser, choose_normaliser
from dikmeans.preprocessing.base import representatives
from dikmeans.kmeans.population import Population
from dikmeans.outofcore import ShardedPopulation, Source, open_population, open_source
from dikmeans.images import (
    ImageShape,
    as_pictures,
    flatten,
    refuse_non_finite,
    stack,
    table_rules,
    to_channels_first,
)


class Intake:
    """The part of `DIKMeans` that takes images in.

    Sets `image_shape_`, `normalize_`, `preprocessing_` and `n_features_in_`.
    """

    # parameters and methods of the estimator
    n_clusters: int
    image_shape: ImageShape | None
    normalize: str | None
    init: Any
    warp: str
    n_jobs: int | None
    n_features_in_: int
    _measure: Any

    def _population(self, X: Any, sample_weight: Any) -> Population | ShardedPopulation:
        """The images of a fit, all looked at."""
        source = open_source(X, flat=self.image_shape is not None)
        if source is None:
            images = self._check_images(X, reset=True, weights=sample_weight)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            self._check_enough(len(images), weights)
            return Population(images, weights)
        with ExitStack() as in_case_of_error:
            in_case_of_error.callback(source.close)
            weights = None
            if sample_weight is not None:
                rows = np.broadcast_to(0.0, len(source))  # stands for X, of which only the length counts
                weights = _check_sample_weight(
                    sample_weight, rows, dtype=np.float64, ensure_non_negative=True
                )
            numbers = self._telling(len(source), weights)
            few = self._check_images(source.take(numbers), reset=True, numbers=numbers)
            self._check_enough(len(source), weights)
            population = in_case_of_error.enter_context(self._in_shards(source, weights, few.dtype))
            population.look_through()
            in_case_of_error.pop_all()
        return population

    def _new_images(self, X: Any) -> Population | ShardedPopulation:
        """Images for a fitted estimator, all looked at."""
        check_is_fitted(self)
        source = open_source(X)
        if source is None:
            images = self._check_images(X, reset=False)
            return Population(images, np.broadcast_to(1.0, len(images)))
        with ExitStack() as in_case_of_error:
            in_case_of_error.callback(source.close)
            first = self._check_images(source.read(slice(0, 1)), reset=False, numbers=range(1))
            population = in_case_of_error.enter_context(self._in_shards(source, None, first.dtype))
            population.look_through()
            in_case_of_error.pop_all()
        return population

    def _in_shards(self, source: Source, weights: np.ndarray | None, dtype: Any) -> ShardedPopulation:
        return open_population(
            source,
            weights,
            shape=self.image_shape_,
            dtype=dtype,
            normalise=self.preprocessing_,
            n_clusters=self.n_clusters,
            n_basis=self._measure(self.warp).n_basis,
            n_jobs=self.n_jobs,
        )

    def _check_enough(self, n_images: int, weights: np.ndarray | None) -> None:
        weighty = n_images if weights is None else int((weights > 0).sum())
        if weighty < self.n_clusters:
            with_weight = "" if weighty == n_images else " with positive sample_weight"
            raise ValueError(f"n_samples={weighty}{with_weight} should be >= n_clusters={self.n_clusters}.")

    def _check_images(
        self,
        X: Any,
        *,
        reset: bool,
        numbers: Sequence[int] | np.ndarray | None = None,
        weights: Any = None,
    ) -> np.ndarray:
        """X, checked, as normalised pictures (N, C, rows, columns).

        `numbers` if these are not all; `weights` as the user gave them: where it is zero a picture has no say
        in how all are normalised.
        """
        X = stack(X)
        wanted = self.image_shape if reset else self._shape_for_new(X.shape[1:])
        table, shape = flatten(X, wanted)
        table = validate_data(self, table, reset=reset, **table_rules(table))
        refuse_non_finite(table, numbers=numbers)
        images = to_channels_first(table, shape)
        if reset:
            self.image_shape_ = shape
            if weights is not None:
                weights = _check_sample_weight(weights, images, dtype=np.float64, ensure_non_negative=True)
            self.preprocessing_ = self._learn_normaliser(images[self._telling(len(images), weights)])
            self.normalize_ = self.preprocessing_.name
        return self.preprocessing_(images)

    def _telling(self, n: int, weights: np.ndarray | None) -> np.ndarray:
        """Numbers of those of `n` pictures that tell how all are normalised: of some that have a weight."""
        weighty = np.arange(n) if weights is None or not (weights > 0).any() else np.flatnonzero(weights > 0)
        return weighty[representatives(len(weighty))]

    def _learn_normaliser(self, pictures: np.ndarray) -> Normaliser:
        """The normaliser that was asked for, or that suits, for pictures like these."""
        name = choose_normaliser(pictures) if self.normalize == "auto" else self.normalize
        return NORMALISERS[name].learn(pictures)

    def _shape_for_new(self, shape: tuple[int, ...]) -> ImageShape | None:
        """What new images must look like; sizes that differ are refused in the user's words."""
        check_is_fitted(self)
        if len(shape) in (2, 3) and shape != self.image_shape_:
            raise ValueError(
                f"X has images of shape {shape}, but this {type(self).__name__} was fitted on images of "
                f"shape {self.image_shape_}. Resize the images, or fit anew."
            )
        # a flat X of the wrong width is left to scikit-learn, which says it in its usual words
        flat_misfit = len(shape) == 1 and shape[0] != self.n_features_in_
        return None if flat_misfit else self.image_shape_

    def _given_centroids(self) -> np.ndarray:
        given = stack(self.init)
        centroids, shape = as_pictures(given, self.image_shape_ if given.ndim == 2 else None, "init")
        if len(centroids) != self.n_clusters or shape != self.image_shape_:
            raise ValueError(
                f"init has {len(centroids)} centroids of shape {shape}, but n_clusters="
                f"{self.n_clusters} of shape {self.image_shape_} are needed."
            )
        return self.preprocessing_(centroids)
