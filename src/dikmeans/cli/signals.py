"""Ctrl-C and SIGTERM (on Windows: Ctrl-Break) during a fit: they stop the fit, not the command."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

_NAMES = ("SIGINT", "SIGTERM", "SIGBREAK")
_SIGNALS = tuple(signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__)


class StopSignals:
    """While entered, signals to stop are recorded and raised as KeyboardInterrupt.

    Attributes
    ----------
    received : int or None
        The first signal that came.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[
            signal.Signals, Callable[[int, FrameType | None], object] | int | None
        ] = {}

    @property
    def exit_code(self) -> int:
        """What a shell expects of a program that a signal has stopped; 0 if none has."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread only.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = self.received or number
        raise KeyboardInterrupt
