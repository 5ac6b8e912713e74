"""One kind of progress event, for whoever wants to know how a fit goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dikmeans.kmeans.history import IterationRecord
from dikmeans.kmeans.run import RunState
from dikmeans.kmeans.schedule import Phase, PhaseKind, Schedule


@dataclass(frozen=True)
class ProgressEvent:
    """Something has happened during a fit.

    Attributes
    ----------
    run : int
        Number of the run, from 1.
    n_runs : int
    schedule : Schedule
        What every run does.
    phase_index : int
        Index of the phase in the schedule.
    iteration : int
        Iterations of the phase that are done; of swaps: trials.
    record : IterationRecord or None
        The iteration that has just ended; None if it was a trial of a swap, if the final assignment
        is about to begin, or if the run has just been resumed.
    resumed : bool
        Whether the run has just been resumed from a checkpoint.
    history : tuple of IterationRecord
        All iterations of the run.
    """

    run: int
    n_runs: int
    schedule: Schedule
    phase_index: int
    iteration: int
    record: IterationRecord | None
    resumed: bool
    history: tuple[IterationRecord, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the run is in."""
        return self.schedule.phases[self.phase_index]

    @property
    def is_trial(self) -> bool:
        """Whether a trial of a swap has just ended."""
        return self.phase.kind is PhaseKind.SWAPS and self.record is None and not self.resumed

    @classmethod
    def of_state(
        cls,
        state: RunState,
        before: RunState | None,
        *,
        run: int,
        n_runs: int,
        schedule: Schedule,
    ) -> ProgressEvent:
        """The event that led from the state `before` to `state`; without it, a resumption."""
        grown = before is not None and len(state.history) > len(before.history)
        return cls(
            run=run,
            n_runs=n_runs,
            schedule=schedule,
            phase_index=state.phase,
            iteration=state.iteration,
            record=state.history[-1] if grown else None,
            resumed=before is None,
            history=state.history,
        )


ProgressSink: TypeAlias = Callable[[ProgressEvent], bool | None]
"""Hears of every event; returns True to stop the fit and keep what there is."""
