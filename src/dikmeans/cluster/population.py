"""The images of a fit, wherever they are: a sample is drawn from them, and a measure applied to all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from dikmeans.cluster.costs import Summary, evaluate
from dikmeans.cluster.task import Task


@dataclass(frozen=True)
class Population(AbstractContextManager):
    """Images in memory.

    Attributes
    ----------
    images : array of shape (N, C, rows, columns)
        Normalised.
    weights : array of shape (N,)
    """

    images: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def __exit__(self, *_: object) -> None:
        """Nothing was taken for them."""

    @property
    def dtype(self) -> Any:
        """Type of the pixels."""
        return self.images.dtype

    def evaluate(
        self,
        aligner: Any,
        centroids: np.ndarray,
        *,
        prune: float,
        summarise: Summary,
        n_jobs: int | None,
    ) -> np.ndarray:
        """What `summarise` makes of the costs of all images to all centroids."""
        return evaluate(self.images, aligner, centroids, prune, summarise, n_jobs)

    def in_memory(self) -> Population:
        """Here they are."""
        return self

    def draw(self, size: int, rng: np.random.RandomState) -> Population:
        """At most `size` of the images that have a weight, in their order; all if there are no more."""
        if len(self) <= size:
            return self
        chosen = draw_indices(self.weights, len(self), size, rng)
        return Population(self.images[chosen], self.weights[chosen])

    def under(self, aligner: Any, *, unit_norm: bool, n_jobs: int | None) -> Task:
        """The images to be clustered under a measure."""
        return Task(self.images.astype(aligner.dtype, copy=False), self.weights, aligner, unit_norm, n_jobs)


def draw_indices(weights: np.ndarray | None, n: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Numbers of `size` images with a weight, or all of them, in ascending order; without weights, of `n`."""
    heavy = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    n = n if heavy is None else len(heavy)
    chosen = np.sort(sample_without_replacement(n, min(size, n), random_state=rng))
    return chosen if heavy is None else heavy[chosen]
