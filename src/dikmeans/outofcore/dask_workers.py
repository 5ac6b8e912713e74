"""Workers of a Dask cluster: images stay where they are, each with its warps.

Every result is a task whose inputs the scheduler knows: of a worker that dies, the shards are
computed again elsewhere, from the images or from the last anchored checkpoint on, and arrive at the
same numbers (`dikmeans.outofcore.lineage`). That takes as long as the lost worker had worked on
them since, shared among those that are left. What the scheduler remembers of a fit does not grow
with its iterations.
"""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.errors import DikmeansError
from dikmeans.io.atomic import atomic_link
from dikmeans.kmeans.dataset import Handle
from dikmeans.kmeans.shard import Shard, read_fits, write_fits
from dikmeans.outofcore.lineage import (
    AlignmentTask,
    Call,
    History,
    Part,
    Shared,
    Slot,
    anchor,
    calls_of,
)
from dikmeans.outofcore.scratch import Scratch
from dikmeans.outofcore.sources import Source
from dikmeans.registration.measure import PairFits

if TYPE_CHECKING:
    from distributed import Client, Future

# Sums that are added up in one place.
SUMS_AT_ONCE = 16
# Values (measures, centroids) that are with the workers and need not be sent again.
SHARED_AT_ONCE = 4
# Alignments of a shard that the scheduler remembers before they are anchored.
MAX_DEPTH = 8


