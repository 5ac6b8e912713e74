"""Ctrl-C and SIGTERM during a fit: both end the search, neither the command."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """While entered, a signal to stop is remembered and raised as KeyboardInterrupt.

    Attributes
    ----------
    received : int or None
        The first signal that came.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """What a shell expects of a program that a signal has stopped; 0 if none has."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        if (
            threading.current_thread() is threading.main_thread()
        ):  # Python hears signals nowhere else
            self._before = {number: signal.signal(number, self._hear) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.received = self.received or number
        raise KeyboardInterrupt
