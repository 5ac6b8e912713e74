"""What the user sees while figures are made: a bar with what is being done, a line a figure."""

from __future__ import annotations

import time

from rich.progress import MofNCompleteColumn, TimeElapsedColumn
from rich.text import Text

from dikmeans.cli.bar import BarOnTerminal
from dikmeans.cli.console import describe_seconds
from dikmeans.paper.figures import FigureListener, Gallery, PaperFigure


class FiguresOnTerminal(BarOnTerminal, FigureListener):
    """Shows progress on standard error while it is entered.

    Parameters
    ----------
    gallery : Gallery
        Where the figures go.
    """

    def __init__(self, gallery: Gallery) -> None:
        super().__init__(MofNCompleteColumn(), TimeElapsedColumn())
        self._gallery = gallery
        self._name = ""
        self._begin = 0.0
        self._n_made = 0

    def step(self, text: str) -> None:
        """Show what is being done."""
        self._bar.update(self._task, description=f"{self._name}: {text}" if self._name else text)

    def planned(self, n_done: int, n_pending: int) -> None:
        """Say how much there is to do."""
        self._bar.update(self._task, total=n_pending)
        self._console.print(f"{n_pending} figures to make, {n_done} are there already.")

    def begins(self, figure: PaperFigure) -> None:
        """Start the clock of a figure."""
        self._name, self._begin = figure.name, time.perf_counter()
        self.step("")

    def made(self, figure: PaperFigure) -> None:
        """Leave a line for a finished figure."""
        self._bar.advance(self._task)
        self._n_made += 1
        seconds = describe_seconds(time.perf_counter() - self._begin)
        self._console.print(Text(f"{figure.name}: {seconds}"))

    def failed(self, figure: PaperFigure, error: Exception) -> None:
        """Leave a line for one that could not be made."""
        self._bar.advance(self._task)
        message = " ".join(f"{type(error).__name__}: {error}".split())
        self._console.print(Text(f"Failed: {figure.name}: {message}", style="red"))

    def ended(self) -> None:
        """Say where things are."""
        self._console.print(Text(f"Figures, and figures.json on what made them: {self._gallery.folder}."))

    def stopped(self) -> None:
        """Say that the work was stopped, and what is kept."""
        self._console.print(
            Text(
                f"Stopped. {self._n_made} figures made now are in {self._gallery.folder}; "
                "the same command goes on."
            )
        )
