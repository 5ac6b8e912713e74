"""One array in NumPy's ``.npy`` format from a stream of known length.

A header can claim any shape. It is believed only if its bytes are there, so that a damaged file
takes no more memory than its size. Pickled objects, which could run code, are refused.
"""

from __future__ import annotations

import math
from typing import IO

from numpy.lib import format as npy_format

from dikmeans._typing import Array

_HEADER_READERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


def read_npy(stream: IO[bytes], size: int) -> Array:
    """Read an array of `size` bytes, header included, from a seekable stream.

    Raises
    ------
    ValueError
        Not an array, or not as long as its header says.
    """
    start = stream.tell()
    version = npy_format.read_magic(stream)
    if version not in _HEADER_READERS:
        raise ValueError(f"arrays of format {version[0]}.{version[1]} are not supported")
    shape, _, dtype = _HEADER_READERS[version](stream)
    claimed = stream.tell() - start + math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or (claimed != size and not dtype.hasobject):
        raise ValueError(f"its header promises {claimed:,} bytes {shape}, it has {size:,}")
    stream.seek(start)
    array: Array = npy_format.read_array(stream, allow_pickle=False)
    return array
