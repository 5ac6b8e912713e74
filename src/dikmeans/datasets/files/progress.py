"""Progress bars for slow steps, drawn on standard error only if that is a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")


def track(items: Sequence[Item], description: str) -> Iterable[Item]:
    """The items one by one, with a progress bar that vanishes at the end."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    return progress.track(
        items, description, console=console, transient=True, disable=not console.is_terminal
    )


@contextlib.contextmanager
def download_progress(description: str) -> Iterator[DownloadProgress]:
    """A progress bar of bytes that vanishes at the end of the block."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    console = Console(stderr=True)
    with Progress(
        "{task.description}",
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        yield DownloadProgress(progress, description)


class DownloadProgress:
    """A progress bar of bytes with the attributes and methods that `pooch` calls."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None)

    @property
    def total(self) -> float | None:
        """Bytes of the file; None or 0 if unknown. Setting it starts the bar again."""
        return self._progress.tasks[self._task].total

    @total.setter
    def total(self, total: int) -> None:
        self._progress.reset(self._task, total=total or None)

    def update(self, n_bytes: int) -> None:
        """Count bytes as done."""
        self._progress.advance(self._task, n_bytes)

    def reset(self) -> None:
        """Count from zero again."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Do nothing: whoever made the progress display ends it."""
