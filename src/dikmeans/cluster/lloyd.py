"""Lloyd's algorithm under the measure: align and assign, average, repeat.

The state of a run is one `Clustering`: centroids, and for each (image, centroid) pair the cost and the
parameters reached so far. Parameters are warm starts for the next iteration. As an alignment never
gets worse from its warm start and an update of the centroids never raises the distortion, the
distortion falls monotonically.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dikmeans.align.aligner import Fits
from dikmeans.align.bulk import fit_images
from dikmeans.cluster.history import Iteration
from dikmeans.cluster.update import update_centroids
from dikmeans.images import scale_to_unit_norm

# A pair is refined if its cost so far is at most this multiple of the image's best pair: from
# scratch (judged on low-pass pictures) and from a warm start (judged on the sharp ones).
PRUNE_COLD, PRUNE_WARM = 3.0, 2.0
# With the assignment settled, a fall of the distortion by this many times the tolerance will do.
SETTLED = 10.0


@dataclass(frozen=True)
class Task:
    """What is clustered and how; the same for all iterations of a run.

    Attributes
    ----------
    images : array of shape (N, C, rows, columns)
    weights : array of shape (N,)
    aligner : Aligner or EuclideanAligner
    unit_norm : bool
        Whether centroids are kept at unit norm.
    n_jobs : int or None
    """

    images: np.ndarray
    weights: np.ndarray
    aligner: Any
    unit_norm: bool = False
    n_jobs: int | None = None


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
    def distortion(self) -> float:
        """Weighted sum of the images' costs to their own centroids."""
        return float(self.weights @ self.own_costs)


def assign(task: Task, centroids: np.ndarray, start: Clustering | None = None) -> Clustering:
    """Align all images with all centroids: from the identity, or from the warps in `start`."""
    aligner = task.aligner
    fits = fit_images(
        aligner,
        task.images,
        aligner.bank(centroids, warm=start is not None),
        start=None if start is None else start.fits.deltas,
        keep=None if start is None else start.labels,
        prune=PRUNE_COLD if start is None else PRUNE_WARM,
        n_jobs=task.n_jobs,
    )
    return Clustering(centroids, fits, task.weights)


def reassign(task: Task, clustering: Clustering, columns: np.ndarray) -> Clustering:
    """Align all images anew, from the identity, with the centroids numbered `columns`."""
    aligner = task.aligner
    bank = aligner.bank(clustering.centroids[columns], numbers=columns)
    fresh = fit_images(aligner, task.images, bank, n_jobs=task.n_jobs)
    merged = Fits(*(old.copy() for old in clustering.fits))
    for target, source in zip(merged, fresh, strict=True):
        target[:, columns] = source
    return replace(clustering, fits=merged)


def move_centroids(task: Task, clustering: Clustering) -> np.ndarray:
    """The centroid update for the present assignment."""
    labels = clustering.labels
    own = clustering.fits.deltas[np.arange(len(labels)), labels]
    return update_centroids(
        task.aligner,
        task.images,
        task.weights,
        labels,
        own,
        clustering.centroids,
        unit_norm=task.unit_norm,
        n_jobs=task.n_jobs,
    )


def revive_empty(task: Task, clustering: Clustering) -> Clustering:
    """Give every empty cluster the image that fits its own centroid worst, as its new centroid."""
    sizes = np.bincount(clustering.labels, weights=task.weights, minlength=len(clustering.centroids))
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return clustering
    misfit = np.where(task.weights > 0, clustering.own_costs, -1.0)
    worst = np.argsort(misfit, kind="stable")[::-1][: len(empty)]
    centroids = clustering.centroids.copy()
    seeds = task.images[worst]
    centroids[empty] = scale_to_unit_norm(seeds) if task.unit_norm else seeds
    return reassign(task, replace(clustering, centroids=centroids), empty)


def lloyd(
    task: Task,
    start: Clustering,
    *,
    max_iter: int,
    tol: float,
    phase: str = "",
    report: Callable[[Clustering, Iteration], None] = lambda clustering, iteration: None,
) -> tuple[Clustering, str]:
    """Iterate from `start` until nothing changes any more.

    Parameters
    ----------
    task : Task
    start : Clustering
    max_iter : int
    tol : float
        With an exact measure (no warp) as in scikit-learn's KMeans: on the centroids' movement,
        relative to the variance of the pixels. Otherwise on the distortion's relative fall; or on the
        share of images that change their cluster, once the fall is within ten times `tol`.
    phase : str
        Name for the history.
    report : callable
        Called with the state and its line of history after each iteration.

    Returns
    -------
    clustering : Clustering
        Its `fits` belong to its centroids.
    reason : str
    """
    here = start
    variance = task.images.var(axis=0, dtype=np.float64).mean() if task.aligner.exact else 0.0
    for _ in range(max_iter):
        clock = time.perf_counter()
        here = revive_empty(task, here)
        centroids = move_centroids(task, here)
        shift = float(((centroids - here.centroids) ** 2).sum(dtype=np.float64))
        labels, before = here.labels, here.distortion
        here = assign(task, centroids, start=here)
        moved = int((here.labels != labels).sum())
        report(here, Iteration(phase, here.distortion, moved, time.perf_counter() - clock))
        if task.aligner.exact:
            if moved == 0:
                return here, "no image changed its cluster"
            if shift <= tol * variance:
                return here, "the centroids moved less than tol"
        else:
            fall = before - here.distortion
            if fall <= tol * before:
                return here, "the distortion fell by less than tol"
            if moved <= tol * len(labels) and fall <= SETTLED * tol * before:
                return here, "hardly any image changed its cluster"
    return here, "max_iter reached"
