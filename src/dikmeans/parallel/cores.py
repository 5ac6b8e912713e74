"""How many threads a call may use: its share of the cores.

What a process may use at most is what its surroundings leave to it: the cores it may run on
(affinity, container), what ``OMP_NUM_THREADS`` says (by which joblib tells its worker processes
their part), or the threads of the Dask worker it is. Calls that are under way in one process at the
same time, from any threads, divide that among themselves.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, ClassVar, Self

from joblib import cpu_count
from joblib.parallel import BACKENDS, get_active_backend

_ENVIRONMENT = "OMP_NUM_THREADS"


class Share:
    """The threads of one call, for the length of a block.

    Parameters
    ----------
    n_jobs : int or None
        A positive number is used as given. -1 is the whole share, -2 that of one core less, and
        so on. None is what `joblib.parallel_config` says, or 1.

    Examples
    --------
    >>> with Share(3) as share:
    ...     share.threads
    3
    """

    _under_way: ClassVar[set[Share]] = set()  # adding and discarding are atomic

    def __init__(self, n_jobs: int | None):
        backend, configured = get_active_backend(prefer="threads")
        if n_jobs is None:
            n_jobs = configured or 1
        if n_jobs == 0:
            raise ValueError("n_jobs=0: expected a number of threads, or -1 for all cores.")
        if isinstance(
            backend, BACKENDS["sequential"]
        ):  # joblib's word for: enough workers above us
            n_jobs = 1
        worker = _dask_worker()
        self._asked = n_jobs
        self._tasks = 1 if worker is None else worker.state.executing_count
        # as given: there is no need to look at the machine
        self._most = n_jobs if n_jobs > 0 else max(1, _most_threads(worker) + 1 + n_jobs)

    @property
    def threads(self) -> int:
        """How many threads the call may use now; fewer than before if others have joined."""
        if self._asked > 0:
            return self._asked
        return max(1, self._most // max(len(Share._under_way), self._tasks))

    def __enter__(self) -> Self:
        Share._under_way.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        Share._under_way.discard(self)


def _most_threads(worker: Any) -> int:
    """What all calls of this process together may use."""
    limits = [cpu_count()]  # knows affinity, containers and LOKY_MAX_CPU_COUNT
    first = os.environ.get(_ENVIRONMENT, "").split(",")[0].strip()  # others are for nested levels
    if first.isdecimal() and int(first) > 0:
        limits.append(int(first))
    if worker is not None:
        limits.append(worker.state.nthreads)
    return min(limits)


def _dask_worker() -> Any:
    """The Dask worker that runs the present task, if one does."""
    distributed = sys.modules.get("distributed")  # without it loaded there is no worker
    if distributed is None:
        return None
    try:
        return distributed.get_worker()
    except ValueError:
        return None


if hasattr(os, "register_at_fork"):  # the threads that were calling are not in the child
    os.register_at_fork(after_in_child=Share._under_way.clear)
