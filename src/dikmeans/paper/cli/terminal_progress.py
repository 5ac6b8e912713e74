"""Progress on standard error: a bar while an item is made, and one line per finished item."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from dikmeans.cli.console import describe_seconds, make_console
from dikmeans.paper.progress import TimeLeft, WorkProgress


class TerminalProgress(WorkProgress):
    """Shows a bar while it is entered; without a terminal, only lines.

    Parameters
    ----------
    items : str
        What the items are called, such as "runs".

    Attributes
    ----------
    n_finished : int
        Items that were made.
    """

    def __init__(self, items: str) -> None:
        self.n_finished = 0
        self._items = items
        self._item = ""
        self._start = 0.0
        self._console = make_console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def print(self, text: str, style: str = "") -> None:
        """Print a line above the bar."""
        self._console.print(Text(text, style=style))

    def planned(self, n_done: int, n_pending: int) -> None:
        """Print how much there is to do."""
        self._bar.update(self._task, total=n_pending)
        self.print(f"{n_pending} {self._items} to make, {n_done} exist already.")

    def started(self, item: str, time_left: TimeLeft | None = None) -> None:
        """Show the item and the time that is left."""
        self._item, self._start = item, time.perf_counter()
        left = "" if time_left is None else describe_time_left(time_left)
        self._bar.update(self._task, description=item, left=left)

    def step(self, description: str) -> None:
        """Show what is being done."""
        prefix = f"{self._item}: " if self._item else ""
        self._bar.update(self._task, description=prefix + description)

    def finished(self, message: str = "") -> None:
        """Advance the bar; print the message, with the seconds it took."""
        self._bar.advance(self._task)
        if message:
            self.n_finished += 1
            self.print(f"{message} in {describe_seconds(time.perf_counter() - self._start)}")

    def failed(self, item: str, error: Exception) -> None:
        """Advance the bar; print the error on one line."""
        self._bar.advance(self._task)
        message = " ".join(f"{type(error).__name__}: {error}".split())
        self.print(f"Failed: {item}: {message}", style="red")


def describe_time_left(time_left: TimeLeft) -> str:
    """Return the time left in words.

    Examples
    --------
    >>> describe_time_left(TimeLeft(seconds=90, n_unknown=0))
    'about 2 min left'
    >>> describe_time_left(TimeLeft(seconds=90, n_unknown=3))
    'more than 2 min left'
    >>> describe_time_left(TimeLeft(seconds=0, n_unknown=3))
    'time left not known yet'
    """
    if time_left.n_unknown and not time_left.seconds:
        return "time left not known yet"
    about = "more than" if time_left.n_unknown else "about"
    return f"{about} {describe_seconds(time_left.seconds)} left"
