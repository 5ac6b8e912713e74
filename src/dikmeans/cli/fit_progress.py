"""The progress of a fit on standard error: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from typing import Self

from rich.progress import TextColumn
from rich.text import Text

from dikmeans.cli.console import describe_seconds, describe_time_left, make_bar
from dikmeans.kmeans.schedule import Phase, PhaseKind, Schedule
from dikmeans.monitoring.events import ProgressEvent
from dikmeans.monitoring.forecast import Countdown

_SECONDS_BETWEEN_LINES = 10.0
_PHASES = {
    PhaseKind.WARM_UP: "warming up",
    PhaseKind.SEARCH: "searching",
    PhaseKind.SHARED_PRIOR: "learning typical deformations",
    PhaseKind.SWAPS: "moving centroids",
    PhaseKind.RELEARNING: "learning deformations per cluster",
    PhaseKind.ALL_IMAGES: "fitting all pictures",
    PhaseKind.PROTOTYPES: "dividing clusters",
    PhaseKind.ASSIGNMENT: "assigning all pictures",
}
_WARPS = {"none": "without warps", "affine": "with affine maps", "tps": "with stiff splines"}


class FitProgress:
    """Shows phase, iteration, inertia per picture and time left; a progress sink for `fit`.

    Parameters
    ----------
    schedule : Schedule
        What every run of the fit does.
    quiet : bool, default=False
        Show nothing.
    """

    def __init__(self, schedule: Schedule, *, quiet: bool = False):
        self._countdown = Countdown(schedule)
        # Without more columns a line of 80 characters holds it all.
        columns = (TextColumn("{task.fields[inertia]}"), TextColumn("{task.fields[left]}"))
        self._bar = make_bar(*columns, quiet=quiet)
        left = describe_time_left(None)
        self._task = self._bar.add_task("starting", total=None, inertia="", left=left)
        self._in_log = not quiet and not self._bar.console.is_terminal
        self._start = self._last_line = time.perf_counter()
        self._phase: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, event: ProgressEvent) -> None:
        """Show an event."""
        self._countdown(event)
        now, left = time.perf_counter(), self._countdown.seconds_left()
        elapsed = now - self._start
        step, inertia, time_left = describe_step(event), _inertia(event), describe_time_left(left)
        self._bar.update(
            self._task,
            description=step,
            inertia=inertia,
            left=time_left,
            total=None if left is None else elapsed + left,
            completed=elapsed,
        )
        phase = event.run, event.phase_index
        is_due = phase != self._phase or now - self._last_line > _SECONDS_BETWEEN_LINES
        self._phase = phase
        if self._in_log and is_due:
            self._last_line = now
            parts = [
                step,
                inertia and f"{inertia} per picture",
                describe_seconds(elapsed),
                time_left,
            ]
            self._bar.console.print(Text(" · ".join(part for part in parts if part)))


def describe_phase(phase: Phase) -> str:
    """What a phase does, for users who have not read about the algorithm.

    Examples
    --------
    >>> describe_phase(Phase(PhaseKind.WARM_UP, "affine"))
    'warming up with affine maps'
    """
    words = _PHASES[phase.kind]
    return f"{words} {_WARPS[phase.warp]}" if phase.kind is PhaseKind.WARM_UP else words


def describe_step(event: ProgressEvent) -> str:
    """Run, phase and iteration of an event."""
    run = f"run {event.run} of {event.n_runs}, " if event.n_runs > 1 else ""
    phase = ("resumed: " if event.resumed else "") + describe_phase(event.phase)
    if event.phase.kind is PhaseKind.ASSIGNMENT:
        return f"{run}{phase}"
    if event.phase.kind is PhaseKind.SWAPS:
        return f"{run}{phase}, trial {event.iteration} of at most {event.phase.max_trials}"
    return f"{run}{phase}, iteration {event.iteration}"


def _inertia(event: ProgressEvent) -> str:
    """The last inertia, per picture, so that phases on a sample and on all can be compared."""
    if not event.history:
        return ""
    last = event.history[-1]
    return f"inertia {last.inertia / last.n_images:.4f}"
