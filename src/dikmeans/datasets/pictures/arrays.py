"""An array file (``.npy``, ``.npz``) of pictures -> an `ImageSet`.

``.npy`` holds one array (N, rows, columns[, channels]); ``.npz`` the same as ``images`` (or as its only
array), with ``labels`` and ``names`` beside it where they are known. Files with pickled objects, which could
run code, are refused.

Intensities come out in [0, 1]: bytes are divided by 255 and 16-bit numbers by 65535; other numbers by the
smallest of 1, 255 and 65535 that is not below their largest.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dikmeans.datasets.errors import CorruptFileError, DataError, MissingDataError, missing_extra
from dikmeans.datasets.files.npy import read_npy
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import Rendering, reduced_size, warn_reduced

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

ARRAY_EXTENSIONS = frozenset((".npy", ".npz"))
FULL_SCALES = (1.0, 255.0, 65535.0)
_MOST_CHANNELS = 7


def load_arrays(
    path: str | os.PathLike[str],
    size: tuple[int, int] | None = None,
    *,
    split: str | None = None,
    largest_side: int | None = None,
    invert: bool = False,
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load an array file of pictures.

    Parameters
    ----------
    path : path
        ``.npy`` or ``.npz``.
    size : (int, int), optional
        Height and width to bring every picture to (needs Pillow).
    split : {"train"}, optional
        An array file is one part, "train".
    largest_side : int, optional
        Without a `size`: reduce larger pictures, in proportion, to at most this many rows and columns.
    invert : bool, default=False
        For dark subjects on white: make the background 0.
    max_bytes : int, default=4 GiB
        Refuse to build a larger array.

    Returns
    -------
    ImageSet
        ``names`` are those of the file, or the numbers of the pictures.

    Raises
    ------
    MissingDataError
        Nothing at `path`, or no such part.
    CorruptFileError
        Not an array of pictures.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "dots.npy"
    ...     np.save(path, np.eye(3, dtype=np.uint8)[None] * 255)
    ...     load_arrays(path)
    ImageSet('dots.npy': 1 images of 3x3, unlabelled)
    """
    path = Path(path).expanduser()
    rendering = Rendering(size, invert=invert)  # checks them
    if split not in (None, "train"):
        raise MissingDataError(f"{path} has no part {split!r}: an array file is one part, 'train'.")
    content = _read(path, max_bytes)
    images = _as_pictures(content.images, path, max_bytes)
    if size is None:
        rendering = Rendering(reduced_size(images.shape[1:3], largest_side), invert=invert)
        warn_reduced(str(path), images.shape[1:3], rendering.size)
    assert rendering.size is not None
    images = _resized(images, rendering.size)
    if invert:
        images = np.float32(1) - images
    labels, class_names = _classes(content.labels, len(images), path)
    names = _names(content.names, len(images), path)
    steps = ["x".join(map(str, rendering.size)), *(["inverted"] if invert else [])]
    card = Card(
        title=path.name,
        source=f"array file {path}",
        citation="-",
        size=f"{len(images)} images of {'x'.join(map(str, images.shape[1:]))}",
        processing=", ".join(steps),
    )
    return ImageSet(images, labels, class_names, names, card)


@dataclass(frozen=True)
class _Content:
    """What an array file holds."""

    images: Any
    labels: Any = None
    names: Any = None


def _read(path: Path, max_bytes: int) -> _Content:
    if not path.is_file():
        raise MissingDataError(f"There is no file {path}.")
    try:
        with path.open("rb") as stream:
            if stream.read(2) == b"PK":
                stream.seek(0)
                return _read_npz(path, stream, max_bytes)
        return _Content(np.load(path, mmap_mode="r", allow_pickle=False))
    except (DataError, MemoryError):
        raise
    except Exception as error:  # damaged bytes make readers raise nearly anything
        raise CorruptFileError(f"{path} cannot be read as an array file: {error}") from error


def _read_npz(path: Path, stream: IO[bytes], max_bytes: int) -> _Content:
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        found = list(members)
        candidates = (
            ["images"] if "images" in found else [n for n in found if n not in ("labels", "names")]
        )
        if len(candidates) != 1:
            raise CorruptFileError(
                f"{path} holds the arrays {', '.join(map(repr, found)) or 'none'}; expected pictures as "
                "'images' (or as the only array), and perhaps 'labels' and 'names'."
            )
        wanted = [*candidates, *(name for name in ("labels", "names") if name in found)]
        needed = sum(members[name].file_size for name in wanted)
        if needed > max_bytes:
            raise _too_large(path, needed, max_bytes)
        read = {}
        for name in wanted:
            with archive.open(members[name]) as member:
                read[name] = read_npy(member, members[name].file_size)
    return _Content(read[candidates[0]], read.get("labels"), read.get("names"))


