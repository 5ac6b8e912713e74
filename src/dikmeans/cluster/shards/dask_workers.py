"""Workers of a Dask cluster: images stay where they are, each with its warm starts.

Every result is a task whose inputs the scheduler knows: of a worker that dies, the shards are computed anew
elsewhere, from the images on, and arrive at the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from dikmeans.cluster.shards.source import Source
from dikmeans.cluster.shards.workers import Handle, Workers

# Sums that are added up in one place.
SUMS_AT_ONCE = 16


def current_client() -> Any:
    """The client of a Dask cluster, if the program is connected to one."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


class DaskWorkers(Workers):
    """The workers of a cluster; a call takes one of their threads.

    Parameters
    ----------
    client : distributed.Client
    """

    n_jobs = 1

    def __init__(self, client: Any):
        self._client = client

    def parts(self, source: Source, most: int) -> list[slice]:
        """The chunks of the array."""
        bounds = np.cumsum([0, *source.array.chunks[0]])
        return [slice(int(a), int(b)) for a, b in pairwise(bounds) if b > a]

    def shards(self, source: Source, parts: Sequence[slice], prepare: Callable[..., Any]) -> list[Handle]:
        """Computed once, then kept by the workers."""
        array = source.array.rechunk(dict.fromkeys(range(1, source.array.ndim), -1))
        blocks = [block for block, n in zip(array.to_delayed().ravel(), array.chunks[0], strict=True) if n]
        rows = self._client.compute(blocks)
        return [self.call(prepare, some, part.start) for some, part in zip(rows, parts, strict=True)]

    def split(self, array: np.ndarray, parts: Sequence[slice]) -> list[Handle]:
        """Sent once."""
        return [self.share(np.ascontiguousarray(array[part])) for part in parts]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """A task of the scheduler, which sends it to where its largest argument is."""
        return self._client.submit(function, *arguments, pure=False)

    def share(self, value: Any) -> Handle:
        """A task of its own: unlike scattered data it comes back if the worker that has it dies."""
        return self._client.submit(_itself, value, pure=False)

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """Wait for the results."""
        return self._client.gather(list(handles))

    def total(self, handles: Iterable[Handle]) -> Any:
        """Add in groups, on the workers: one sum comes here."""
        sums = list(handles)
        while len(sums) > 1:
            sums = [
                self.call(_add_up, sums[first : first + SUMS_AT_ONCE])
                for first in range(0, len(sums), SUMS_AT_ONCE)
            ]
        return self._client.gather(sums[0])


def _itself(value: Any) -> Any:
    return value


def _add_up(values: list[Any]) -> Any:
    return reduce(add, values)
