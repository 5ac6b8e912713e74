"""Lloyd's algorithm under the measure: align and assign, average, repeat.

As an alignment never gets worse from its warm start and an update of the centroids never raises the
distortion, the distortion falls monotonically. Where the images are does not matter here: in memory
(`dikmeans.kmeans.task`), or in shards (`dikmeans.outofcore`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dikmeans.monitoring.history import Iteration
from dikmeans.images import scale_to_unit_norm

# With the assignment settled, a fall of the distortion by this many times the tolerance will do.
SETTLED = 10.0
LAST_ITERATION = "max_iter reached"

Report = Callable[[Any, Iteration, str], None]
"""Takes the state after an iteration, its line of history, and why it was the last one, or nothing."""


def revive_empty(task: Any, here: Any) -> Any:
    """Give every empty cluster the image that fits its own centroid worst, as its new centroid."""
    empty = np.flatnonzero(here.sizes == 0)
    if not len(empty):
        return here
    centroids = here.centroids.copy()
    seeds = task.worst_fitting(here, len(empty))
    centroids[empty] = scale_to_unit_norm(seeds) if task.unit_norm else seeds
    return task.reassign(here, centroids, empty)


def lloyd(
    task: Any,
    start: Any,
    *,
    max_iter: int,
    tol: float,
    phase: str = "",
    done: int = 0,
    report: Report = lambda here, iteration, reason: None,
) -> tuple[Any, str]:
    """Iterate from `start` until nothing changes any more.

    Parameters
    ----------
    task : Task or ShardedTask
    start : Clustering or ShardedClustering
        Its `fits` belong to its centroids, as do those of the result.
    max_iter : int
    tol : float
        With an exact measure (no warp) as in scikit-learn's KMeans: on the centroids' movement,
        relative to the variance of the pixels. Otherwise on the distortion's relative fall; or on the
        share of images that change their cluster, once the fall is within ten times `tol`.
    phase : str
        Name for the history.
    done : int
        Iterations that led to `start`: they count.
    report : callable
        Called with the state, its line of history and the reason to stop, if there is one, after each
        iteration.

    Returns
    -------
    clustering : as `start`
    reason : str
    """
    here = start
    variance = task.pixel_variance if task.measure.exact else 0.0
    for number in range(done + 1, max_iter + 1):
        clock = time.perf_counter()
        here = revive_empty(task, here)
        before, centroids = here, task.move_centroids(here)
        here = task.assign(centroids, start=before)
        moved = here.moved_since(before)
        reason = _why_stop(task, before, here, moved, tol, variance)
        if not reason and number == max_iter:
            reason = LAST_ITERATION
        report(here, Iteration(phase, here.distortion, moved, time.perf_counter() - clock), reason)
        if reason:
            return here, reason
    return here, LAST_ITERATION


def _why_stop(task: Any, before: Any, here: Any, moved: int, tol: float, variance: float) -> str:
    """Why no further iteration is worth its time; empty if one is."""
    if task.measure.exact:
        if moved == 0:
            return "no image changed its cluster"
        shift = float(((here.centroids - before.centroids) ** 2).sum(dtype=np.float64))
        return "the centroids moved less than tol" if shift <= tol * variance else ""
    fall = before.distortion - here.distortion
    if fall <= tol * before.distortion:
        return "the distortion fell by less than tol"
    if moved <= tol * task.n_images and fall <= SETTLED * tol * before.distortion:
        return "hardly any image changed its cluster"
    return ""
