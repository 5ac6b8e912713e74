"""What users pass as X if it does not fit into memory: read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.outofcore.scratch import Scratch


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
        if not self.shape or any(
            isinstance(side, float) for side in self.shape
        ):  # Dask's unknown is NaN
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
        return int(chunks[0]) if chunks else 1

    def parts(self, most: int) -> list[slice]:
        """Slices of at most `most` rows, along the borders of what is stored together if that is smaller."""
        together = self.rows_at_once
        size = most // together * together or most
        return [slice(first, min(first + size, len(self))) for first in range(0, len(self), size)]

    def close(self) -> None:
        """Give back what was taken for it."""


class DaskSource(Source):
    """A Dask array, computed by whatever scheduler Dask uses at the moment."""

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Rows by number, ascending; all in one go, for they may be made in several places."""
        return np.asarray(self.array[numbers])

    @property
    def rows_at_once(self) -> int:
        """Rows of the largest chunk."""
        return max(self.array.chunks[0], default=1)


class SpooledSource(Source):
    """The arrays of an iterator, one after the other in a file, which is gone when the source is closed.

    Parameters
    ----------
    arrays : iterator of arrays
    flat : bool
        Whether images may come as flat rows.
    """

    def __init__(self, arrays: Iterator[Any], flat: bool):
        self._scratch = Scratch("the images of X, which is an iterator")
        try:
            path = self._scratch.new_path()
            n, shape, dtype = self._spool(arrays, path, flat)
            super().__init__(np.memmap(path, dtype, "r", shape=(n, *shape)))
        except BaseException:
            self._scratch.close()
            raise

    def close(self) -> None:
        """Delete the file."""
        self._scratch.close()

    def _spool(
        self, arrays: Iterator[Any], path: Path, flat: bool
    ) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
        """Write arrays one after the other; the number of images, the shape of each, and their type."""
        shape: tuple[int, ...] = ()
        dtype, n = np.dtype(float), 0
        with self._scratch.explained():
            stream = open(path, "wb")  # noqa: SIM115 -- what the iterator raises is not for us to explain
        with stream:
            for number, piece in enumerate(arrays):
                array = _check_piece(np.asarray(piece), number, flat)
                if number == 0:
                    shape, dtype = array.shape[1:], array.dtype
                if array.shape[1:] != shape or array.dtype != dtype:
                    raise ValueError(
                        f"X is an iterator, and item {number} has images of shape {array.shape[1:]} and type "
                        f"{array.dtype}, those before {shape} and {dtype}. Bring them into one form first."
                    )
                with self._scratch.explained():
                    stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
                n += len(array)
            with self._scratch.explained():
                stream.flush()
        if n == 0:
            raise ValueError(
                "X is an iterator without images: 0 sample(s), at least one image is needed."
            )
        return n, shape, dtype


def open_source(X: Any, *, flat: bool = True) -> Source | None:
    """X as a `Source` if it is something to be read piece by piece; None if it is to be taken as a whole.

    Parameters
    ----------
    X : any
        A memory map; an array that is stored in chunks (zarr, h5py, Dask); or an iterator of arrays,
        which is read once and put aside on disk.
    flat : bool, default=True
        Whether an iterator's images may come as flat rows. If not, an item of two dimensions is refused:
        it may be one picture as well as several rows.
    """
    if isinstance(X, np.memmap) and X.ndim > 0:
        return Source(X)
    if hasattr(X, "chunks") and hasattr(X, "shape") and hasattr(X, "dtype"):
        return DaskSource(X) if hasattr(X, "dask") else Source(X)
    return SpooledSource(X, flat) if isinstance(X, Iterator) else None


def _check_piece(array: np.ndarray, number: int, flat: bool) -> np.ndarray:
    """An item of an iterator, if it is an array of images."""
    where = f"X is an iterator, and item {number}"
    if array.dtype.hasobject:
        raise ValueError(f"{where} holds objects, not numbers: images of different sizes, perhaps.")
    if array.ndim < 2 or (array.ndim == 2 and not flat):
        raise ValueError(
            f"{where} has shape {array.shape}: expected are arrays of several images each, (n, rows, columns"
            "[, channels]), or with image_shape (n, features)."
        )
    if 0 in array.shape[1:]:
        raise ValueError(f"{where} has empty images: its shape is {array.shape}.")
    return array
