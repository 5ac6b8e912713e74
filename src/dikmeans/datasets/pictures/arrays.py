"""An array file (``.npy``, ``.npz``) of images to an `ImageSet`.

``.npy`` holds one array (N, rows, columns[, channels]); ``.npz`` the same as ``images`` (or as its
only array), and optionally ``labels`` and ``names``. Files with pickled objects, which could run
code, are refused.

Intensities come out in [0, 1]: bytes are divided by 255 and 16-bit numbers by 65535; other numbers
by the smallest of 1, 255 and 65535 that is not below their largest.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from dikmeans._typing import Array, FloatArray, IntArray, PathLike
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import (
    CorruptFileError,
    DataError,
    MissingDataError,
    ReducedSizeWarning,
    TooLargeError,
)
from dikmeans.datasets.files.npy import read_npy
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import check_size, reduced_size
from dikmeans.errors import MissingExtraError

ARRAY_EXTENSIONS = frozenset((".npy", ".npz"))
FULL_SCALES = (1.0, 255.0, 65535.0)
# A last axis longer than this is taken for columns, not channels.
_MOST_CHANNELS = 7


def load_arrays(
    path: PathLike,
    size: tuple[int, int] | None = None,
    *,
    split: str | None = None,
    largest_side: int | None = None,
    invert: bool = False,
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load an array file of images.

    Parameters
    ----------
    path : path
        ``.npy`` or ``.npz``.
    size : (int, int), optional
        Height and width to resize every image to (needs Pillow).
    split : {"train"}, optional
        An array file is one split, "train".
    largest_side : int, optional
        Without a `size`: reduce larger images, in proportion, to at most this many rows and columns
        (with a warning).
    invert : bool, default=False
        For dark subjects on white: make the background 0.
    max_bytes : int, default=4 GiB
        Refuse to build a larger array.

    Returns
    -------
    ImageSet
        ``names`` are those of the file, or the numbers of the images.

    Raises
    ------
    MissingDataError
        Nothing at `path`, or no such split.
    CorruptFileError
        Not an array of images.
    TooLargeError
        More than `max_bytes`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "dots.npy"
    ...     np.save(path, np.eye(3, dtype=np.uint8)[None] * 255)
    ...     load_arrays(path)
    ImageSet('dots.npy': 1 images of 3x3, unlabeled)
    """
    path = Path(path).expanduser()
    check_size(size)
    if split not in (None, "train"):
        raise MissingDataError(path, f"has no split {split!r}: an array file is one split, 'train'")
    arrays = _read(path, max_bytes)
    images = _as_images(arrays["images"], path, max_bytes)
    if size is None:
        original_size = (images.shape[1], images.shape[2])
        size = reduced_size(original_size, largest_side)
        if size != original_size:
            warnings.warn(ReducedSizeWarning(path, original_size, size), stacklevel=2)
    images = _resized(images, size)
    if invert:
        images = np.float32(1) - images
    for name in ("labels", "names"):
        if name in arrays and arrays[name].shape != (len(images),):
            raise CorruptFileError(
                path,
                f"has {name} of shape {arrays[name].shape} beside {len(images)} images; expected "
                f"({len(images)},)",
            )
    labels, class_names = _classes(arrays.get("labels"))
    card = Card(
        title=path.name,
        source=f"array file {path}",
        citation="-",
        size=f"{len(images)} images of {format_shape(images.shape[1:])}",
        processing=format_shape(size) + (", inverted" if invert else ""),
    )
    return ImageSet(images, labels, class_names, _names(arrays.get("names"), len(images)), card)


def _read(path: Path, max_bytes: int) -> dict[str, Array]:
    """The array ``images``, and ``labels`` and ``names`` where the file has them."""
    if not path.is_file():
        raise MissingDataError(path, "does not exist, or is not a file")
    try:
        with path.open("rb") as stream:
            if stream.read(2) == b"PK":
                stream.seek(0)
                return _read_npz(path, stream, max_bytes)
        return {"images": np.load(path, mmap_mode="r", allow_pickle=False)}
    except (DataError, MemoryError):
        raise
    except Exception as error:  # damaged bytes make readers raise nearly anything
        raise CorruptFileError(path, f"cannot be read as an array file: {error}") from error


