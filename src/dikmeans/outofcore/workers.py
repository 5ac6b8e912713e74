"""Who works on shards: this process, with the shards on disk.

Workers take a function and its arguments and give back a *handle* of the result, which may be an argument of
further calls. What is behind a handle stays where it was made until it is fetched.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.registration.warped_measure import Fits
from dikmeans.io.atomic import atomic_link
from dikmeans.outofcore.scratch import Scratch
from dikmeans.outofcore.sources import DaskSource, Source
from dikmeans.outofcore.fits_file import put_aside, read_fits

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
    def split(self, array: np.ndarray | None, parts: Sequence[slice]) -> list[Handle]:
        """The values of an array, or ones, that belong to each part."""

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

    @abstractmethod
    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Keep the alignments of each shard in a file of its own, flushed to the disk."""

    @abstractmethod
    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Alignments that `write` has kept, of that many images with that many centroids each.

        The files may be deleted afterwards.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back all room; handles are worth nothing from then on."""


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
    """Part of an array that is here, or of ones."""

    array: np.ndarray | None
    part: slice

    def load(self) -> np.ndarray:
        if self.array is None:
            return np.ones(self.part.stop - self.part.start)
        return np.ascontiguousarray(self.array[self.part])


class StoredFits:
    """Alignments that lie in a file of their own, which disappears with the last who knows of it."""

    def __init__(self, path: Path):
        self.path = path
        weakref.finalize(self, path.unlink, missing_ok=True)

    def load(self) -> Fits:
        """Read them."""
        return read_fits(self.path)


class LocalWorkers(Workers):
    """The present process: a shard at a time, images read when needed, alignments on disk.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    """

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs
        self._scratch = Scratch("the alignments of all images")

    def parts(self, source: Source, most: int) -> list[slice]:
        """As many at a time as fit."""
        return source.parts(most)

    def shards(self, source: Source, parts: Sequence[slice], prepare: Callable[..., Any]) -> list[Handle]:
        """The rows are read at every call that needs them."""
        return [_Rows(source, part, prepare) for part in parts]

    def split(self, array: np.ndarray | None, parts: Sequence[slice]) -> list[Handle]:
        """They stay here."""
        return [_Values(array, part) for part in parts]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Do it now; alignments go to disk, other results are their own handles."""
        values = [a.load() if isinstance(a, (_Rows, _Values, StoredFits)) else a for a in arguments]
        result = function(*values)
        if not isinstance(result, Fits):
            return result
        stored = StoredFits(self._scratch.new_path())
        with self._scratch.explained():
            put_aside(stored.path, result)
        return stored

    def share(self, value: Any) -> Handle:
        """It is here already."""
        return value

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """They are here already."""
        return list(handles)

    def total(self, handles: Iterable[Handle]) -> Any:
        """Add as they come."""
        return reduce(add, handles)

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """The files are there: they get a second name."""
        for stored, path in zip(fits, paths, strict=True):
            atomic_link(stored.path, path)

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """The files get a second name, so that it does not matter what becomes of the first."""
        found = []
        for path, shape in zip(paths, shapes, strict=True):
            read_fits(path, shape)
            stored = StoredFits(self._scratch.new_path())
            with self._scratch.explained():
                atomic_link(path, stored.path)
            found.append(stored)
        return found

    def close(self) -> None:
        """Delete the files."""
        self._scratch.close()


def workers_for(source: Source, n_jobs: int | None) -> Workers:
    """The workers of the Dask cluster, if the images are a Dask array and there is one; else this process."""
    if isinstance(source, DaskSource):
        from dikmeans.outofcore.dask_workers import DaskWorkers, connected_client

        client = connected_client()
        if client is not None:
            return DaskWorkers(client)
    return LocalWorkers(n_jobs)
