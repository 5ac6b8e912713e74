"""One array in NumPy's format from a stream whose length is known.

The header of such an array can claim any shape. It is believed only if the bytes for it are there, so that a
damaged file costs no more memory than its size. Pickled objects, which could run code, are refused.
"""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any

from numpy.lib import format as npy_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def read_npy(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array.

    Parameters
    ----------
    stream : binary file object
        At the start of the array; it must be able to go back there.
    size : int
        Bytes in the stream.

    Raises
    ------
    ValueError
        Not an array, or not as long as its header says.
    """
    start = stream.tell()
    version = npy_format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"arrays of format {version[0]}.{version[1]} are not read")
    shape, _, kind = _HEADERS[version](stream)
    claimed = stream.tell() - start + math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or (claimed != size and not kind.hasobject):
        raise ValueError(f"its header promises {claimed:,} bytes {shape}, it has {size:,}")
    stream.seek(start)
    return npy_format.read_array(stream, allow_pickle=False)