def _read_npz(path: Path, stream: IO[bytes], max_bytes: int) -> dict[str, Array]:
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        optional = [name for name in ("labels", "names") if name in members]
        candidates = ["images"] if "images" in members else sorted(set(members) - set(optional))
        if len(candidates) != 1:
            raise CorruptFileError(
                path,
                f"holds the arrays {', '.join(map(repr, members)) or 'none'}; expected images as "
                "'images' (or as the only array), and optionally 'labels' and 'names'",
            )
        needed = {"images": members[candidates[0]]} | {name: members[name] for name in optional}
        n_bytes = sum(info.file_size for info in needed.values())
        if n_bytes > max_bytes:
            raise TooLargeError(path, n_bytes, max_bytes)
        arrays = {}
        for name, info in needed.items():
            with archive.open(info) as member:
                arrays[name] = read_npy(member, info.file_size)
    return arrays


def _as_images(array: Array, path: Path, max_bytes: int) -> FloatArray:
    """The array as float32 images in [0, 1], shape (N, rows, columns[, channels])."""
    shape, kind = array.shape, array.dtype.kind
    if kind not in "buif":
        raise CorruptFileError(path, f"holds values of type {array.dtype}; expected numbers")
    channels_first = len(shape) == 4 and shape[1] in (1, 3, 4) and shape[3] > _MOST_CHANNELS
    if len(shape) not in (3, 4) or channels_first:
        hints = {
            2: "Flat rows need their shape back: X.reshape(N, rows, columns).",
            4: "Channels come last: np.moveaxis(X, 1, -1).",
        }
        raise CorruptFileError(
            path,
            f"holds an array of shape {shape}; expected (N, rows, columns[, channels])",
            hints.get(len(shape), ""),
        )
    if 0 in shape:
        raise CorruptFileError(path, f"holds no images: its array has shape {shape}")
    n_bytes = math.prod(shape) * np.dtype(np.float32).itemsize
    if n_bytes > max_bytes:
        raise TooLargeError(path, n_bytes, max_bytes)
    if kind == "f":
        finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if not finite.all():
            raise CorruptFileError(
                path,
                f"has values that are not finite in {int((~finite).sum())} of {len(array)} images; "
                f"image {int(finite.argmin())} is the first",
                "Repair or remove them.",
            )
    full_scale = np.float32(_full_scale(array, path))  # refuses values beyond float32
    images = array.astype(np.float32) / full_scale
    return images[..., 0] if len(shape) == 4 and shape[3] == 1 else images


def _full_scale(array: Array, path: Path) -> float:
    if array.dtype in (np.uint8, np.uint16):
        return float(np.iinfo(array.dtype).max)
    lowest, largest = float(array.min()), float(array.max())
    if lowest < 0 or largest > FULL_SCALES[-1]:
        raise CorruptFileError(
            path,
            f"has values from {lowest:g} to {largest:g}; expected images from 0 to 1, 255 or "
            "65535, 0 being the background",
            "Shift or scale them first.",
        )
    return next(scale for scale in FULL_SCALES if largest <= scale)


def _resized(images: FloatArray, size: tuple[int, int]) -> FloatArray:
    """The images resized to (height, width) by the filter that pictures of a folder get."""
    if images.shape[1:3] == tuple(size):
        return images
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "Resizing images") from error
    height, width = (int(side) for side in size)
    resized = np.empty((len(images), height, width, *images.shape[3:]), np.float32)
    for index in np.ndindex(len(images), *images.shape[3:]):
        row, channel = index[0], index[1:]
        plane = Image.fromarray(np.ascontiguousarray(images[(row, ..., *channel)]))
        plane = plane.resize((width, height), Image.Resampling.BILINEAR)
        resized[(row, ..., *channel)] = np.asarray(plane)
    return resized


def _classes(labels: Array | None) -> tuple[IntArray | None, tuple[str, ...]]:
    if labels is None:
        return None, ()
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(name) for name in names)


def _names(names: Array | None, n_images: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(number) for number in range(n_images))
    if names.dtype.kind == "S":
        return tuple(name.decode("utf-8", "surrogateescape") for name in names)
    return tuple(str(name) for name in names)
