"""Swap moves: escape a bad optimum by dropping one centroid and splitting another's cluster.

Lloyd's algorithm cannot take a centroid from a place where there is one too many to one where
there is one too few. A swap does: centroid `drop` is given up (its members have a second choice,
whose cost is known), and the cluster of centroid `split` is divided in two (a small clustering of
its members alone). Both effects on the inertia can be estimated beforehand, so the most promising
swaps are tried first. A trial is a few warm iterations, and more as long as it would succeed at its
present pace; it is kept if, and only if, it ends at a lower inertia. No label is involved.

With many clusters one swap changes little and a trial costs as much as ever, so a trial makes
several swaps at once, of different clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.kmeans.centroid_update import weight_per_cluster
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.kmeans.lloyd import Step, descend, lloyd
from dikmeans.registration.measure import Measure

# Iterations of the division of one cluster, of a trial, and of a trial that keeps improving.
SPLIT_ITERATIONS, TRIAL_ITERATIONS, MAX_TRIAL_ITERATIONS = 5, 4, 20
SPLIT_TOL = 1e-3
# A swap is kept if it lowers the inertia by at least this share.
MIN_GAIN = 1e-4
# A trial is worth its time if the estimated gain makes up for this share of the estimated loss.
# Both estimates are far too pessimistic: they ignore that the other centroids will adapt. So trials
# may be long shots until a few trials have failed since one was kept.
WORTHWHILE, LONG_SHOT, N_LONG_SHOTS = 0.2, 0.05, 3
MIN_MEMBERS = 4
# From so many clusters on, a trial makes one swap for each ten of them: ten such trials end at a
# lower inertia than forty with a quarter of the swaps each, in less than half the time.
MANY_CLUSTERS, CLUSTERS_PER_SWAP = 80, 10


class Split(NamedTuple):
    """A cluster divided in two.

    Attributes
    ----------
    halves : array of shape (2, C, rows, columns)
        The two centroids.
    gain : float
        How much lower the inertia of the members is with two centroids than with one.
    """

    halves: FloatArray
    gain: float


@dataclass(frozen=True)
class SwapState:
    """How far the swaps have got: with clustering and random numbers, enough to continue.

    Attributes
    ----------
    trials : int
        Trials so far.
    settling : int or None
        Iterations done since a swap was kept, while Lloyd's algorithm follows it up.
    splits : dict
        The split of each cluster, as far as it is known.
    failed : set of (drop, split)
        Swaps that did not help; of a trial of several, all.
    """

    trials: int = 0
    settling: int | None = None
    splits: dict[int, Split] = field(default_factory=dict)
    failed: frozenset[tuple[int, int]] = frozenset()


class SwapStep(NamedTuple):
    """A trial that has ended, or an iteration after a swap that was kept.

    Attributes
    ----------
    clustering : Clustering
    state : SwapState
    iteration : Step or None
        The iteration; None if it was a trial.
    """

    clustering: Clustering
    state: SwapState
    iteration: Step | None


def swap_moves(
    dataset: Dataset,
    measure: Measure,
    start: Clustering,
    state: SwapState,
    *,
    max_trials: int,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
) -> Iterator[SwapStep]:
    """Try swaps, best prospects first, until `max_trials` are used or none is promising.

    Parameters
    ----------
    dataset : Dataset
        In memory.
    measure : Measure
    start : Clustering
        A converged clustering, unless `state` says that it is settling.
    state : SwapState
        Where to begin.
    max_trials : int
    max_iter, tol
        For the iterations after a swap that was kept.
    rng : RandomState
        Draws the seeds of the splits.

    Yields
    ------
    step : SwapStep
        After each trial, and after each iteration that follows a kept swap.
    """
    clustering = start
    while True:
        if state.settling is not None:
            steps = lloyd(
                dataset, measure, clustering, max_iter=max_iter, tol=tol, done=state.settling
            )
            for count, step in enumerate(steps, start=state.settling + 1):
                clustering = step.clustering
                state = replace(state, settling=None if step.stopped else count)
                yield SwapStep(clustering, state, step)
            state = replace(state, settling=None)
        if state.trials == max_trials:
            return
        splits = {
            k: state.splits.get(k) or split_cluster(dataset, measure, clustering, k, rng)
            for k in range(len(clustering.centroids))
        }
        losses = drop_losses(dataset, measure, clustering)
        prospects = _best_prospects(losses, splits, state.failed)
        if not prospects:
            return
        trial = _try_swaps(dataset, measure, clustering, prospects, splits)
        trials = state.trials + 1
        if _is_better(trial, clustering):
            clustering = trial  # whatever was known about other swaps is outdated
            state = SwapState(trials, settling=0)
        else:
            state = SwapState(trials, None, splits, state.failed.union(prospects))
        yield SwapStep(clustering, state, None)


def swaps_per_trial(n_clusters: int) -> int:
    """How many swaps a trial makes at once, at most.

    Examples
    --------
    >>> [swaps_per_trial(n_clusters) for n_clusters in (10, 79, 80, 1000)]
    [1, 1, 8, 100]
    """
    return 1 if n_clusters < MANY_CLUSTERS else n_clusters // CLUSTERS_PER_SWAP


def drop_losses(dataset: Dataset, measure: Measure, clustering: Clustering) -> FloatArray:
    """How much the inertia rises, at most, if each centroid is given up: shape (K,)."""
    fit = dataset.local_fit(measure, clustering)
    second = np.minimum(np.partition(fit.costs, 1, axis=1)[:, 1], dataset.cutoff)
    counted = fit.weights > 0
    regret = np.zeros(len(second))
    regret[counted] = fit.weights[counted] * np.maximum(second - fit.nearest_costs, 0.0)[counted]
    return weight_per_cluster(fit.labels, regret, len(clustering.centroids))


def split_cluster(
    dataset: Dataset,
    measure: Measure,
    clustering: Clustering,
    cluster: int,
    rng: np.random.RandomState,
) -> Split:
    """Divide one cluster in two."""
    fit = dataset.local_fit(measure, clustering)
    members = np.flatnonzero((fit.labels == cluster) & (fit.weights > 0))
    centroid = clustering.centroids[cluster]
    unchanged = Split(np.stack([centroid, centroid]), 0.0)
    if len(members) < MIN_MEMBERS:
        return unchanged
    weights, costs = fit.weights[members], fit.nearest_costs[members]
    mass = weights * costs
    if not mass.sum() > 0:
        return unchanged
    seed = fit.images[members[rng.choice(len(members), p=mass / mass.sum())]]
    part = dataset.subset(members)
    start = part.assign(measure, np.stack([centroid, seed]).astype(centroid.dtype))
    halves = descend(part, measure, start, max_iter=SPLIT_ITERATIONS, tol=SPLIT_TOL)
    return Split(halves.centroids, float(weights @ costs) - halves.inertia)


def _best_prospects(
    losses: FloatArray, splits: dict[int, Split], failed: frozenset[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The most promising swaps (drop, split) among those worth a trial; no cluster twice."""
    n_swaps = swaps_per_trial(len(losses))
    least = LONG_SHOT if len(failed) < N_LONG_SHOTS * n_swaps else WORTHWHILE
    gains = np.array([splits[k].gain for k in range(len(losses))])
    balance = np.where(gains > least * losses[:, None], gains - losses[:, None], -np.inf)
    np.fill_diagonal(balance, -np.inf)
    for pair in failed:
        balance[pair] = -np.inf
    chosen: list[tuple[int, int]] = []
    for _ in range(n_swaps):
        # among equals, the last: of the clusters that are dropped, then of those that are split
        best = balance.size - 1 - int(balance.ravel()[::-1].argmax())
        drop, split = divmod(best, len(losses))
        if balance[drop, split] == -np.inf:
            break
        chosen.append((drop, split))
        balance[[drop, split]] = balance[:, [drop, split]] = -np.inf
    return chosen


def _try_swaps(
    dataset: Dataset,
    measure: Measure,
    clustering: Clustering,
    swaps: list[tuple[int, int]],
    splits: dict[int, Split],
) -> Clustering:
    centroids = clustering.centroids.copy()
    for drop, split in swaps:
        centroids[[drop, split]] = splits[split].halves
    trial = dataset.realign(measure, clustering, centroids, np.array(swaps).ravel())
    trial = descend(dataset, measure, trial, max_iter=TRIAL_ITERATIONS - 1, tol=0.0)
    for _ in range(TRIAL_ITERATIONS, MAX_TRIAL_ITERATIONS + 1):
        before = trial.inertia
        trial = descend(dataset, measure, trial, max_iter=1, tol=0.0)
        # a small cluster attracts its members slowly: it may need more iterations than most
        if TRIAL_ITERATIONS * (before - trial.inertia) < trial.inertia - clustering.inertia:
            break
        if _is_better(trial, clustering):
            break
    return trial


def _is_better(trial: Clustering, clustering: Clustering) -> bool:
    return trial.inertia < clustering.inertia * (1 - MIN_GAIN)
