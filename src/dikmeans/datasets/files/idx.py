"""The idx format of MNIST and its relatives: a big-endian header, then the bytes of one array.

Header: two zero bytes, the type code (8 for unsigned bytes, the only one these sets use), the
number of axes, then the length of each axis as a 32-bit integer. Files are read plain or gzipped,
whatever their name says.
"""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dikmeans.datasets.errors import CorruptFileError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_UNSIGNED_BYTE = 0x08
_GZIP_MAGIC = b"\x1f\x8b"
# A header is four bytes an axis and can claim any length: refuse before reserving the memory.
_LARGEST_ARRAY = 1 << 31
_PIECE = 1 << 20


def read_idx(source: Path | bytes, ndim: int, name: str | None = None) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes.

    Parameters
    ----------
    source : pathlib.Path or bytes
        The file, or its content; gzipped or not.
    ndim : int
        How many axes the array must have: 3 for images, 1 for labels.
    name : str, optional
        What to call the file in an error; by default its path.

    Returns
    -------
    ndarray of uint8
        The array, read-only.

    Raises
    ------
    CorruptFileError
        Not an idx file of that many axes, cut short, or longer than its header says.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), ndim=1)
    array([7, 8, 9], dtype=uint8)
    """
    name = name or _name_of(source)
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic != _GZIP_MAGIC:
                return _parse(raw, ndim, name)
            with gzip.open(raw) as unzipped:
                return _parse(unzipped, ndim, name)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorruptFileError(
            f"{name} is a damaged gzip file ({error}). Delete it and get it again."
        ) from error


def _name_of(source: Path | bytes) -> str:
    return "the content given" if isinstance(source, bytes) else str(source)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _parse(stream: _Readable, ndim: int, name: str) -> NDArray[np.uint8]:
    header = stream.read(4)
    expected = bytes([0, 0, _UNSIGNED_BYTE, ndim])
    if header != expected:
        raise CorruptFileError(
            f"{name} is not an idx file of unsigned bytes with {ndim} axes: it must start with "
            f"{expected.hex()}, got {header.hex() or 'an empty file'}."
        )
    lengths = stream.read(4 * ndim)
    if len(lengths) < 4 * ndim:
        raise CorruptFileError(f"{name} ends within its header. Delete it and get it again.")
    shape = struct.unpack(f">{ndim}I", lengths)
    size = math.prod(shape)
    if size > _LARGEST_ARRAY:
        raise CorruptFileError(
            f"{name} claims to hold {size:,} bytes {shape}; that is no image set."
        )
    body = _read_up_to(stream, size)
    if len(body) < size:
        raise CorruptFileError(
            f"{name} is cut short: its header promises {size:,} bytes {shape}, it has "
            f"{len(body):,}. Delete it and get it again."
        )
    if stream.read(1):
        raise CorruptFileError(
            f"{name} is longer than the {size:,} bytes {shape} its header promises."
        )
    array = np.frombuffer(body, np.uint8).reshape(shape)
    array.flags.writeable = False
    return array


def _read_up_to(stream: _Readable, size: int) -> bytearray:
    """At most `size` bytes; memory grows with what is there, not with what is asked for."""
    body = bytearray()
    while len(body) < size and (piece := stream.read(min(_PIECE, size - len(body)))):
        body += piece
    return body


def read_idx_pair(
    images: Path | bytes,
    labels: Path | bytes,
    image_name: str | None = None,
    label_name: str | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read an image file and the label file that belongs to it, and check that they match.

    Parameters
    ----------
    images, labels : pathlib.Path or bytes
        The two files, or their content.
    image_name, label_name : str, optional
        What to call them in an error.

    Returns
    -------
    images : ndarray of uint8, shape (N, H, W)
    labels : ndarray of uint8, shape (N,)

    Raises
    ------
    CorruptFileError
        One of them is damaged, or they do not count the same.
    """
    image_name = image_name or _name_of(images)
    label_name = label_name or _name_of(labels)
    pictures = read_idx(images, 3, image_name)
    numbers = read_idx(labels, 1, label_name)
    if len(pictures) != len(numbers):
        raise CorruptFileError(
            f"{image_name} has {len(pictures):,} images and {label_name} "
            f"{len(numbers):,} labels: they do not belong together."
        )
    return pictures, numbers
