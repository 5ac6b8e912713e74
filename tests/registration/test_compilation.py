"""The first compilation is announced, and nothing else."""

import logging
import subprocess
import sys

from numba import njit
from numba.core.event import Event, EventStatus

from dikmeans.registration.compilation import COMPILING, _Announcement

# Measures of two threads that start together, and the smallest of our compiled functions.
PROGRAM = """
from threading import Barrier, Thread
import numpy as np
from dikmeans.kmeans.centroid_update import _add_in_order
from dikmeans.registration import MeasureSpec, compilation

together, register = Barrier(2, timeout=60), compilation.register
compilation.register = lambda *given: (together.wait(), register(*given))
threads = [Thread(target=MeasureSpec().build, args=[(6, 6)]) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
_add_in_order(np.zeros((1, 4)), np.ones((3, 4)), np.zeros(3, int), np.ones(3))
"""


def test_the_first_of_our_compilations_is_announced_once(caplog):
    from dikmeans.registration.sampling import locate

    announcement, anonymous = _Announcement(), njit(lambda x: x)
    anonymous.py_func.__module__ = None
    ours, theirs, nobodys = (
        Event("numba:compile", EventStatus.START, {"dispatcher": function})
        for function in (locate, njit(lambda x: x), anonymous)
    )
    with caplog.at_level(logging.WARNING, logger="dikmeans"):
        announcement.notify(theirs)
        announcement.notify(nobodys)
        assert not caplog.messages
        for _ in range(2):
            announcement.notify(ours)
    assert caplog.messages == [COMPILING]


def test_a_program_is_told_on_an_empty_cache_and_never_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stderr
        for _ in range(2)
    )
    assert first.count(COMPILING) == 1
    assert COMPILING not in second
