"""Threads: one level of them, ours.

The compiled loops release the interpreter lock, so plain threads use all cores.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from dikmeans.parallel.cancel import Cancelled, is_cancelled_here
from dikmeans.parallel.cores import Share

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_threads(
    job: Callable[[Part], Result], parts: Sequence[Part], n_jobs: int | None
) -> list[Result]:
    """Call `job` on every part, on at most `n_jobs` threads; results in the order of the parts.

    The caller is one of the threads. A helper ends when there is nothing left to do, or when others
    have joined and the call's share of the cores has become smaller (see `Share`).

    Raises
    ------
    Cancelled
        The block that it is called from was cancelled; see `dikmeans.parallel.cancel`.
    """
    is_cancelled = is_cancelled_here()
    waiting = deque(enumerate(parts))
    results: list[Any] = [None] * len(parts)

    def work(rank: int) -> None:
        try:
            while rank < share.threads:
                try:
                    place, part = waiting.popleft()
                except IndexError:
                    return
                if is_cancelled():
                    raise Cancelled
                results[place] = job(part)
        except BaseException:  # also Ctrl-C: nobody works through what is still waiting
            waiting.clear()
            raise

    with single_blas_thread(), Share(n_jobs) as share:
        n_helpers = min(share.threads, len(parts)) - 1
        if n_helpers < 1:
            work(0)
            return results
        with ThreadPoolExecutor(n_helpers) as pool:
            helpers = [pool.submit(work, 1 + helper) for helper in range(n_helpers)]
            try:
                work(0)
                for helper in helpers:
                    helper.result()
            except BaseException:
                waiting.clear()
                raise
    return results


@contextlib.contextmanager
def single_blas_thread() -> Iterator[None]:
    """A context in which BLAS does not start threads: below our own they would fight for cores.

    On matrices as small as ours they cost more than they bring anyway. The limit is the process's,
    so calls from several threads share it: the first sets it, the last gives back what was there
    before.
    """
    _limit.take()
    try:
        yield
    finally:
        _limit.give_back()


class _SharedLimit:
    """One thread for BLAS as long as anybody wants it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._takers = 0
        self._limiter: Any = None

    def take(self) -> None:
        with self._lock:
            if self._takers == 0:
                self._limiter = _thread_pools().limit(limits=1, user_api="blas")
            self._takers += 1

    def give_back(self) -> None:
        with self._lock:
            self._takers = max(self._takers - 1, 0)
            if self._takers == 0 and self._limiter is not None:
                self._limiter.restore_original_limits()
                self._limiter = None

    def reset_after_fork(self) -> None:
        """In a child process the threads that took the limit do not exist."""
        self._lock = threading.Lock()
        if self._limiter is not None:
            self._limiter.restore_original_limits()
        self._takers, self._limiter = 0, None


_limit = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.reset_after_fork)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough
