"""Types that annotations share: arrays by the kind of their numbers, and what users may pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
DType: TypeAlias = np.dtype[Any]
PathLike: TypeAlias = str | os.PathLike[str]
ImageShape: TypeAlias = tuple[int, ...]
"""(rows, columns) or (rows, columns, channels) of a picture, as the user has it."""
ImagesLike: TypeAlias = ArrayLike | Iterator[ArrayLike]
"""Images as users have them: an array or what NumPy makes one of, also on disk or in a cluster; or
an iterator of arrays of images."""
JSON: TypeAlias = dict[str, Any]

__all__ = [
    "JSON",
    "Array",
    "ArrayLike",
    "BoolArray",
    "DType",
    "FloatArray",
    "ImageShape",
    "ImagesLike",
    "IntArray",
    "PathLike",
]
