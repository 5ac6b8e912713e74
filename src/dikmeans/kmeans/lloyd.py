"""Lloyd's algorithm under a measure: align and assign, average, repeat.

An alignment never gets worse from its warm start, and an update of the centroids never raises the
inertia, so the inertia falls monotonically. A measure without warm starts aligns every pair from
scratch in every iteration; then the inertia may rise, which ends the descent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.registration.measure import Change, Measure

OUT_OF_ITERATIONS = "max_iter reached"


class Step(NamedTuple):
    """One iteration.

    Attributes
    ----------
    clustering : Clustering
        After it; its alignments belong to its centroids.
    seconds : float
    stopped : str
        Why it was the last one; empty if it was not.
    """

    clustering: Clustering
    seconds: float
    stopped: str


def lloyd(
    dataset: Dataset,
    measure: Measure,
    start: Clustering,
    *,
    max_iter: int,
    tol: float,
    done: int = 0,
) -> Iterator[Step]:
    """Iterate from `start` until the measure says that nothing changes any more.

    Parameters
    ----------
    dataset : Dataset
    measure : Measure
    start : Clustering
    max_iter : int
    tol : float
        See `Measure.stop_reason`.
    done : int
        Iterations that led to `start`: they count.

    Yields
    ------
    step : Step
        After each iteration.
    """
    clustering = start
    for number in range(done + 1, max_iter + 1):
        clock = time.perf_counter()
        before = revive_empty(dataset, measure, clustering)
        centroids = dataset.move_centroids(measure, before)
        clustering = dataset.assign(measure, centroids, start=before)
        change = Change(
            inertia_before=before.inertia,
            inertia=clustering.inertia,
            moved=clustering.summary.moved,
            n_images=len(dataset),
            shift=float(((centroids - before.centroids) ** 2).sum(dtype=np.float64)),
            pixel_variance=dataset.pixel_variance if measure.needs_pixel_variance else 0.0,
        )
        reason = measure.stop_reason(change, tol)
        if not reason and number == max_iter:
            reason = OUT_OF_ITERATIONS
        yield Step(clustering, time.perf_counter() - clock, reason)
        if reason:
            return


def descend(
    dataset: Dataset, measure: Measure, start: Clustering, *, max_iter: int, tol: float
) -> Clustering:
    """The clustering after the last iteration of `lloyd`."""
    clustering = start
    for step in lloyd(dataset, measure, start, max_iter=max_iter, tol=tol):
        clustering = step.clustering
    return clustering


def revive_empty(dataset: Dataset, measure: Measure, clustering: Clustering) -> Clustering:
    """Give every empty cluster the worst-fitting image as its new centroid."""
    empty = np.flatnonzero(clustering.sizes == 0)
    if not len(empty):
        return clustering
    centroids = clustering.centroids.copy()
    seeds = dataset.worst_fitting(clustering, len(empty), measure.dtype)
    centroids[empty] = scale_to_unit_norm(seeds) if measure.unit_norm else seeds
    return dataset.realign(measure, clustering, centroids, empty)
