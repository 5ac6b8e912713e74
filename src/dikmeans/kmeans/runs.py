"""The runs of a fit: one after the other, from different seeds; that of the lowest distortion is kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sklearn.exceptions import ConvergenceWarning

from dikmeans.monitoring.progress import Progress
from dikmeans.kmeans.run import ALL_IMAGES, Outcome, Plan, Run, StopRequested


@dataclass(frozen=True)
class Tally:
    """The runs that are over.

    Attributes
    ----------
    n_runs : int
    n_iterations : int
        Of all of them.
    best : Outcome, optional
        Of the run with the lowest distortion; among equals, of the first.
    """

    n_runs: int = 0
    n_iterations: int = 0
    best: Outcome | None = None

    def plus(self, outcome: Outcome) -> Tally:
        """With one run more."""
        better = self.best is None or outcome.distortion < self.best.distortion
        return Tally(
            self.n_runs + 1,
            self.n_iterations + len(outcome.history.iterations),
            outcome if better else self.best,
        )


class Memory(Protocol):
    """What outlives the process of a fit: `Checkpoint`, or nothing."""

    seeds: Sequence[int]
    tally: Tally

    def restore(self, run: Run) -> None:
        """Bring a run that has not begun to where it was, if it has been begun before."""

    def keep(self, run: Run) -> None:
        """Remember where a run stands."""

    def keep_tally(self, tally: Tally) -> None:
        """Remember that a run is over."""


class NoMemory:
    """Remembers nothing.

    Parameters
    ----------
    seeds : sequence of int
        Of the runs.
    """

    def __init__(self, seeds: Sequence[int]):
        self.seeds = seeds
        self.tally = Tally()

    def restore(self, run: Run) -> None:
        """There is nothing to go on from."""

    def keep(self, run: Run) -> None:
        """Forget it."""

    def keep_tally(self, tally: Tally) -> None:
        """Forget it."""


def best_of_runs(plan: Plan, population: Any, memory: Memory, progress: Progress) -> Outcome:
    """Carry out the runs that are not over yet; the best of all.

    Ctrl-C and a callback's wish to stop end the runs, not the call, if there is anything to show: the run
    that was interrupted is judged as it is, or left out if it has not come to all images and another has
    ended. In `memory` it stays where it was, to be continued.

    Parameters
    ----------
    plan : Plan
    population : Population or ShardedPopulation
    memory : Memory
        Knows the seeds, and what has been done already.
    progress : Progress
        Is told how it goes.
    """
    tally, run = memory.tally, None
    try:
        while tally.n_runs < len(memory.seeds):
            run = Run(plan, population, memory.seeds[tally.n_runs], memory.keep)
            memory.restore(run)
            progress.begin_run(tally.n_runs + 1, run.history)
            run.go(progress.iteration, progress.trial)
            assert run.outcome is not None
            tally, run = tally.plus(run.outcome), None
            memory.keep_tally(tally)
            progress.end_run()
    except (KeyboardInterrupt, StopRequested) as stop:
        how = "stopped by a callback" if isinstance(stop, StopRequested) else "interrupted"
        # before the fit on all images a run has another measure: not to be compared with one that has ended
        bookmark = None if run is None else run.bookmark
        if run and bookmark and (bookmark.step == ALL_IMAGES or tally.best is None):
            run.history.stopped = how
            run.finish()
            assert run.outcome is not None
            tally = tally.plus(run.outcome)
        if tally.best is None:  # nothing to keep yet
            raise
        warnings.warn(
            f"The fit was {how} after {tally.n_iterations} iterations; the estimator keeps the best "
            "centroids so far.",
            ConvergenceWarning,
            stacklevel=3,
        )
    assert tally.best is not None
    return tally.best
