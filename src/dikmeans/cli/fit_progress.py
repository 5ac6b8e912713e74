"""How a fit goes, on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import takewhile

from rich.progress import TextColumn, TimeElapsedColumn
from rich.text import Text

from dikmeans.cli.bar import BarOnTerminal
from dikmeans.cli.console import describe_seconds
from dikmeans.monitoring.forecast import SWAPS, Countdown, Step
from dikmeans.monitoring.history import Iteration
from dikmeans.monitoring.progress import FitListener

NOT_KNOWN = "time left not known yet"
_SECONDS_BETWEEN_LINES = 10.0


class FitOnTerminal(BarOnTerminal, FitListener):
    """Shows phase, distortion, iterations, elapsed and remaining time while it is entered.

    Parameters
    ----------
    steps : sequence of Step
        What a run will do.
    quiet : bool
        Show nothing.
    """

    def __init__(self, steps: Sequence[Step], *, quiet: bool = False):
        super().__init__(
            TextColumn("{task.fields[distortion]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            description="beginning",
            quiet=quiet,
            distortion="",
            left=NOT_KNOWN,
        )
        self._steps = {step.name: step for step in steps}
        self._countdown = Countdown(steps)
        self._in_lines = not self._console.is_terminal and not quiet
        self._began = self._last_line = time.perf_counter()
        self._phase, self._run, self._count = "", "", 0
        self._distortion = ""

    def begin_run(self, number: int, n_runs: int) -> None:
        """Count the runs, if there are several."""
        self._countdown.begin_run(number, n_runs)
        self._run = f"run {number} of {n_runs}, " if n_runs > 1 else ""
        self._phase, self._count = "", 0

    def resume(self, iterations: Sequence[Iteration]) -> None:
        """Go on counting where the run was."""
        self._countdown.resume(iterations)
        phase = iterations[-1].phase
        self._count = len(
            list(takewhile(lambda iteration: iteration.phase == phase, reversed(iterations)))
        )
        self._show(phase, f"going on after: {describe_phase(phase)}, iteration {self._count}")

    def iteration(self, iteration: Iteration) -> None:
        """Show the distortion; it is a mean, so that a sample and all images can be compared."""
        self._countdown.iteration(iteration)
        n_images = self._countdown.step.n_images
        self._distortion = f"distortion {iteration.distortion / n_images:.4f}"
        self._count = self._count + 1 if iteration.phase == self._phase else 1
        self._show(iteration.phase, f"{describe_phase(iteration.phase)}, iteration {self._count}")

    def trial(self, number: int, most: int) -> None:
        """Show that swaps are being tried."""
        self._countdown.trial(number, most)
        self._show(SWAPS, f"swap {number}, of at most {most}")

    def _show(self, phase: str, what: str) -> None:
        now, left = time.perf_counter(), self._countdown.seconds_left()
        remaining = NOT_KNOWN if left is None else f"about {describe_seconds(left)} left"
        elapsed = now - self._began
        self._bar.update(
            self._task,
            description=f"{self._run}{what}",
            distortion=self._distortion,
            left=remaining,
            total=None if left is None else elapsed + left,
            completed=elapsed,
        )
        is_new = phase != self._phase
        self._phase = phase
        if self._in_lines and (is_new or now - self._last_line > _SECONDS_BETWEEN_LINES):
            self._last_line = now
            parts = [f"{self._run}{what}", self._distortion, describe_seconds(elapsed), remaining]
            self._console.print(Text(" · ".join(part for part in parts if part)))


def describe_phase(phase: str) -> str:
    """What a phase of the history is, in words for someone who has not read about it.

    Examples
    --------
    >>> describe_phase("affine"), describe_phase("search")
    ('warming up with affine maps', 'searching')
    """
    return _PHASES.get(phase, phase)


_PHASES = {
    "none": "warming up without warps",
    "affine": "warming up with affine maps",
    "tps, 10 x as stiff": "warming up with stiff splines",
    "search": "searching",
    "usual deformations": "learning which deformations are usual",
    "after a swap": "after a swap",
    "all images": "fitting all pictures",
}
