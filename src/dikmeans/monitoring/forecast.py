"""How long a fit will take: the steps of a run, counted in pairs to align, times what a pair takes.

How many iterations a step needs is not known before it has converged. The numbers here are usual ones
(medians over eight fits of digits, letters, sounds, hands and faces), so a forecast is rough; docs/cli.md
has how it did.
What a pair takes is measured: on a few of the images beforehand (`measure_unit_times`), or on the fit itself
while it goes (`Countdown`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dikmeans.registration.batches import chunks
from dikmeans.monitoring.history import Iteration
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.preprocessing import AsItIs
from dikmeans.monitoring.progress import FitListener
from dikmeans.kmeans.run import ALL_IMAGES, SEARCH, SWAPS, USUAL
from dikmeans.kmeans.swaps import SPLIT_ITERATIONS, TRIAL_ITERATIONS
from dikmeans.kmeans.task import Task

USUAL_LESSON, USUAL_SEARCH, USUAL_TRIALS, USUAL_ALL = 8, 5, 2, 5
"""Iterations (trials of swaps) that a step usually needs, unless fewer are allowed."""

FEW_CLUSTERS = 10
"""With more clusters there is always another swap to try, and all trials are used up."""

USUAL_COLD_TO_WARM = 4.0
"""How much longer a pair takes from scratch than again, where nobody has measured it: after a resumption."""

DIVISION_PASSES = 4
"""Members of a cluster meet its forms so often from scratch while it is divided, iterations counted in."""

LAST_LOOK = "last look"
# What belongs to the trials of swaps, as the history calls it.
_AFTER_A_SWAP = "after a swap"
# Enough for all threads to have something to do, and for the clock to be right.
_CHUNKS_TO_MEASURE = 6
_ITERATIONS_TO_MEASURE = 3


class Step(NamedTuple):
    """A step of a run.

    Attributes
    ----------
    name : str
        As in the history.
    warp : str
        The warps it aligns with.
    n_images : int
        Images it works on.
    cold : int
        Pairs it aligns from scratch at its beginning.
    warm : int
        Pairs it aligns again in an iteration.
    usual : int
        Iterations it usually takes.
    """

    name: str
    warp: str
    n_images: int
    cold: int
    warm: int
    usual: int


class UnitTimes(NamedTuple):
    """Seconds a pair: aligned from scratch, and again in an iteration (its update included)."""

    cold: float
    warm: float


def steps_of_run(model: Any, n_images: int, shape: tuple[int, ...]) -> tuple[Step, ...]:
    """What a run of `model` will do with `n_images` images of `shape` (rows, columns[, channels])."""
    model = clone(model)
    model.image_shape_, model.preprocessing_ = shape, AsItIs()  # what given centroids look like does not matter
    plan = model._plan()
    n_search = min(n_images, plan.search_size)
    searching, all_pairs = n_search * plan.n_clusters, n_images * plan.n_clusters
    steps = [
        Step(
            lesson.name,
            lesson.warp,
            n_search,
            cold=searching,
            warm=searching,
            usual=min(USUAL_LESSON, lesson.max_iter, plan.max_iter),
        )
        for lesson in plan.lessons
    ]
    if plan.searches(on_sample=n_search < n_images):
        usual = min(USUAL_SEARCH, plan.max_iter)
        steps.append(Step(SEARCH, plan.warp, n_search, searching, searching, usual))
    if plan.shares_stiffness:
        steps.append(Step(USUAL, plan.warp, n_search, searching, searching, min(USUAL_SEARCH, plan.max_iter)))
    if plan.swap_trials and plan.n_clusters > 1:
        # every cluster is cut in two beforehand; a trial aligns two centroids anew, then all of them
        halves = 2 * n_search
        trial = TRIAL_ITERATIONS * searching + halves
        usual = USUAL_TRIALS if plan.n_clusters <= FEW_CLUSTERS else plan.swap_trials
        trials = min(usual, plan.swap_trials)
        steps.append(Step(SWAPS, plan.warp, n_search, halves * (1 + SPLIT_ITERATIONS), trial, trials))
    usual = min(USUAL_ALL, plan.max_iter)
    # between the swaps and all images the sample is aligned under the bending energy, and a few times again
    relearned = 2 * searching if plan.shares_stiffness else 0
    steps.append(Step(ALL_IMAGES, plan.warp, n_images, all_pairs + relearned, all_pairs, usual))
    n_prototypes = plan.forms.number_for(n_search // plan.n_clusters)
    division = DIVISION_PASSES * n_prototypes * n_search if n_prototypes > 1 else 0
    steps.append(Step(LAST_LOOK, plan.warp, n_images, n_prototypes * all_pairs + division, 0, 0))
    return tuple(steps)


def forecast_seconds(steps: Sequence[Step], times: Mapping[str, UnitTimes]) -> float | None:
    """Seconds that steps will take; None as long as nobody knows what a pair takes.

    Examples
    --------
    >>> steps = [Step("search", "tps", n_images=50, cold=100, warm=100, usual=5)]
    >>> forecast_seconds(steps, {"tps": UnitTimes(0.02, 0.01)})
    7.0
    >>> forecast_seconds(steps, {}) is None
    True
    """
    if any(step.warp not in times for step in steps):
        return None
    return sum(
        step.cold * times[step.warp].cold + step.usual * step.warm * times[step.warp].warm for step in steps
    )


def measure_unit_times(model: Any, X: np.ndarray, rng: np.random.RandomState) -> dict[str, UnitTimes]:
    """What a pair takes here and now, measured on a few of the images for every kind of warp in a fit.

    Parameters
    ----------
    model : DIKMeans
        Not fitted; it stays as it is.
    X : array of shape (N, rows, columns[, channels])
    rng : RandomState
        Draws the images.
    """
    parts = list(chunks(len(X), int(np.prod(X.shape[1:]))))[:_CHUNKS_TO_MEASURE]
    chosen = rng.permutation(len(X))[: max(parts[-1].stop, model.n_clusters)]
    model = clone(model)
    images = model._check_images(X[np.sort(chosen)], reset=True)
    return {
        warp: _measure(model, images, warp)
        for warp in {step.warp for step in steps_of_run(model, len(X), X.shape[1:])}
    }


def _measure(model: Any, images: np.ndarray, warp: str) -> UnitTimes:
    measure = model._measure(warp)
    images = images.astype(measure.dtype, copy=False)
    task = Task(images, np.ones(len(images)), measure, model.unit_norm_centroids, model.n_jobs)
    first = images[: model.n_clusters]
    few = Task(images[:2], np.ones(2), measure, model.unit_norm_centroids, model.n_jobs)
    lloyd(few, few.assign(images[:2]), max_iter=1, tol=0.0)  # compiled before the clock runs
    clock = time.perf_counter()
    clustering = task.assign(first)
    cold = time.perf_counter() - clock
    seconds: list[float] = []
    lloyd(
        task,
        clustering,
        max_iter=_ITERATIONS_TO_MEASURE,
        tol=0.0,
        report=lambda _, iteration, __: seconds.append(iteration.seconds),
    )
    n_pairs = len(images) * len(first)
    return UnitTimes(cold / n_pairs, float(np.mean(seconds)) / n_pairs)


def _step_of(iteration: Iteration) -> str:
    """The name of the step that an iteration belongs to."""
    return SWAPS if iteration.phase == _AFTER_A_SWAP else iteration.phase


class Countdown(FitListener):
    """Says during a fit how much time is left, as far as anyone can know.

    Parameters
    ----------
    steps : sequence of Step
        Of every run.
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, steps: Sequence[Step], clock: Any = time.perf_counter):
        self._steps = tuple(steps)
        self._clock = clock
        self._times: dict[str, UnitTimes] = {}
        self._at = 0
        self._done = 0
        self._since = clock()
        self._run_began = self._since
        self._run_seconds: list[float] = []
        self._run, self._n_runs = 0, 1

    @property
    def step(self) -> Step:
        """The step the fit is in."""
        return self._steps[self._at]

    @property
    def done(self) -> int:
        """Iterations (or trials) of that step that are done."""
        return self._done

    def begin_run(self, number: int, n_runs: int) -> None:
        """Start anew."""
        now = self._clock()
        if self._run:
            self._run_seconds.append(now - self._run_began)
        self._run, self._n_runs = number, n_runs
        self._at, self._done = 0, 0
        self._since = self._run_began = now

    def resume(self, iterations: Sequence[Iteration]) -> None:
        """Go to where the run stands after these, and learn from them what a pair takes."""
        for iteration in iterations:
            name = _step_of(iteration)
            self._enter(name)
            self._done += name != SWAPS
            if name != SWAPS:
                warm = iteration.seconds / max(self.step.warm, 1)
                self._times[self.step.warp] = UnitTimes(USUAL_COLD_TO_WARM * warm, warm)
        self._since = self._clock()

    def iteration(self, iteration: Iteration) -> None:
        """Learn what a pair takes."""
        name = _step_of(iteration)
        now = self._clock()
        if self._enter(name):
            step = self.step
            before = self._times.get(step.warp)
            cold = max(now - self._since - iteration.seconds, 0.0) / max(step.cold, 1)
            warm = iteration.seconds / max(step.warm, 1)
            if name != SWAPS:
                self._times[step.warp] = UnitTimes(cold, warm if before is None else (before.warm + warm) / 2)
        self._since = now
        self._done += name != SWAPS

    def trial(self, number: int, most: int) -> None:
        """A trial more, or the first one."""
        self._enter(SWAPS)
        self._done = number - 1
        self._since = self._clock()

    def seconds_left(self) -> float | None:
        """Time left, or None if it is not known yet (or the fit takes longer than any forecast)."""
        later_runs = self._n_runs - self._run
        rest = forecast_seconds((self._rest_of_step(), *self._steps[self._at + 1 :]), self._times)
        if self._run_seconds:
            a_run = float(np.mean(self._run_seconds))
            if rest is None:
                rest = max(a_run - (self._clock() - self._run_began), 0.0)
        elif later_runs:
            whole = forecast_seconds(self._steps, self._times)
            if whole is None:
                return None
            a_run = whole
        else:
            a_run = 0.0
        return None if rest is None else rest + later_runs * a_run

    def _rest_of_step(self) -> Step:
        step = self.step
        cold = 0 if self._done else step.cold
        return step._replace(cold=cold, usual=max(step.usual - self._done, 1 if step.usual else 0))

    def _enter(self, name: str) -> bool:
        """Go to the step of that name; whether it was another one before, or nothing of it is done."""
        ahead = [i for i, step in enumerate(self._steps) if step.name == name and i >= self._at]
        if not ahead:
            return False
        if ahead[0] != self._at:
            self._at, self._done = ahead[0], 0
        return self._done == 0
