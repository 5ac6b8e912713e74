"""Cancel work that is in progress: whoever waits for it may change their mind.

`run_threads` asks before every part that it works on, so whatever is computed inside a
`cancellable` block stops within the time of one part, wherever it has got to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from dikmeans.errors import DikmeansError

IsCancelled: TypeAlias = Callable[[], bool]
"""Says whether to stop; called often, from any thread."""


class Cancelled(DikmeansError):  # noqa: N818 -- not an error
    """Someone has asked to stop; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("It was cancelled; nothing was changed.")


def _never() -> bool:
    return False


_asked: ContextVar[IsCancelled] = ContextVar("is_cancelled", default=_never)


@contextmanager
def cancellable(is_cancelled: IsCancelled | None) -> Iterator[None]:
    """A block in which `run_threads` raises `Cancelled` once `is_cancelled` says so.

    Examples
    --------
    >>> from dikmeans.parallel.threads import run_threads
    >>> with cancellable(lambda: True):
    ...     run_threads(print, [1, 2], 1)
    Traceback (most recent call last):
    ...
    dikmeans.parallel.cancel.Cancelled: It was cancelled; nothing was changed.
    """
    if is_cancelled is None:
        yield
        return
    token = _asked.set(is_cancelled)
    try:
        yield
    finally:
        _asked.reset(token)


def is_cancelled_here() -> IsCancelled:
    """What to ask on behalf of the calling thread, also from threads that it starts."""
    return _asked.get()
