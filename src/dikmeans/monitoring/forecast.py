"""How long a fit will take: the phases of a run, counted in pairs to align, times seconds per pair.

How many iterations a phase needs is not known before it has converged. The numbers here are typical
ones (medians over eight fits of digits, letters, sounds, hands and faces), so a forecast is rough;
docs/cli.md says how rough. Seconds per pair are measured: on a few of the images beforehand
(`time_pairs`), or on the fit itself while it runs (`Countdown`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, ImageShape
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.lloyd import descend, lloyd
from dikmeans.kmeans.schedule import Phase, PhaseKind, Schedule
from dikmeans.kmeans.swaps import SPLIT_ITERATIONS, TRIAL_ITERATIONS, swaps_per_trial
from dikmeans.monitoring.events import ProgressEvent
from dikmeans.registration.batches import batches
from dikmeans.registration.descent import MAX_CANDIDATES
from dikmeans.registration.specification import MeasureSpec

TYPICAL_ITERATIONS = {
    PhaseKind.WARM_UP: 8,
    PhaseKind.SEARCH: 5,
    PhaseKind.SHARED_PRIOR: 5,
    PhaseKind.RELEARNING: 3,
    PhaseKind.ALL_IMAGES: 5,
}
"""Iterations that a phase typically needs, unless fewer are allowed."""

TYPICAL_TRIALS, FEW_CLUSTERS = 2, 10
"""Trials of swaps with few clusters; with more there is always another one to try."""

TYPICAL_COLD_TO_WARM = 4.0
"""Ratio of a pair's times from scratch and from a warm start, where nobody has measured it."""

DIVISION_PASSES = 4
"""How often the members of a cluster meet its prototypes, from scratch, while it is divided."""

# Enough for all threads to have something to do, and for the clock to be precise.
_BATCHES_TO_TIME = 6
_ITERATIONS_TO_TIME = 3


class Workload(NamedTuple):
    """The work of a phase.

    Attributes
    ----------
    phase : Phase
    cold : int
        Pairs that it aligns from scratch.
    warm : int
        Pairs that it aligns again in each iteration (of swaps: in each trial).
    iterations : int
        Iterations that it typically takes (of swaps: trials).
    """

    phase: Phase
    cold: int
    warm: int
    iterations: int


class PairTimes(NamedTuple):
    """Seconds per pair: from scratch, and in an iteration (its update included)."""

    cold: float
    warm: float


def workloads(schedule: Schedule) -> tuple[Workload, ...]:
    """The work of every phase of a run."""
    return tuple(_workload(schedule, phase) for phase in schedule.phases)


