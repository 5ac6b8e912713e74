"""What users pass as X if it does not fit into memory: read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans._typing import Array, ArrayLike, DType, ImagesLike, IntArray
from dikmeans.outofcore.scratch import Scratch


class Source:
    """An array on disk, or computed on demand, of which any rows can be read.

    Parameters
    ----------
    array : np.memmap, or array of zarr, h5py, Dask
        Of shape (N, rows, columns[, channels]) or (N, features).
    """

    def __init__(self, array: Any):
        self.array = array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype = np.dtype(array.dtype)
        is_unknown = any(isinstance(side, float) for side in self.shape)  # Dask's NaN
        if not self.shape or is_unknown:
            raise ValueError(
                f"X has shape {self.shape}: the number of images must be known. With a Dask array "
                "call X.compute_chunk_sizes() first."
            )

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, part: slice) -> Array:
        """Some rows, in memory."""
        return np.asarray(self.array[part])

    def take(self, numbers: IntArray) -> Array:
        """Rows by number, ascending; those of one chunk are read together."""
        if not len(numbers):
            return self.read(slice(0, 0))
        chunk = max(1, self.rows_at_once)
        groups = np.split(numbers, np.flatnonzero(np.diff(numbers // chunk)) + 1)
        pieces = (self.read(slice(int(rows[0]), int(rows[-1]) + 1)) for rows in groups)
        return np.concatenate(
            [piece[rows - rows[0]] for piece, rows in zip(pieces, groups, strict=True)]
        )

    @property
    def rows_at_once(self) -> int:
        """Rows that are stored, and best read, together."""
        chunks = getattr(self.array, "chunks", None)
        return int(chunks[0]) if chunks else 1

    def parts(self, most: int) -> list[slice]:
        """Slices of at most `most` rows; whole chunks, where those are smaller."""
        chunk = self.rows_at_once
        size = most // chunk * chunk or most
        return [slice(first, min(first + size, len(self))) for first in range(0, len(self), size)]

    def close(self) -> None:
        """Release what was taken for it."""


class DaskSource(Source):
    """A Dask array, computed by whatever scheduler Dask uses at the moment."""

    def take(self, numbers: IntArray) -> Array:
        """Rows by number, ascending; all together, as they may be computed in several places."""
        return np.asarray(self.array[numbers])

    @property
    def rows_at_once(self) -> int:
        """Rows of the largest chunk."""
        return max(self.array.chunks[0], default=1)


class SpooledSource(Source):
    """The arrays of an iterator, spooled to a file that is deleted when the source is closed.

    Parameters
    ----------
    arrays : iterator of arrays
    flat : bool
        Whether images may come as flat rows.
    """

    def __init__(self, arrays: Iterator[ArrayLike], flat: bool):
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
        self, arrays: Iterator[ArrayLike], path: Path, flat: bool
    ) -> tuple[int, tuple[int, ...], DType]:
        """Write arrays one after the other; returns number, shape and type of the images."""
        shape: tuple[int, ...] = ()
        dtype, n = np.dtype(float), 0
        with self._scratch.explained():
            stream = open(path, "wb")  # noqa: SIM115 -- errors of the iterator stay as they are
        with stream:
            for number, piece in enumerate(arrays):
                array = _check_piece(np.asarray(piece), number, flat)
                if number == 0:
                    shape, dtype = array.shape[1:], array.dtype
                if array.shape[1:] != shape or array.dtype != dtype:
                    raise ValueError(
                        f"X is an iterator, and item {number} has images of shape "
                        f"{array.shape[1:]} and type {array.dtype}, those before {shape} and "
                        f"{dtype}. Bring them to one shape and type first."
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


def open_source(X: ImagesLike, *, flat: bool = True) -> Source | None:
    """X as a `Source` if it is to be read piece by piece; None if it is an array in memory.

    Parameters
    ----------
    X : any
        A memory map; an array that is stored in chunks (zarr, h5py, Dask); or an iterator of
        arrays, which is read once and spooled to disk.
    flat : bool, default=True
        Whether an iterator's images may come as flat rows. If not, an item of two dimensions is
        refused: it may be one picture as well as several rows.
    """
    if not is_read_in_pieces(X):
        return None
    if isinstance(X, Iterator):
        return SpooledSource(X, flat)
    return DaskSource(X) if hasattr(X, "dask") else Source(X)


def is_read_in_pieces(X: ImagesLike) -> bool:
    """Whether `open_source` makes a source of X; nothing is read."""
    is_mapped = isinstance(X, np.memmap) and X.ndim > 0
    is_chunked = all(hasattr(X, name) for name in ("chunks", "shape", "dtype"))
    return is_mapped or is_chunked or isinstance(X, Iterator)


def _check_piece(array: Array, number: int, flat: bool) -> Array:
    """An item of an iterator, if it is an array of images."""
    where = f"X is an iterator, and item {number}"
    if array.dtype.hasobject:
        raise ValueError(f"{where} holds objects, not numbers: images of different sizes, perhaps.")
    if array.ndim < 2 or (array.ndim == 2 and not flat):
        raise ValueError(
            f"{where} has shape {array.shape}: expected are arrays of several images each, (n, "
            "rows, columns[, channels]), or with image_shape (n, features)."
        )
    if 0 in array.shape[1:]:
        raise ValueError(f"{where} has empty images: its shape is {array.shape}.")
    return array