def connected_client() -> Client | None:
    """The client of a Dask cluster, if the program is connected to one."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


class ClusterError(DikmeansError, RuntimeError):
    """The cluster cannot go on: its scheduler is lost, or all of its workers.

    Attributes
    ----------
    reason : str
        What Dask says.
    """

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(
            f"The Dask cluster was lost during the fit: {reason}. Start it again, "
            "connect a new client and call fit again: with the same `checkpoint` it continues "
            "after the last iteration that ended, without one it begins anew."
        )


class DaskWorkers:
    """The workers of a cluster; one call takes one of their threads.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    RuntimeError
        dikmeans is missing on a worker, or is of another version there.
    """

    n_jobs: int | None = 1
    in_memory = False

    def __init__(self, client: Client):
        self._client = client
        self._futures: weakref.WeakSet[Future] = weakref.WeakSet()
        self._scratch: list[Scratch] = []
        self._shared: deque[Shared] = deque(maxlen=SHARED_AT_ONCE)
        self._tasks: weakref.WeakSet[AlignmentTask] = weakref.WeakSet()
        self._newest: History | None = None
        self._anchored: Scratch | None = None
        with _explained():
            self._refuse_other_versions()

    def open(
        self, source: Source, weights: FloatArray | None, prepare: Callable[..., Shard]
    ) -> tuple[tuple[Handle, ...], IntArray]:
        """One shard per chunk of the array, computed once and then kept by the workers."""
        array = source.array.rechunk(dict.fromkeys(range(1, source.array.ndim), -1))
        lengths = [n for n in array.chunks[0] if n]
        bounds = np.cumsum([0, *lengths])
        blocks = [
            block for block, n in zip(array.to_delayed().ravel(), array.chunks[0], strict=True) if n
        ]
        rows = self._client.compute(blocks)
        self._futures.update(rows)
        shards = []
        for block, (first, stop) in zip(rows, pairwise(bounds), strict=True):
            weight = (
                None if weights is None else self._send(np.ascontiguousarray(weights[first:stop]))
            )
            shards.append(self.call(prepare, block, int(first), weight))
        return tuple(shards), bounds

    def call(self, function: Callable[..., object], *arguments: object) -> Handle:
        """A task of the scheduler, which sends it to where its largest argument is."""
        with _explained():
            future = self._submit(function, arguments)
        self._futures.add(future)
        return future

    def _submit(
        self, function: Callable[..., object], arguments: Sequence[object], **options: object
    ) -> Future:
        picks = [a.number if isinstance(a, Part) else None for a in arguments]
        plain = [_future(a) for a in arguments]
        if all(pick is None for pick in picks):
            return self._client.submit(function, *plain, pure=False, **options)
        return self._client.submit(_call_with_parts, function, picks, *plain, pure=False, **options)

    def call_parts(
        self, n_parts: int, function: Callable[..., object], *arguments: object
    ) -> tuple[Handle, ...]:
        """One task; its parts stay together, and whoever needs one picks it where they are.

        The first argument is a shard. One of the others may be the alignments before.
        """
        shard, *others = arguments
        before = next((a.task for a in others if isinstance(a, Part)), None)
        if before is not None and before.depth >= MAX_DEPTH:
            self._anchor([task for task in self._tasks if task.depth >= MAX_DEPTH])
        history = self._extended(before, (function, (Slot.SHARD, *map(_slot, others))))
        future = self.call(function, *arguments)
        base, depth = (None, 0) if before is None else (before.base, before.depth + 1)
        task = AlignmentTask(future, shard, base, history, depth)
        self._tasks.add(task)
        return tuple(Part(task, number) for number in range(n_parts))

    def _extended(self, before: AlignmentTask | None, call: Call) -> History:
        """The history after a call; one and the same for all shards that it is made on."""
        past, newest = None if before is None else before.history, self._newest
        if newest is None or newest.before is not past or not newest.ends_with(call):
            self._newest = newest = History(call, past)
        return newest

    def _anchor(self, tasks: Sequence[AlignmentTask]) -> None:
        """Let the scheduler forget how some alignments came about, but for their history."""
        from distributed import wait

        calls: dict[History | None, Handle] = {}
        anchored = []
        with _explained():
            wait([task.future for task in tasks])
            places = self._client.who_has([task.future for task in tasks])
            for task in tasks:
                if task.history not in calls:
                    calls[task.history] = self._send(calls_of(task.history))
                key = task.future.key
                where = {"workers": list(places[key]), "allow_other_workers": True}
                arguments = task.shard, task.base, calls[task.history], key
                options = where if places.get(key) else {}
                anchored.append(self._submit(anchor, arguments, **options))
            wait(anchored)
        for task, future in zip(tasks, anchored, strict=True):
            self._futures.add(future)
            task.future, task.depth = future, 0

    def share(self, value: object) -> Handle:
        """The value with the workers; the same object again is not sent again."""
        for known in self._shared:
            if known.value is value:
                return known
        shared = Shared(self._send(value), value)
        self._shared.append(shared)
        return shared

    def _send(self, value: object) -> Handle:
        """A task of its own: unlike scattered data it comes back if the worker that has it dies."""
        with warnings.catch_warnings():
            # Dask would rather have large values scattered
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.call(_identity, value)

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """Wait for the results."""
        futures = [_future(self._picked(handle)) for handle in handles]
        with _explained():
            return self._client.gather(futures)

    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum, added in groups on the workers."""
        sums = [self._picked(handle) for handle in handles]
        while len(sums) > 1:
            sums = [
                self.call(_add_up, sums[first : first + SUMS_AT_ONCE])
                for first in range(0, len(sums), SUMS_AT_ONCE)
            ]
        return self.fetch(sums)[0]

    def _picked(self, handle: Handle) -> Handle:
        """A result that may be sent elsewhere, without the other results of its task."""
        return self.call(_identity, handle) if isinstance(handle, Part) else handle

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Every worker writes what it has: the folder must be on a file system that all share."""
        places = [path.absolute() for path in paths]
        calls = [self.call(_write, *file) for file in zip(fits, places, strict=True)]
        for place, n_bytes in zip(places, self.fetch(calls), strict=True):
            if not place.is_file() or place.stat().st_size != n_bytes:
                raise OSError(
                    f"A worker has written {place}, but this program cannot see it. {_SHARED}"
                )
        self._anchor_in_files([part.task for part in fits if isinstance(part, Part)], places)

    def _anchor_in_files(self, tasks: Sequence[AlignmentTask], places: Sequence[Path]) -> None:
        """Where many calls led to alignments that are in files now, begin their history there."""
        if all(task.depth < MAX_DEPTH for task in tasks):
            return
        before, self._anchored = self._anchored, _scratch_beside(places[0])
        for task, place in zip(tasks, places, strict=True):
            task.base = _read, (self._linked(place, self._anchored), None)
            task.history = None
        self._anchor(tasks)
        if before is not None:
            before.close()

    def _linked(self, path: Path, scratch: Scratch) -> Path:
        """A second name of a file, which stays when the first is gone."""
        place = scratch.new_path()
        with scratch.explained():
            atomic_link(path, place)
        return place

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Every worker reads what it will have.

        The files get a second name beside the first as long as the fit takes: of a worker that
        dies, others read them again.
        """
        scratch = _scratch_beside(paths[0])
        self._scratch.append(scratch)
        handles: list[Handle] = []
        for path, shape in zip(paths, shapes, strict=True):
            arguments = self._linked(path, scratch), shape
            task = AlignmentTask(self.call(_read, *arguments), None, (_read, arguments), None, 0)
            handles.append(Part(task, 0))
        # damaged files are refused here and now
        self.fetch(self.call(len, fits) for fits in handles)
        return handles

    def close(self) -> None:
        """Let the cluster forget all results."""
        self._shared.clear()
        for future in list(self._futures):
            future.release()
        for scratch in [*self._scratch, *([] if self._anchored is None else [self._anchored])]:
            scratch.close()

    def _refuse_other_versions(self) -> None:
        required = version("dikmeans")
        for worker, there in self._client.run(version, "dikmeans", on_error="return").items():
            if isinstance(there, PackageNotFoundError):
                raise RuntimeError(
                    f"dikmeans is not installed where the Dask worker {worker} runs. Install "
                    f"dikmeans=={required} there."
                )
            if isinstance(there, str) and there != required:
                raise RuntimeError(
                    f"The Dask worker {worker} has dikmeans {there}, but this program has "
                    f"{required}: install the same version everywhere."
                )