def _workload(schedule: Schedule, phase: Phase) -> Workload:
    n_images, k = schedule.n_images_of(phase), schedule.n_clusters
    pairs = n_images * k
    if phase.kind is PhaseKind.SWAPS:
        # every cluster is split beforehand; a trial realigns two centroids for each of its swaps,
        # then the candidates of all images
        typical = TYPICAL_TRIALS if k <= FEW_CLUSTERS else phase.max_trials
        trials = min(typical, phase.max_trials)
        splits = 2 * n_images * (1 + SPLIT_ITERATIONS)
        candidates = n_images * min(k, MAX_CANDIDATES)
        realigned = 2 * n_images * swaps_per_trial(k)
        return Workload(phase, splits, TRIAL_ITERATIONS * candidates + realigned, trials)
    n_prototypes = schedule.prototypes.number_for(schedule.sample_size // k)
    if phase.kind is PhaseKind.PROTOTYPES:
        divided = DIVISION_PASSES * n_prototypes * n_images if n_prototypes > 1 else 0
        return Workload(phase, pairs + divided, 0, 0)
    if phase.kind is PhaseKind.ASSIGNMENT:
        return Workload(phase, n_prototypes * pairs, 0, 0)
    return Workload(phase, pairs, pairs, min(TYPICAL_ITERATIONS[phase.kind], phase.max_iter))


def forecast_seconds(work: Sequence[Workload], times: Mapping[str, PairTimes]) -> float | None:
    """Seconds that phases will take; None if the times of one of their warps are not known.

    Examples
    --------
    >>> phase = Phase(PhaseKind.SEARCH, "tps", max_iter=100)
    >>> work = [Workload(phase, cold=100, warm=100, iterations=5)]
    >>> forecast_seconds(work, {"tps": PairTimes(0.02, 0.01)})
    7.0
    >>> forecast_seconds(work, {}) is None
    True
    """
    if any(load.phase.warp not in times for load in work):
        return None
    return sum(
        load.cold * times[load.phase.warp].cold
        + load.iterations * load.warm * times[load.phase.warp].warm
        for load in work
    )


def time_pairs(
    pictures: FloatArray,
    shape: ImageShape,
    measure: MeasureSpec,
    schedule: Schedule,
    n_jobs: int | None,
) -> dict[str, PairTimes]:
    """Seconds per pair on this machine, for every warp of a schedule.

    Parameters
    ----------
    pictures : array of shape (n, C, rows, columns)
        Some of the images, preprocessed; as many as `n_pictures_to_time` says.
    shape : tuple of int
        (rows, columns[, channels]) of an image.
    measure : MeasureSpec
    schedule : Schedule
    n_jobs : int or None
        Threads.
    """
    warps = {phase.warp for phase in schedule.phases}
    return {
        warp: _time(pictures, shape, measure.varied(warp=warp), schedule.n_clusters, n_jobs)
        for warp in warps
    }


def n_pictures_to_time(n_images: int, shape: ImageShape, n_clusters: int) -> int:
    """How many pictures `time_pairs` needs."""
    parts = batches(n_images, int(np.prod(shape)))[:_BATCHES_TO_TIME]
    return max(parts[-1].stop, min(n_clusters, n_images))


def _time(
    pictures: FloatArray, shape: ImageShape, spec: MeasureSpec, k: int, n_jobs: int | None
) -> PairTimes:
    measure = spec.build(shape)
    images = pictures.astype(measure.dtype, copy=False)
    few = Dataset.in_memory(images[:2], n_jobs=n_jobs)
    descend(few, measure, few.assign(measure, images[:2]), max_iter=1, tol=0.0)  # compiles
    dataset, first = Dataset.in_memory(images, n_jobs=n_jobs), images[:k]
    clock = time.perf_counter()
    clustering = dataset.assign(measure, first)
    cold = time.perf_counter() - clock
    steps = lloyd(dataset, measure, clustering, max_iter=_ITERATIONS_TO_TIME, tol=0.0)
    warm = float(np.mean([step.seconds for step in steps]))
    n_pairs = len(images) * len(first)
    return PairTimes(cold / n_pairs, warm / n_pairs)


class Countdown:
    """Says during a fit how much time is left, as far as anyone can know.

    Call it with every `ProgressEvent` of the fit.

    Parameters
    ----------
    schedule : Schedule
        Of every run.
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, schedule: Schedule, clock: Callable[[], float] = time.perf_counter):
        self._work = workloads(schedule)
        self._clock = clock
        self._times: dict[str, PairTimes] = {}
        self._index = self._done = 0
        self._run, self._n_runs = 0, 1
        self._since = self._run_began = clock()
        self._run_seconds: list[float] = []

    def __call__(self, event: ProgressEvent) -> None:
        """Learn from an event how long pairs take, and where the fit is."""
        now = self._clock()
        if event.run != self._run:
            if self._run:
                # events tell when something has ended: when the run began is what they leave
                self._since = max(now - self._seconds_of(event), self._since)
                self._run_seconds.append(self._since - self._run_began)
            self._run, self._n_runs = event.run, event.n_runs
            self._run_began = self._since
        if event.resumed:
            self._learn_from_history(event)
        elif event.record is not None and event.phase.kind is not PhaseKind.SWAPS:
            self._learn(event, event.record.seconds, now - self._since)
        self._index, self._done = event.phase_index, event.iteration
        self._since = now

    def _learn(self, event: ProgressEvent, seconds: float, elapsed: float) -> None:
        """From an iteration, and if it is the first of its phase from the alignment before it."""
        load = self._work[event.phase_index]
        known = self._times.get(load.phase.warp)
        if not load.warm:  # a phase without iterations
            return
        warm = seconds / load.warm
        if known is not None:
            warm = (known.warm + warm) / 2
        if event.iteration == 1:
            cold = max(elapsed - seconds, 0.0) / max(load.cold, 1)
        else:
            cold = TYPICAL_COLD_TO_WARM * warm if known is None else known.cold
        self._times[load.phase.warp] = PairTimes(cold, warm)

    def _seconds_of(self, event: ProgressEvent) -> float:
        """Seconds from the beginning of a run to its first event, as far as pairs' times tell."""
        load = self._work[event.phase_index]
        known = self._times.get(load.phase.warp)
        iteration = 0.0 if event.record is None else event.record.seconds
        return iteration + (0.0 if known is None else load.cold * known.cold)

    def _learn_from_history(self, event: ProgressEvent) -> None:
        """From the iterations of an earlier process, which tell nothing of cold alignments."""
        by_name = {load.phase.name: load for load in self._work}
        for record in event.history:
            load = by_name[record.phase]
            if load.phase.kind is not PhaseKind.SWAPS:
                warm = record.seconds / max(load.warm, 1)
                self._times[load.phase.warp] = PairTimes(TYPICAL_COLD_TO_WARM * warm, warm)

    def seconds_left(self) -> float | None:
        """Time left, or None if it is not known yet."""
        rest = forecast_seconds(
            (self._rest_of_phase(), *self._work[self._index + 1 :]), self._times
        )
        if self._run_seconds:
            per_run: float | None = float(np.mean(self._run_seconds))
            if rest is None:
                assert per_run is not None
                rest = max(per_run - (self._clock() - self._run_began), 0.0)
        else:
            per_run = forecast_seconds(self._work, self._times)
        later_runs = self._n_runs - self._run
        if rest is None or (later_runs and per_run is None):
            return None
        return rest + later_runs * (per_run or 0.0)

    def _rest_of_phase(self) -> Workload:
        load = self._work[self._index]
        at_least = 1 if load.iterations else 0
        return load._replace(
            cold=0 if self._done else load.cold,
            iterations=max(load.iterations - self._done, at_least),
        )
