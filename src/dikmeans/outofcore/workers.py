"""Shards on disk, worked on by this process; and who works on which source."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from dikmeans._typing import Array, DType, FloatArray, ImageShape
from dikmeans.images import refuse_non_finite, table_rules, to_channels_first
from dikmeans.io.atomic import atomic_link
from dikmeans.kmeans.dataset import Dataset, Handle
from dikmeans.kmeans.shard import NearestFits, Shard, read_fits, read_nearest_fits, spill_fits
from dikmeans.outofcore.scratch import Scratch, delete_unless_forked
from dikmeans.outofcore.sources import DaskSource, Source
from dikmeans.preprocessing.base import Preprocessor
from dikmeans.registration.measure import PairFits

Prepare = Callable[..., Shard]
"""Takes rows of a user's array, the number of the first, and weights or None."""


@dataclass(frozen=True)
class StoredShard:
    """Images that are read, checked and preprocessed whenever they are needed."""

    source: Source
    part: slice
    weights: FloatArray | None
    prepare: Prepare

    def load(self) -> Shard:
        """Read them."""
        return self.prepare(self.source.read(self.part), self.part.start, self.weights)


class StoredFits:
    """Alignments in a file, which is deleted when nothing refers to this object any more.

    Parameters
    ----------
    path : pathlib.Path
    read : callable
        Reads such a file.
    """

    def __init__(self, path: Path, read: Callable[[Path], PairFits | NearestFits] = read_fits):
        self.path = path
        self._read = read
        weakref.finalize(self, delete_unless_forked, path, os.getpid())

    def load(self) -> PairFits | NearestFits:
        """Read them."""
        return self._read(self.path)


class LocalWorkers:
    """One shard at a time in this process: images read when needed, alignments on disk.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    source : Source
        Closed together with the workers.
    """

    in_memory = False

    def __init__(self, n_jobs: int | None, source: Source):
        self.n_jobs = n_jobs
        self._source = source
        self._scratch = Scratch("the alignments of all images")

    def call(self, function: Callable[..., object], *arguments: object) -> Handle:
        """Call the function now; alignments go to disk, other results are their own handles."""
        return self._keep(function(*map(_value, arguments)))

    def call_parts(
        self, n_parts: int, function: Callable[..., object], *arguments: object
    ) -> tuple[Handle, ...]:
        """Call the function now; the parts are kept as other results are."""
        parts = function(*map(_value, arguments))
        assert isinstance(parts, tuple)
        assert len(parts) == n_parts
        return tuple(self._keep(part) for part in parts)

    def _keep(self, result: object) -> Handle:
        if not isinstance(result, (PairFits, NearestFits)):
            return result
        read = read_nearest_fits if isinstance(result, NearestFits) else read_fits
        fits = StoredFits(self._scratch.new_path(), read)
        with self._scratch.explained():
            spill_fits(fits.path, result)
        return fits

    def share(self, value: object) -> Handle:
        """The value itself."""
        return value

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """The values, read where they lie on disk."""
        return [_value(handle) for handle in handles]

    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum, in the order of the shards."""
        return reduce(add, handles)

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Link the files that are there already under their new names."""
        for stored, path in zip(fits, paths, strict=True):
            assert isinstance(stored, StoredFits)
            atomic_link(stored.path, path)

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Check the files and link them, so that the originals may be deleted."""
        handles: list[Handle] = []
        for path, shape in zip(paths, shapes, strict=True):
            read_fits(path, shape)
            stored = StoredFits(self._scratch.new_path())
            with self._scratch.explained():
                atomic_link(path, stored.path)
            handles.append(stored)
        return handles

    def close(self) -> None:
        """Delete the files, and close the source."""
        self._scratch.close()
        self._source.close()


def _value(handle: Handle) -> object:
    """What a handle stands for, in memory."""
    return handle.load() if isinstance(handle, (StoredShard, StoredFits)) else handle


def prepare_shard(
    rows: Array,
    first: int,
    weights: FloatArray | None,
    *,
    shape: ImageShape,
    preprocessing: Preprocessor,
) -> Shard:
    """Rows of a user's array, from row `first` on, as checked and preprocessed pictures."""
    table = rows.reshape(len(rows), int(np.prod(shape)))
    table = check_array(table, **table_rules(table))
    refuse_non_finite(table, numbers=range(first, first + len(table)))
    images = preprocessing.apply(to_channels_first(table, shape))
    return Shard(images, np.ones(len(images)) if weights is None else weights)


def open_dataset(
    source: Source,
    weights: FloatArray | None,
    *,
    shape: ImageShape,
    dtype: DType,
    preprocessing: Preprocessor,
    images_per_shard: int,
    n_jobs: int | None,
) -> Dataset:
    """The images of a source, ready to be clustered.

    Parameters
    ----------
    source : Source
    weights : array of shape (N,), optional
    shape : tuple of int
        (rows, columns) or (rows, columns, channels) of an image.
    dtype : dtype
        Type of the pixels, once they have been checked.
    preprocessing : Preprocessor
        Applied to every image.
    images_per_shard : int
        Images that are read at a time.
    n_jobs : int or None
        Threads.
    """
    prepare = partial(prepare_shard, shape=shape, preprocessing=preprocessing)
    if isinstance(source, DaskSource):
        from dikmeans.outofcore.dask_workers import DaskWorkers, connected_client

        client = connected_client()
        if client is not None:
            workers = DaskWorkers(client)
            shards, bounds = workers.open(source, weights, prepare)
            return Dataset(shards, bounds, dtype, workers, weights, n_jobs)
    parts = source.parts(images_per_shard)
    stored = tuple(
        StoredShard(
            source, part, None if weights is None else np.ascontiguousarray(weights[part]), prepare
        )
        for part in parts
    )
    bounds = np.array([0, *(part.stop for part in parts)])
    return Dataset(stored, bounds, dtype, LocalWorkers(n_jobs, source), weights, n_jobs)
