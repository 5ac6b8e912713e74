"""A bar on standard error that is there while a block runs."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from dikmeans.cli.console import make_console


class BarOnTerminal:
    """One task's bar: what is being done, the bar, and whatever columns follow.

    On anything but a terminal nothing is drawn.

    Parameters
    ----------
    *columns : ProgressColumn
        After description and bar.
    description : str
        What is being done at first.
    quiet : bool
        Draw nothing.
    **fields
        First values of the columns' own fields.
    """

    def __init__(
        self, *columns: ProgressColumn, description: str = "", quiet: bool = False, **fields: Any
    ):
        self._console = make_console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            *columns,
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task: TaskID = self._bar.add_task(description, total=None, **fields)

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
