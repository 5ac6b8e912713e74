"""Images in memory, all aligned with all centroids: one clustering, and what can be done with it.

The state of a run is one `Clustering`: centroids, and for each (image, centroid) pair the cost and the
parameters reached so far. Parameters are warm starts for the next iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dikmeans.registration.warped_measure import Fits
from dikmeans.registration.batches import cost_matrix, fit_images
from dikmeans.kmeans.centroid_update import Members, Sums, move, rule_for

# A pair is refined if its cost so far is at most this multiple of the image's best pair: from
# scratch (judged on low-pass pictures) and from a warm start (judged on the sharp ones).
PRUNE_COLD, PRUNE_WARM = 3.0, 2.0


@dataclass(frozen=True)
class Clustering:
    """Centroids, and how every image fits every one of them.

    `fits` belongs to `centroids`: it was computed with them.
    """

    centroids: np.ndarray
    fits: Fits
    weights: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The cheapest centroid of every image."""
        return self.fits.costs.argmin(axis=1)

    @property
    def own_costs(self) -> np.ndarray:
        """The cost of every image to its own centroid."""
        return self.fits.costs.min(axis=1)

    @property
    def own_deltas(self) -> np.ndarray:
        """The parameters, less the identity, of every image's alignment with its own centroid."""
        labels = self.labels
        return self.fits.deltas[np.arange(len(labels)), labels]

    @property
    def distortion(self) -> float:
        """Weighted sum of the images' costs to their own centroids."""
        return float(self.weights @ self.own_costs)

    @property
    def sizes(self) -> np.ndarray:
        """Weight of the members of each cluster."""
        return np.bincount(self.labels, weights=self.weights, minlength=len(self.centroids))

    def moved_since(self, before: Clustering) -> int:
        """How many images had another centroid before."""
        return int((self.labels != before.labels).sum())


class Verdict(NamedTuple):
    """What fixed centroids are worth, from a cold start.

    Attributes
    ----------
    labels : int array of shape (N,)
        The cheapest centroid of each image.
    sizes : array of shape (K,)
        Weight of the members of each.
    distortion : float
    """

    labels: np.ndarray
    sizes: np.ndarray
    distortion: float


@dataclass(frozen=True)
class Task:
    """What is clustered and how; the same for all iterations of a phase.

    Attributes
    ----------
    images : array of shape (N, C, rows, columns)
    weights : array of shape (N,)
    measure : WarpedMeasure or EuclideanMeasure
    unit_norm : bool
        Whether centroids are kept at unit norm.
    n_jobs : int or None
    """

    images: np.ndarray
    weights: np.ndarray
    measure: Any
    unit_norm: bool = False
    n_jobs: int | None = None

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.images)

    @property
    def pixel_variance(self) -> float:
        """Variance of a pixel over the images, on average."""
        return float(self.images.var(axis=0, dtype=np.float64).mean())

    def assign(self, centroids: np.ndarray, start: Clustering | None = None) -> Clustering:
        """Align all images with all centroids: from the identity, or from the warps in `start`."""
        fits = fit_images(
            self.measure,
            self.images,
            self.measure.bank(centroids, warm=start is not None),
            start=None if start is None else start.fits.deltas,
            keep=None if start is None else start.labels,
            prune=PRUNE_COLD if start is None else PRUNE_WARM,
            n_jobs=self.n_jobs,
        )
        return Clustering(centroids, fits, self.weights)

    def judge(self, centroids: np.ndarray) -> Verdict:
        """Align all images with all centroids as `predict` does, and keep nothing but the verdict."""
        bank = self.measure.bank(centroids)
        costs = cost_matrix(self.measure, self.images, bank, prune=PRUNE_COLD, n_jobs=self.n_jobs)
        labels = costs.argmin(axis=1)
        sizes = np.bincount(labels, weights=self.weights, minlength=len(centroids))
        return Verdict(labels.astype(np.int32), sizes, float(self.weights @ costs.min(axis=1)))

    def reassign(self, here: Clustering, centroids: np.ndarray, columns: np.ndarray) -> Clustering:
        """Align all images from the identity with those of the centroids that are new: `columns`."""
        bank = self.measure.bank(centroids[columns], numbers=columns)
        fresh = fit_images(self.measure, self.images, bank, n_jobs=self.n_jobs)
        merged = Fits(*(old.copy() for old in here.fits))
        for target, source in zip(merged, fresh, strict=True):
            target[:, columns] = source
        return replace(here, centroids=centroids, fits=merged)

    def gather(self, here: Clustering, centroids: np.ndarray) -> Sums:
        """What the update of the centroids needs to know of the images; see `dikmeans.kmeans.centroid_update`."""
        return rule_for(self.measure).gather(self.measure, self._members(here), centroids, self.n_jobs)

    def move_centroids(self, here: Clustering) -> np.ndarray:
        """The centroid update for the present assignment."""
        rule, members = rule_for(self.measure), self._members(here)

        def gather(centroids: np.ndarray) -> Sums:
            return rule.gather(self.measure, members, centroids, self.n_jobs)

        return move(self.measure, here.centroids, gather, unit_norm=self.unit_norm)

    def _members(self, here: Clustering) -> Members:
        return Members(self.images, self.weights, here.labels, here.own_deltas)

    def worst_fitting(self, here: Clustering, count: int) -> np.ndarray:
        """The images that fit their own centroids worst, the worst first."""
        misfit = np.where(self.weights > 0, here.own_costs, -1.0)
        return self.images[np.argsort(misfit, kind="stable")[::-1][:count]]