def _as_pictures(array: NDArray[Any], path: Path, max_bytes: int) -> NDArray[np.float32]:
    """The array as float32 pictures in [0, 1], (N, rows, columns) or (N, rows, columns, channels)."""
    shape, kind = array.shape, array.dtype
    if kind.kind not in "buif":
        raise CorruptFileError(f"{path} holds values of type {kind}; expected numbers.")
    channels_first = len(shape) == 4 and shape[1] in (1, 3, 4) and shape[3] > _MOST_CHANNELS
    if len(shape) not in (3, 4) or channels_first:
        hint = {
            2: " Flat rows need their shape back: X.reshape(N, rows, columns).",
            4: " Channels come last: np.moveaxis(X, 1, -1).",
        }.get(len(shape), "")
        raise CorruptFileError(
            f"{path} holds an array of shape {shape}; expected (N, rows, columns[, channels]).{hint}"
        )
    if 0 in shape:
        raise CorruptFileError(f"{path} holds no pictures: its array has shape {shape}.")
    needed = int(np.prod(shape, dtype=object)) * np.dtype(np.float32).itemsize
    if needed > max_bytes:
        raise _too_large(path, needed, max_bytes)
    if kind.kind == "f":
        finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if not finite.all():
            raise CorruptFileError(
                f"{path} has values that are not finite in {int((~finite).sum())} of {len(array)} pictures; "
                f"picture {int(finite.argmin())} is the first. Repair or remove them."
            )
    full_scale = np.float32(_full_scale(array, path))  # refuses what float32 cannot hold
    pictures = array.astype(np.float32) / full_scale
    return pictures[..., 0] if len(shape) == 4 and shape[3] == 1 else pictures


def _full_scale(array: NDArray[Any], path: Path) -> float:
    if array.dtype in (np.uint8, np.uint16):
        return float(np.iinfo(array.dtype).max)
    lowest, largest = float(array.min()), float(array.max())
    if lowest < 0 or largest > FULL_SCALES[-1]:
        raise CorruptFileError(
            f"{path} has values from {lowest:g} to {largest:g}; expected pictures from 0 to 1, 255 or "
            "65535, 0 being the background. Shift or scale them first."
        )
    return next(scale for scale in FULL_SCALES if largest <= scale)


def _resized(pictures: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Pictures brought to (height, width) by the filter that folders of pictures get."""
    if pictures.shape[1:3] == tuple(size):
        return pictures
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra("pillow", "images", "Resizing pictures") from error
    height, width = (int(side) for side in size)
    planes = pictures[..., None] if pictures.ndim == 3 else pictures
    resized = np.empty((len(planes), height, width, planes.shape[3]), np.float32)
    for picture, result in zip(planes, resized, strict=True):
        for c in range(planes.shape[3]):
            plane = Image.fromarray(np.ascontiguousarray(picture[..., c]))
            result[..., c] = np.asarray(plane.resize((width, height), Image.Resampling.BILINEAR))
    return resized[..., 0] if pictures.ndim == 3 else resized


def _classes(
    labels: NDArray[Any] | None, n_images: int, path: Path
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if labels is None:
        return None, ()
    _check_beside(labels, "labels", n_images, path)
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(name) for name in names)


def _names(names: NDArray[Any] | None, n_images: int, path: Path) -> tuple[str, ...]:
    if names is None:
        return tuple(str(number) for number in range(n_images))
    _check_beside(names, "names", n_images, path)
    if names.dtype.kind == "S":
        return tuple(name.decode("utf-8", "surrogateescape") for name in names)
    return tuple(str(name) for name in names)


def _check_beside(array: NDArray[Any], what: str, n_images: int, path: Path) -> None:
    if array.shape != (n_images,):
        raise CorruptFileError(
            f"{path} has {what} of shape {array.shape} beside {n_images} pictures; expected ({n_images},)."
        )


def _too_large(path: Path, needed: int, max_bytes: int) -> DataError:
    return DataError(
        f"The pictures in {path} take {needed:,} bytes, more than max_bytes={max_bytes:,}."
    )