_SHARED = (
    "With a Dask cluster the folder must be on a file system that all workers and this program "
    "share."
)


@contextmanager
def _explained() -> Iterator[None]:
    """A block that needs the cluster; if that is lost, the error says so, and what to do."""
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    try:
        yield
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise ClusterError(
            f"the connection to its scheduler broke ({_first_line(error)})"
        ) from error
    except (KilledWorker, NoValidWorkerError, NoWorkerError) as error:
        raise ClusterError(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """What Dask says, without its hints: they are for whoever calls it directly."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")


def _scratch_beside(path: Path) -> Scratch:
    return Scratch("the alignments of a checkpoint", path.absolute().parent)


def _future(handle: Handle) -> Handle:
    """What Dask knows of a handle; values are themselves."""
    if isinstance(handle, Part):
        return handle.task.future
    return handle.future if isinstance(handle, Shared) else handle


def _slot(argument: object) -> object:
    """An argument as a history keeps it."""
    if isinstance(argument, Part):
        return Slot.STATE
    return argument.value if isinstance(argument, Shared) else argument


def _identity(value: object) -> object:
    return value


def _call_with_parts(
    function: Callable[..., object], picks: list[int | None], *results: Any
) -> Any:
    """Call a function with one part of each argument for which `picks` has its number."""
    arguments = zip(results, picks, strict=True)
    return function(*(result if pick is None else result[pick] for result, pick in arguments))


def _add_up(values: list[Any]) -> Any:
    return reduce(add, values)


def _write(fits: PairFits, path: Path) -> int:
    """Write alignments where a worker is; returns the size of the file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {path.parent} where a Dask worker runs. {_SHARED}"
        )
    write_fits(path, fits)
    return path.stat().st_size


def _read(path: Path, shape: tuple[int, int] | None) -> tuple[PairFits]:
    """Alignments from a file where a worker is, as the only result."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path} where a Dask worker runs. {_SHARED}")
    return (read_fits(path, shape),)
