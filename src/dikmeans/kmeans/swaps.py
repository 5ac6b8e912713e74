"""Swap moves: out of a bad optimum by dropping one centroid and splitting the cluster of another.

A dying cluster, of few members with a good second choice, is the first to be dropped.

Lloyd's algorithm cannot take a centroid from a place where there are two too many to one where there is
one too few. A swap does: centroid `drop` is given up (its members have a second choice, whose cost is
known), and the cluster of centroid `split` is cut in two (a small clustering of its members alone). Both
effects on the distortion can be estimated beforehand, so the most promising swaps are tried first. A trial
is a few warm iterations, and some more as long as it would get there at its pace; it is kept if, and only if,
it ends at a lower distortion. No label is involved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dikmeans.monitoring.history import Iteration
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.kmeans.task import Clustering, Task

# Iterations of the clustering in two of one cluster, of a trial, and of a trial that looks ever better.
SPLIT_ITERATIONS, TRIAL_ITERATIONS, MAX_TRIAL_ITERATIONS = 5, 4, 20
# A swap is kept if it lowers the distortion by at least this share.
MIN_GAIN = 1e-4
# A trial is worth its time if the estimated gain makes up for this share of the estimated loss. Both
# estimates are far too pessimistic: they do not know that the other centroids will adapt.
WORTHWHILE = 0.2
MIN_MEMBERS = 4


@dataclass
class SwapProgress:
    """How far the swap moves have got: with the clustering and the random numbers, enough to go on.

    Attributes
    ----------
    trials : int
        Swaps tried so far.
    settling : int or None
        Iterations done since a swap was kept, while Lloyd's algorithm follows it up.
    splits : dict
        For each cluster, its two halves and what splitting it gains; see `split_cluster`.
    failed : set of (drop, split)
        Swaps that did not help.
    """

    trials: int = 0
    settling: int | None = None
    splits: dict[int, tuple[np.ndarray, float]] = field(default_factory=dict)
    failed: set[tuple[int, int]] = field(default_factory=set)

    def copy(self) -> SwapProgress:
        """As it is now: the original goes on."""
        return replace(self, splits=dict(self.splits), failed=set(self.failed))

    def keep_swap(self) -> None:
        """A swap is kept: what was known about others is void."""
        self.settling = 0
        self.splits.clear()
        self.failed.clear()


def drop_losses(clustering: Clustering) -> np.ndarray:
    """How much the distortion rises, at most, if each centroid is given up: shape (K,)."""
    costs, labels = clustering.fits.costs, clustering.labels
    second = np.partition(costs, 1, axis=1)[:, 1]
    regret = clustering.weights * (second - clustering.own_costs)
    return np.bincount(labels, weights=regret, minlength=len(clustering.centroids))


def split_cluster(
    task: Task, clustering: Clustering, cluster: int, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """Cut one cluster in two.

    Returns
    -------
    centroids : array of shape (2, C, rows, columns)
    gain : float
        How much lower the distortion of the members is with the two than with the one.
    """
    members = np.flatnonzero((clustering.labels == cluster) & (task.weights > 0))
    centre = clustering.centroids[cluster]
    if len(members) < MIN_MEMBERS:
        return np.stack([centre, centre]), 0.0
    part = replace(task, images=task.images[members], weights=task.weights[members])
    own = clustering.own_costs[members]
    mass = part.weights * own
    if not mass.sum() > 0:
        return np.stack([centre, centre]), 0.0
    seed = part.images[rng.choice(len(members), p=mass / mass.sum())]
    halves = part.assign(np.stack([centre, seed]).astype(centre.dtype))
    halves, _ = lloyd(part, halves, max_iter=SPLIT_ITERATIONS, tol=1e-3)
    return halves.centroids, float(part.weights @ own) - halves.distortion


def swap_moves(
    task: Task,
    start: Clustering,
    *,
    max_trials: int,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    progress: SwapProgress,
    mark: Callable[[Clustering, Iteration | None], None],
    announce: Callable[[int, int], None] = lambda trial, most: None,
) -> Clustering:
    """Try swaps, best prospects first, until `max_trials` are used or none is promising.

    Parameters
    ----------
    task : Task
    start : Clustering
        A converged state, unless `progress` says that it is settling.
    max_trials : int
    max_iter, tol
        For the iterations after a swap that is kept.
    rng : RandomState
        Draws the seeds of the splits.
    progress : SwapProgress
        How far it has got; changed as it goes on.
    mark : callable
        Called whenever `progress` has changed, with the state, and with the line of history if it was an
        iteration that changed it.
    announce : callable
        Called before each trial, with its number and `max_trials`.
    """
    here = start
    if len(here.centroids) == 1:
        return here

    def follow(state: Clustering, iteration: Iteration, reason: str) -> None:
        assert progress.settling is not None
        progress.settling = None if reason else progress.settling + 1
        mark(state, iteration)

    while True:
        if progress.settling is not None:
            here, _ = lloyd(
                task,
                here,
                max_iter=max_iter,
                tol=tol,
                phase="after a swap",
                done=progress.settling,
                report=follow,
            )
        if progress.trials == max_trials:
            return here
        announce(progress.trials + 1, max_trials)
        for cluster in range(len(here.centroids)):
            if cluster not in progress.splits:
                progress.splits[cluster] = split_cluster(task, here, cluster, rng)
        prospect = _best_prospect(here, progress.splits, progress.failed)
        if prospect is None:
            return here
        _, drop, split = prospect
        trial = _try_swap(task, here, drop, split, progress.splits[split][0])
        progress.trials += 1
        if _is_better(trial, here):
            here = trial
            progress.keep_swap()
        else:
            progress.failed.add((drop, split))
        mark(here, None)


def _best_prospect(
    here: Clustering,
    splits: dict[int, tuple[np.ndarray, float]],
    failed: set[tuple[int, int]],
) -> tuple[float, int, int] | None:
    """The most promising swap (estimated net gain, drop, split) among those worth a trial."""
    losses = drop_losses(here)
    pairs = [
        (splits[split][1] - losses[drop], drop, split)
        for drop in range(len(losses))
        for split in splits
        if drop != split and (drop, split) not in failed and splits[split][1] > WORTHWHILE * losses[drop]
    ]
    return max(pairs, default=None)


def _try_swap(task: Task, here: Clustering, drop: int, split: int, halves: np.ndarray) -> Clustering:
    centroids = here.centroids.copy()
    centroids[[drop, split]] = halves
    trial = task.reassign(here, centroids, np.array([drop, split]))
    trial, _ = lloyd(task, trial, max_iter=TRIAL_ITERATIONS - 1, tol=0.0)
    for _ in range(TRIAL_ITERATIONS, MAX_TRIAL_ITERATIONS + 1):
        before = trial.distortion
        trial, _ = lloyd(task, trial, max_iter=1, tol=0.0)
        # a small cluster that draws its like to it does so slowly: it may need more iterations than most
        if TRIAL_ITERATIONS * (before - trial.distortion) < trial.distortion - here.distortion:
            break
        if _is_better(trial, here):
            break
    return trial


def _is_better(trial: Clustering, here: Clustering) -> bool:
    return trial.distortion < here.distortion * (1 - MIN_GAIN)
