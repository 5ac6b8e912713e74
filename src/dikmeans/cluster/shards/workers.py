"""Who works on shards: this process, with the shards on disk.

Workers take a function and its arguments and give back a *handle* of the result, which may be an argument of
further calls. What is behind a handle stays where it was made until it is fetched.
"""

from __future__ import annotations

import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from dikmeans.align.aligner import Fits
from dikmeans.cluster.shards.source import Source

Handle = Any


class Workers(ABC):
    """Carry out calls on shards."""

    n_jobs: int | None
    """Threads of one call."""

    @abstractmethod
    def parts(self, source: Source, most: int) -> list[slice]:
        """How the images are divided into shards, if `most` of them fit into memory well."""

    @abstractmethod
    def shards(self, source: Source, parts: Sequence[slice], prepare: Callable[..., Any]) -> list[Handle]:
        """The images of each part: ``prepare(rows, number of the first)``."""

    @abstractmethod
    def split(self, array: np.ndarray, parts: Sequence[slice]) -> list[Handle]:
        """The values of an array that belong to each part."""

    @abstractmethod
    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Call a function, where its arguments are."""

    @abstractmethod
    def share(self, value: Any) -> Handle:
        """A value that many calls will need."""

    @abstractmethod
    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """Bring results here."""

    @abstractmethod
    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum of results, in an order that does not depend on when they are there."""


@dataclass(frozen=True)
class _Rows:
    """Images that are read whenever they are needed."""

    source: Source
    part: slice
    prepare: Callable[..., np.ndarray]

    def load(self) -> np.ndarray:
        return self.prepare(self.source.read(self.part), self.part.start)


@dataclass(frozen=True)
class _Values:
    """Part of an array that is here."""

    array: np.ndarray
    part: slice

    def load(self) -> np.ndarray:
        return np.ascontiguousarray(self.array[self.part])


class StoredFits:
    """Alignments that lie in a file of their own, which disappears with the last who knows of it."""

    def __init__(self, path: Path, fits: Fits):
        save_file({name: np.ascontiguousarray(array) for name, array in fits._asdict().items()}, path)
        self.path = path
        weakref.finalize(self, path.unlink, missing_ok=True)

    def load(self) -> Fits:
        """Read them."""
        return read_fits(self.path)


def read_fits(path: Path) -> Fits:
    """Alignments as `StoredFits` writes them."""
    return Fits(**load_file(path))


class LocalWorkers(Workers):
    """The present process: a shard at a time, images read when needed, alignments on disk.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    """

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs
        self._scratch = tempfile.TemporaryDirectory(prefix="dikmeans-", ignore_cleanup_errors=True)
        self._names = count()

    def parts(self, source: Source, most: int) -> list[slice]:
        """As many at a time as fit."""
        return source.parts(most)

    def split(self, array: np.ndarray, parts: Sequence[slice]) -> list[Handle]:
        """They stay here."""
        return [_Values(array, part) for part in parts]

    def shards(self, source: Source, parts: Sequence[slice], prepare: Callable[..., Any]) -> list[Handle]:
        """The rows are read at every call that needs them."""
        return [_Rows(source, part, prepare) for part in parts]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Do it now; alignments go to disk, other results are their own handles."""
        values = [a.load() if isinstance(a, (_Rows, _Values, StoredFits)) else a for a in arguments]
        result = function(*values)
        if not isinstance(result, Fits):
            return result
        return StoredFits(Path(self._scratch.name) / f"{next(self._names)}.safetensors", result)

    def share(self, value: Any) -> Handle:
        """It is here already."""
        return value

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """They are here already."""
        return list(handles)

    def total(self, handles: Iterable[Handle]) -> Any:
        """Add as they come."""
        return reduce(add, handles)


def workers_for(source: Source, n_jobs: int | None) -> Workers:
    """The workers of the Dask cluster, if the images are a Dask array and there is one; else this process."""
    if hasattr(source.array, "dask"):
        from dikmeans.cluster.shards.dask_workers import DaskWorkers, current_client

        client = current_client()
        if client is not None:
            return DaskWorkers(client)
    return LocalWorkers(n_jobs)
