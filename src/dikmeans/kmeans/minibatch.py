r"""Streaming fits: images come in batches, are seen once, and are gone.

The first images are collected, as many as the search works on (`search_size`), and searched as `fit` would; a
search is made whenever their number has doubled, so that there is a model from the first batch on and all
searches together cost hardly more than twice the last one. Then the collection is dropped, the measure is
settled (learned stiffness included), and every further batch moves the centroids a little: its images are
aligned and summed up as in an iteration of Lloyd's algorithm, and the images before them count as sums that
would leave the centroids where they are, with the weight of all members so far. A centroid thus is the mean
over all images that came to it, as in MacQueen's K-means and scikit-learn's `MiniBatchKMeans`.

What is kept between batches is the model, a weight a form, and in the beginning the first images.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dikmeans.kmeans.population import Population
from dikmeans.kmeans.task import Task
from dikmeans.kmeans.centroid_update import rule_for, standing_still


class FirstImages:
    """The images of the first batches.

    Parameters
    ----------
    wanted : int
        How many are collected.
    """

    def __init__(self, wanted: int):
        self._wanted = wanted
        self._images: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._n = self._searched = 0

    @property
    def complete(self) -> bool:
        """Whether there are enough."""
        return self._n >= self._wanted

    def add(self, images: np.ndarray, weights: np.ndarray) -> bool:
        """A batch more; whether there are enough now, or twice as many as at the last search."""
        self._images.append(images)
        self._weights.append(weights)
        self._n += len(images)
        return self.complete or self._n >= 2 * self._searched

    def take(self) -> Population:
        """All that are there, for a search."""
        self._searched = self._n
        return Population(np.concatenate(self._images), np.concatenate(self._weights))


class Absorbed(NamedTuple):
    """A model after a batch.

    Attributes
    ----------
    centroids : array of shape (M, C, rows, columns)
        The forms of all clusters.
    weights : array of shape (M,)
        Weight of all images so far, form by form.
    labels : int array of shape (n,)
        Of the batch: numbers of forms.
    distortion : float
        Of the batch, under the centroids before it.
    """

    centroids: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    distortion: float


def absorb(task: Task, centroids: np.ndarray, weights: np.ndarray) -> Absorbed:
    """Let the images of a task move the centroids, against the weight of those before them.

    Parameters
    ----------
    task : Task
        A batch under a settled measure.
    centroids : array of shape (M, C, rows, columns)
    weights : array of shape (M,)
    """
    here = task.assign(centroids.astype(task.measure.dtype))
    past = standing_still(task.measure, here.centroids.astype(np.float64), weights)
    sums = past + task.gather(here, here.centroids)
    moved = rule_for(task.measure).step(task.measure, here.centroids.astype(np.float64), sums, task.unit_norm)
    weightless = weights + here.sizes == 0
    moved[weightless] = here.centroids[weightless]
    return Absorbed(
        moved.astype(centroids.dtype),
        weights + here.sizes,
        here.labels,
        here.distortion,
    )


def check_batch(estimator: Any, n_images: int) -> None:
    """Raise if the first batch is too small to begin with."""
    if n_images < estimator.n_clusters:
        raise ValueError(
            f"n_samples={n_images} should be >= n_clusters={estimator.n_clusters} in the first call of "
            "partial_fit: there must be an image for every centroid. Pass a larger first batch."
        )
