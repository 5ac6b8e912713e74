"""A progress line for the few steps that take long the first time."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

_BAR_CELLS = 30
_SECONDS_BETWEEN_REDRAWS = 0.1


class Progress:
    """Draw ``what [#####     ] 12/60`` on a terminal; say nothing elsewhere, nor of what is quick.

    Parameters
    ----------
    what : str
        What is going on.
    total : int or None
        How many units make the whole; None if nobody knows.
    stream : text file, optional
        Where to draw, by default the standard error stream.
    patience : float, default=0.5
        Seconds before the first drawing.

    Examples
    --------
    >>> with Progress("counting", 3) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.done
    3
    """

    def __init__(
        self,
        what: str,
        total: int | None,
        stream: TextIO | None = None,
        patience: float = 0.5,
    ) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self._stream = sys.stderr if stream is None else stream
        self._visible = self._stream.isatty()
        self._next_drawing = time.monotonic() + patience
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._drawn:
            self._draw()
            self._stream.write("\n")

    def advance(self, units: int = 1) -> None:
        """Count `units` more as done."""
        self.done += units
        if self._visible and time.monotonic() >= self._next_drawing:
            self._draw()

    def _draw(self) -> None:
        self._next_drawing = time.monotonic() + _SECONDS_BETWEEN_REDRAWS
        self._drawn = True
        if self.total:
            filled = min(_BAR_CELLS, _BAR_CELLS * self.done // self.total)
            line = f"{self.what} [{'#' * filled:<{_BAR_CELLS}}] {self.done:,}/{self.total:,}"
        else:
            line = f"{self.what} {self.done:,}"
        self._stream.write("\r" + line)
        self._stream.flush()
