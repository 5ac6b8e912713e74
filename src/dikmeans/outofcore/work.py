"""What is done to one shard, wherever it lies: functions of arrays, without any state of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from dikmeans.registration.warped_measure import Fits
from dikmeans.kmeans.costs import cheapest
from dikmeans.preprocessing import Normaliser
from dikmeans.kmeans.task import Clustering, Task, Verdict
from dikmeans.kmeans.centroid_update import Sums
from dikmeans.images import ImageShape, refuse_non_finite, table_rules, to_channels_first


@dataclass(frozen=True)
class Tally:
    """What there is to know about the assignment of some images; sets are joined by adding.

    Attributes
    ----------
    distortion : float
    sizes : array of shape (K,)
        Weight of the members of each cluster.
    moved : int
        Images that had another centroid before.
    """

    distortion: float
    sizes: np.ndarray
    moved: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.distortion + other.distortion, self.sizes + other.sizes, self.moved + other.moved)


@dataclass(frozen=True)
class Moments:
    """Number, sum and sum of squares of images, pixel by pixel; sets are joined by adding."""

    n: int
    total: np.ndarray
    squares: np.ndarray

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def variance(self) -> float:
        """Variance of a pixel, on average."""
        return float((self.squares / self.n - (self.total / self.n) ** 2).mean())


def prepare(raw: np.ndarray, first: int, *, shape: ImageShape, normalise: Normaliser) -> np.ndarray:
    """Rows of a user's array, from row `first` on, as checked and normalised pictures."""
    table = raw.reshape(len(raw), int(np.prod(shape)))
    table = check_array(table, **table_rules(table))
    refuse_non_finite(table, numbers=range(first, first + len(table)))
    return normalise(to_channels_first(table, shape))


def align(
    images: np.ndarray,
    weights: np.ndarray,
    measure: Any,
    centroids: np.ndarray,
    before: Fits | None,
    n_jobs: int | None,
) -> Fits:
    """Align images with all centroids: from the identity, or from where they were `before`."""
    start = None if before is None else Clustering(centroids, before, weights)
    return _task(images, weights, measure, n_jobs).assign(centroids, start).fits


def align_anew(
    images: np.ndarray,
    weights: np.ndarray,
    measure: Any,
    centroids: np.ndarray,
    before: Fits,
    columns: np.ndarray,
    n_jobs: int | None,
) -> Fits:
    """Align images with the centroids numbered `columns`, from the identity; the others stay as they were."""
    here = Clustering(centroids, before, weights)
    return _task(images, weights, measure, n_jobs).reassign(here, centroids, columns).fits


def gather(
    images: np.ndarray,
    weights: np.ndarray,
    measure: Any,
    centroids: np.ndarray,
    fits: Fits,
    n_jobs: int | None,
) -> Sums:
    """What the update of the centroids needs to know of the images."""
    here = Clustering(centroids, fits, weights)
    return _task(images, weights, measure, n_jobs).gather(here, centroids)


def judge(
    images: np.ndarray, weights: np.ndarray, measure: Any, centroids: np.ndarray, n_jobs: int | None
) -> Verdict:
    """What the centroids are worth to the images."""
    return _task(images, weights, measure, n_jobs).judge(centroids)


def tally(weights: np.ndarray, fits: Fits, before: Fits | None) -> Tally:
    """Count an assignment, and what has changed since `before`."""
    here = Clustering(np.empty(fits.costs.shape[1]), fits, weights)
    moved = len(weights) if before is None else int((here.labels != before.costs.argmin(axis=1)).sum())
    return Tally(here.distortion, here.sizes, moved)


def labels(fits: Fits) -> np.ndarray:
    """The cheapest centroid of every image."""
    return cheapest(fits.costs)


def worst(weights: np.ndarray, fits: Fits, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The images that fit their own centroids worst, the worst last: misfits and numbers."""
    misfit = np.where(weights > 0, fits.costs.min(axis=1), -1.0)
    chosen = np.argsort(misfit, kind="stable")[::-1][:count][::-1]
    return misfit[chosen], chosen


def pick(images: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Some of the images."""
    return images[numbers]


def moments(images: np.ndarray) -> Moments:
    """Sums over the images."""
    return Moments(
        len(images),
        images.sum(axis=0, dtype=np.float64),
        np.einsum("n...,n...->...", images, images, dtype=np.float64),
    )


def _task(images: np.ndarray, weights: np.ndarray, measure: Any, n_jobs: int | None) -> Task:
    return Task(images.astype(measure.dtype, copy=False), weights, measure, n_jobs=n_jobs)
