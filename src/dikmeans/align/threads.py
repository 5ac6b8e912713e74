"""Threads: one level of them, ours.

The compiled loops release the interpreter lock, so plain threads use all cores.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController


def run_threads(job: Any, parts: list[Any], n_jobs: int | None) -> list[Any]:
    """Call `job` on every part, on `n_jobs` threads; results in the order of the parts."""
    n_threads = min(effective_n_jobs(n_jobs), len(parts))
    with single_blas_thread():
        if n_threads == 1:
            return [job(part) for part in parts]
        with ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(job, part) for part in parts]
            try:
                return [future.result() for future in futures]
            except BaseException:  # also Ctrl-C: do not work through what is still waiting
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def single_blas_thread() -> Any:
    """A context in which BLAS does not start threads: below our own they would fight for cores.

    On matrices as small as ours they cost more than they bring anyway.
    """
    return _thread_pools().limit(limits=1, user_api="blas")


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough
