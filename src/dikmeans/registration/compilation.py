"""A word to whoever waits: the first alignment on a machine compiles its loops.

numba keeps compiled loops in files, so that each is compiled once per installation. When one is, a
message goes to the log (``logging.getLogger("dikmeans")``), which Python shows on standard error
unless the program has other plans for its log.
"""

from __future__ import annotations

import logging
from functools import cache

from numba.core.event import Event, Listener, register

COMPILING = (
    "dikmeans is compiling inner loops for this machine. That takes some seconds; the results are "
    "kept for later runs."
)


class _Announcement(Listener):
    """Says that one of our functions is being compiled, the first time that one is."""

    def __init__(self) -> None:
        self._is_made = False

    def on_start(self, event: Event) -> None:
        """A function is compiled; one that is found in a file is not."""
        function = getattr(event.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", None) or ""  # made by `exec`, it has none
        if module.startswith("dikmeans.") and not self._is_made:
            self._is_made = True
            logging.getLogger("dikmeans").warning(COMPILING)

    def on_end(self, event: Event) -> None:
        """Nothing to say."""


_announcement = _Announcement()  # one for all threads: each may get as far as to register it


@cache
def announce_compilation() -> None:
    """Have the first compilation in this process announced."""
    register("numba:compile", _announcement)
