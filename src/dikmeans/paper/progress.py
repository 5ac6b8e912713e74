"""What is reported while runs or figures are made, one item after another; and Ctrl-C meanwhile."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning


class TimeLeft(NamedTuple):
    """An estimate of the time that the remaining items take.

    Attributes
    ----------
    seconds : float
        Of the items that can be estimated by earlier ones.
    n_unknown : int
        Number of the others.
    """

    seconds: float
    n_unknown: int


class WorkProgress:
    """Receives the progress of work that consists of items; this one ignores it."""

    def planned(self, n_done: int, n_pending: int) -> None:
        """Receive how many items exist already and how many are to be made."""

    def started(self, item: str, time_left: TimeLeft | None = None) -> None:
        """Receive the item that is made now; `time_left` includes it."""

    def step(self, description: str) -> None:
        """Receive what is being done, for the current item or before the first."""

    def finished(self, message: str = "") -> None:
        """Receive the end of an item; without a message nothing was made."""

    def failed(self, item: str, error: Exception) -> None:
        """Receive the error that ended an item."""


@contextlib.contextmanager
def interrupts_propagate() -> Iterator[None]:
    """Raise KeyboardInterrupt after Ctrl-C even if an estimator returned its best result so far.

    That is the right answer at a prompt, but an unfinished fit is not a run of the protocol.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    interrupted = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, remember)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The fit was interrupted", ConvergenceWarning)
            yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if interrupted:
            raise KeyboardInterrupt
