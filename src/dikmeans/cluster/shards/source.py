"""What users pass as X if it does not fit into memory: read piece by piece."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


class Source:
    """An array on disk, or made on demand, of which any rows can be had.

    Parameters
    ----------
    array : np.memmap, or array of zarr, h5py, Dask
        Of shape (N, rows, columns[, channels]) or (N, features).
    """

    def __init__(self, array: Any):
        self.array = array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype = np.dtype(array.dtype)
        if not self.shape or any(isinstance(side, float) for side in self.shape):  # Dask's unknown is NaN
            raise ValueError(
                f"X has shape {self.shape}: the number of images must be known. With a Dask array call "
                "X.compute_chunk_sizes() first."
            )

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, part: slice) -> np.ndarray:
        """Some rows, in memory."""
        return np.asarray(self.array[part])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Rows by number, ascending; those that lie near each other are read in one go."""
        if not len(numbers):
            return self.read(slice(0, 0))
        reach = max(1, self.rows_at_once)
        groups = np.split(numbers, np.flatnonzero(np.diff(numbers // reach)) + 1)
        return np.concatenate(
            [self.read(slice(int(some[0]), int(some[-1]) + 1))[some - some[0]] for some in groups]
        )

    @property
    def rows_at_once(self) -> int:
        """Rows that are stored together, and best read together; 1 if each stands for itself."""
        chunks = getattr(self.array, "chunks", None)
        if not chunks:
            return 1
        first = chunks[0]
        return int(max(first) if isinstance(first, tuple) else first)

    def parts(self, most: int) -> list[slice]:
        """Slices of at most `most` rows, along the borders of what is stored together if that is smaller."""
        together = self.rows_at_once
        size = most // together * together or most
        return [slice(first, min(first + size, len(self))) for first in range(0, len(self), size)]


def open_source(X: Any, folder: Path | None = None) -> Source | None:
    """X as a `Source` if it is something to be read piece by piece; None if it is to be taken as a whole.

    Parameters
    ----------
    X : any
        A memory map; an array that is stored in chunks (zarr, h5py, Dask); or an iterator of arrays,
        which is read once and put aside on disk.
    folder : pathlib.Path, optional
        Where an iterator's arrays are put; by default in a new temporary folder that disappears with the
        source.
    """
    if isinstance(X, np.memmap) and X.ndim > 0:
        return Source(X)
    if hasattr(X, "chunks") and hasattr(X, "shape") and hasattr(X, "dtype"):
        return Source(X)
    if isinstance(X, Iterator):
        return _SpooledSource(X, folder)
    return None


class _SpooledSource(Source):
    """The arrays of an iterator, one after the other in a file."""

    def __init__(self, arrays: Iterator[Any], folder: Path | None):
        self._folder = tempfile.TemporaryDirectory(prefix="dikmeans-", dir=folder)
        path = Path(self._folder.name) / "images"
        shape: tuple[int, ...] | None = None
        dtype, n = np.dtype(float), 0
        with open(path, "wb") as stream:
            for number, piece in enumerate(arrays):
                array = np.asarray(piece)
                if array.ndim < 2:
                    raise ValueError(
                        f"X is an iterator, and item {number} has shape {array.shape}: expected are arrays "
                        "of several images each, (n, rows, columns[, channels]) or (n, features)."
                    )
                if shape is None:
                    shape, dtype = array.shape[1:], array.dtype
                if array.shape[1:] != shape or array.dtype != dtype:
                    raise ValueError(
                        f"X is an iterator, and item {number} has images of shape {array.shape[1:]} and type "
                        f"{array.dtype}, those before {shape} and {dtype}. Bring them into one form first."
                    )
                if array.dtype.hasobject:
                    raise ValueError(f"X is an iterator, and item {number} holds objects, not numbers.")
                stream.write(np.ascontiguousarray(array).data)
                n += len(array)
        if shape is None or n == 0:
            raise ValueError("X is an iterator without images: 0 sample(s), at least one image is needed.")
        super().__init__(np.memmap(path, dtype, "r", shape=(n, *shape)))
