"""Tensor files: safetensors with a versioned JSON header and a checksum, whole or absent.

Reading parses numbers and JSON and nothing else: a file cannot make code run. Arrays go to the disk
as they lie in memory, without a copy of all of them: they may take up most of the memory.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import IO

import numpy as np
from safetensors import SafetensorError, safe_open

from dikmeans._typing import JSON, Array
from dikmeans.errors import DikmeansError
from dikmeans.io.atomic import atomic_write

# Entries of the safetensors metadata, which holds strings only.
_ENTRY, _CHECKSUM = "dikmeans", "crc32"
_TYPE_NAMES = {
    np.dtype(kind).str: name
    for kind, name in [
        (np.float64, "F64"),
        (np.float32, "F32"),
        (np.float16, "F16"),
        (np.int64, "I64"),
        (np.int32, "I32"),
        (np.int16, "I16"),
        (np.int8, "I8"),
        (np.uint64, "U64"),
        (np.uint32, "U32"),
        (np.uint16, "U16"),
        (np.uint8, "U8"),
        (np.bool_, "BOOL"),
    ]
}


class TensorFileError(DikmeansError, ValueError):
    """A file that is damaged, or something else than was expected.

    Attributes
    ----------
    path : pathlib.Path
    reason : str
        What is wrong with it.
    """

    def __init__(self, path: Path, reason: str):
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be used: {reason}.")


def write_tensor_file(
    path: Path, kind: str, version: int, header: JSON, tensors: dict[str, Array]
) -> None:
    """Write arrays and a JSON header under `path`, in one step."""
    with atomic_write(path) as stream:
        write_tensors(stream, kind, version, header, tensors)


def write_tensors(
    stream: IO[bytes], kind: str, version: int, header: JSON, tensors: dict[str, Array]
) -> None:
    """Write arrays and a JSON header to an open file."""
    text = json.dumps({"format": kind, "version": version, **header})
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    entries: JSON = {"__metadata__": {_ENTRY: text, _CHECKSUM: _checksum(text, arrays)}}
    position = 0
    # the widest numbers first: all of them then lie where the processor likes them
    order = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    for name in order:
        array = arrays[name]
        place = [position, position + array.nbytes]
        entries[name] = {
            "dtype": _TYPE_NAMES[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": place,
        }
        position = place[1]
    opening = json.dumps(entries).encode()
    opening += b" " * (-len(opening) % 8)
    stream.write(len(opening).to_bytes(8, "little"))
    stream.write(opening)
    for name in order:
        stream.write(_bytes_of(arrays[name]))


def read_tensor_file(
    path: Path, kind: str, version: int, what: str
) -> tuple[JSON, dict[str, Array]]:
    """Header and arrays of a file of format `kind`, or `TensorFileError`.

    Parameters
    ----------
    path : Path
    kind : str
        The format that is expected.
    version : int
        The version of it that can be read.
    what : str
        What to call such a file in messages.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- no mapping
    except PermissionError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise TensorFileError(path, f"damaged, or not a {what}: {error}") from error
    try:
        header = json.loads(metadata[_ENTRY])
        known = header["format"] == kind
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise TensorFileError(path, f"it is a safetensors file, but not a {what}")
    if header.get("version") != version:
        raise TensorFileError(
            path,
            f"it has format version {header.get('version')!r}, but this dikmeans reads version "
            f"{version} of a {what}",
        )
    if metadata.get(_CHECKSUM) != _checksum(metadata[_ENTRY], tensors):
        raise TensorFileError(path, "damaged: its content does not have the checksum it states")
    return header, tensors


def _checksum(text: str, arrays: dict[str, Array]) -> str:
    total = zlib.crc32(text.encode())
    for name in sorted(arrays):
        total = zlib.crc32(_bytes_of(arrays[name]), zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def _bytes_of(array: Array) -> memoryview:
    """The bytes of a contiguous array, where they are."""
    return array.reshape(-1).view(np.uint8).data
