"""Workers of a Dask cluster: images stay where they are, each with its warps.

Every result is a task whose inputs the scheduler knows: of a worker that dies, the shards are
computed again elsewhere, from the images on, and arrive at the same numbers. That takes as long as
the lost worker had worked on them, shared among those that are left.
"""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.io.atomic import atomic_link
from dikmeans.kmeans.dataset import Handle
from dikmeans.kmeans.shard import Shard, read_fits, write_fits
from dikmeans.outofcore.scratch import Scratch
from dikmeans.outofcore.sources import Source
from dikmeans.registration.measure import PairFits

if TYPE_CHECKING:
    from distributed import Client

# Sums that are added up in one place.
SUMS_AT_ONCE = 16
# Values (measures, centroids) that are with the workers and need not be sent again.
SHARED_AT_ONCE = 4


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


class Part(NamedTuple):
    """One of the results of a task that returns several."""

    whole: Any
    number: int


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
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()
        self._scratch: list[Scratch] = []
        self._shared: deque[tuple[object, Handle]] = deque(maxlen=SHARED_AT_ONCE)
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
        picks = [a.number if isinstance(a, Part) else None for a in arguments]
        wholes = [a.whole if isinstance(a, Part) else a for a in arguments]
        if not any(isinstance(a, Part) for a in arguments):
            future = self._client.submit(function, *arguments, pure=False)
        else:
            future = self._client.submit(_call_with_parts, function, picks, *wholes, pure=False)
        self._futures.add(future)
        return future

    def call_parts(
        self, n_parts: int, function: Callable[..., object], *arguments: object
    ) -> tuple[Handle, ...]:
        """One task; its parts stay together, and whoever needs one picks it where they are."""
        whole = self.call(function, *arguments)
        return tuple(Part(whole, number) for number in range(n_parts))

    def share(self, value: object) -> Handle:
        """The value with the workers; the same object again is not sent again."""
        for known, handle in self._shared:
            if known is value:
                return handle
        handle = self._send(value)
        self._shared.append((value, handle))
        return handle

    def _send(self, value: object) -> Handle:
        """A task of its own: unlike scattered data it comes back if the worker that has it dies."""
        with warnings.catch_warnings():
            # Dask would rather have large values scattered
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.call(_itself, value)

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """Wait for the results."""
        return self._client.gather([self._picked(handle) for handle in handles])

    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum, added in groups on the workers."""
        sums = [self._picked(handle) for handle in handles]
        while len(sums) > 1:
            sums = [
                self.call(_add_up, sums[first : first + SUMS_AT_ONCE])
                for first in range(0, len(sums), SUMS_AT_ONCE)
            ]
        return self._client.gather(sums[0])

    def _picked(self, handle: Handle) -> Handle:
        """A result that may be sent elsewhere, without the other parts of its whole."""
        return self.call(_itself, handle) if isinstance(handle, Part) else handle

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Every worker writes what it has: the folder must be on a file system that all share."""
        places = [path.absolute() for path in paths]
        calls = [self.call(_write, *file) for file in zip(fits, places, strict=True)]
        for place, n_bytes in zip(places, self.fetch(calls), strict=True):
            if not place.is_file() or place.stat().st_size != n_bytes:
                raise OSError(
                    f"A worker has written {place}, but this program cannot see it. {_SHARED}"
                )

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Every worker reads what it will have.

        The files get a second name beside the first as long as the fit takes: of a worker that
        dies, others read them again.
        """
        scratch = Scratch("the alignments of a checkpoint", paths[0].absolute().parent)
        self._scratch.append(scratch)
        handles: list[Handle] = []
        for path, shape in zip(paths, shapes, strict=True):
            place = scratch.new_path()
            with scratch.explained():
                atomic_link(path, place)
            handles.append(self.call(_read, place, shape))
        self.fetch(
            self.call(len, fits) for fits in handles
        )  # damaged files are refused here and now
        return handles

    def close(self) -> None:
        """Let the cluster forget all results."""
        self._shared.clear()
        for future in list(self._futures):
            future.release()
        for scratch in self._scratch:
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


def _itself(value: object) -> object:
    return value


def _call_with_parts(function: Callable[..., object], picks: list[int | None], *wholes: Any) -> Any:
    """Call a function with one part of each argument for which `picks` has its number."""
    arguments = zip(wholes, picks, strict=True)
    return function(*(whole if pick is None else whole[pick] for whole, pick in arguments))


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


def _read(path: Path, shape: tuple[int, int]) -> PairFits:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path} where a Dask worker runs. {_SHARED}")
    return read_fits(path, shape)
