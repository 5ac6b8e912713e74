"""The idx format of MNIST and its relatives: a big-endian header, then the bytes of one array.

Header: two zero bytes, the type code (8 for unsigned bytes, the only one these data sets use), the
number of axes, then the length of each axis as a 32-bit integer. Files are read plain or gzipped,
whatever their name says.
"""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from dikmeans._typing import IntArray
from dikmeans.datasets.errors import CorruptFileError

_UNSIGNED_BYTE = 0x08
_GZIP_MAGIC = b"\x1f\x8b"
# A header can claim any length: refuse before reserving the memory.
_LARGEST_ARRAY = 1 << 31
_CHUNK_BYTES = 1 << 20
_GET_AGAIN = "Delete it and get it again."


def read_idx(source: Path | bytes, ndim: int, name: str | None = None) -> IntArray:
    """Read an idx file of unsigned bytes.

    Parameters
    ----------
    source : pathlib.Path or bytes
        The file, or its content; gzipped or not.
    ndim : int
        How many axes the array must have: 3 for images, 1 for labels.
    name : str, optional
        Name of the file in an error; by default its path.

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
        raise CorruptFileError(name, f"is a damaged gzip file ({error})", _GET_AGAIN) from error


def read_idx_pair(
    images: Path | bytes, labels: Path | bytes, *names: str
) -> tuple[IntArray, IntArray]:
    """Read an image file (N, H, W) and its label file (N,), and check that they match.

    `names` are those of the two files in an error, by default their paths. A CorruptFileError if
    one of them is damaged, or their lengths differ.
    """
    image_name, label_name = names or (_name_of(images), _name_of(labels))
    pixels, numbers = read_idx(images, 3, image_name), read_idx(labels, 1, label_name)
    if len(pixels) != len(numbers):
        raise CorruptFileError(
            image_name,
            f"has {len(pixels):,} images and {label_name} has {len(numbers):,} labels: they do not "
            "belong together",
        )
    return pixels, numbers


def _name_of(source: Path | bytes) -> str:
    return "The content given" if isinstance(source, bytes) else str(source)


def _parse(stream: io.BufferedIOBase, ndim: int, name: str) -> IntArray:
    header = stream.read(4)
    expected = bytes([0, 0, _UNSIGNED_BYTE, ndim])
    if header != expected:
        raise CorruptFileError(
            name,
            f"is not an idx file of unsigned bytes with {ndim} axes: it must start with "
            f"{expected.hex()}, got {header.hex() or 'an empty file'}",
        )
    lengths = stream.read(4 * ndim)
    if len(lengths) < 4 * ndim:
        raise CorruptFileError(name, "ends within its header", _GET_AGAIN)
    shape = struct.unpack(f">{ndim}I", lengths)
    size = math.prod(shape)
    if size > _LARGEST_ARRAY:
        raise CorruptFileError(name, f"claims to hold {size:,} bytes {shape}, too many for images")
    body = bytearray()  # grows with the bytes that are there, not with those that are claimed
    while len(body) < size and (chunk := stream.read(min(_CHUNK_BYTES, size - len(body)))):
        body += chunk
    if len(body) < size:
        raise CorruptFileError(
            name,
            f"is cut short: its header promises {size:,} bytes {shape}, it has {len(body):,}",
            _GET_AGAIN,
        )
    if stream.read(1):
        raise CorruptFileError(
            name, f"is longer than the {size:,} bytes {shape} that its header promises"
        )
    array = np.frombuffer(body, np.uint8).reshape(shape)
    array.flags.writeable = False
    return array
