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
from typing import IO, Literal

import numpy as np

from dikmeans._typing import Array, FloatArray, PathLike
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import (
    CorruptFileError,
    DataError,
    LabelsFileError,
    MissingDataError,
    TooLargeError,
    WorkingSizeWarning,
)
from dikmeans.datasets.files.npy import read_npy
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.labels import AUTO, FOLDERS, NONE, Labels, find_labels
from dikmeans.datasets.pictures.decode import check_size, resized
from dikmeans.datasets.pictures.padding import fitted_size, pad_with_ground
from dikmeans.datasets.pictures.survey import (
    LARGEST_SIDE,
    N_PICTURES,
    SMALLEST_SIDE,
    survey_pictures,
    working_size,
)

ARRAY_EXTENSIONS = frozenset((".npy", ".npz"))
FULL_SCALES = (1.0, 255.0, 65535.0)
# A last axis longer than this is taken for columns, not channels.
_MOST_CHANNELS = 7


def load_arrays(
    path: PathLike,
    size: tuple[int, int] | int | Literal["auto"] | None = "auto",
    *,
    split: str | None = None,
    labels: PathLike = AUTO,
    stretch: bool = False,
    invert: bool = False,
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load an array file of images.

    Parameters
    ----------
    path : path
        ``.npy`` or ``.npz``.
    size : (int, int), int, "auto" or None, default="auto"
        Height and width to resize every image to (needs Pillow); or pixels on the longer side; or,
        by default, the smallest size that leaves 97.5 % of the detail, as in `load_folder`. With
        None images keep their size.
    split : {"train"}, optional
        An array file is one split, "train".
    labels : {"auto", "none"} or path, default="auto"
        The labels of the file, if it has any; none; or a table with columns ``file`` and ``label``
        for the names of the images (their numbers, if the file has no names).
    stretch : bool, default=False
        Stretch images to a size of other proportions, instead of padding them with their ground.
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
    if not isinstance(size, str | int):
        check_size(size)
    if split not in (None, "train"):
        raise MissingDataError(path, f"has no split {split!r}: an array file is one split, 'train'")
    arrays = _read(path, max_bytes)
    images = _as_images(arrays["images"], path, max_bytes)
    images = _resized(images, _choose_size(size, images, path), stretch)
    if invert:
        images = np.float32(1) - images
    for name in ("labels", "names"):
        if name in arrays and arrays[name].shape != (len(images),):
            raise CorruptFileError(
                path,
                f"has {name} of shape {arrays[name].shape} beside {len(images)} images; expected "
                f"({len(images)},)",
            )
    names = _names(arrays.get("names"), len(images))
    found = _labels(arrays.get("labels"), names, labels, path)
    return ImageSet(
        images=images,
        labels=found.numbers,
        class_names=found.class_names,
        names=names,
        card=Card(
            title=path.name,
            source=f"array file {path.name}",
            citation="-",
            size=f"{len(images)} images of {format_shape(images.shape[1:])}",
            processing=format_shape(images.shape[1:3]) + (", inverted" if invert else ""),
        ),
        label_source=found.source,
        options={"size": images.shape[1:3]}
        | ({"stretch": True} if stretch else {})
        | ({"invert": True} if invert else {}),
        frame="stretch" if stretch else "fit",
    )


def _choose_size(size: object, images: FloatArray, path: Path) -> tuple[int, int]:
    """The size that images shall have, with a warning if it was chosen and is not their own."""
    own = (images.shape[1], images.shape[2])
    if isinstance(size, tuple | list):
        return int(size[0]), int(size[1])
    if isinstance(size, int):
        check_size((size, size))
        return fitted_size(own, (size, size))
    if size is None or max(own) <= SMALLEST_SIDE:
        return own
    chosen = np.unique(np.linspace(0, len(images) - 1, N_PICTURES).round().astype(int))
    survey = survey_pictures([_as_rgba(image) for image in images[chosen]])
    smaller = working_size(own, survey)
    if smaller != own:
        left = survey.details_at(max(smaller))
        warning = WorkingSizeWarning(path, {own: len(images)}, smaller, detail=left)
        warnings.warn(warning, stacklevel=4)
    return smaller


def _as_rgba(image: FloatArray) -> FloatArray:
    """An image (H, W[, C]) as a survey wants it: opaque and gray, at most so large."""
    gray = image.mean(axis=2) if image.ndim == 3 else image
    size = (gray.shape[0], gray.shape[1])
    if max(size) > LARGEST_SIDE:
        gray = resized(gray, fitted_size(size, (LARGEST_SIDE, LARGEST_SIDE)))
    return np.stack([gray, gray, gray, np.ones_like(gray)], axis=2)


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


def _resized(images: FloatArray, size: tuple[int, int], stretch: bool) -> FloatArray:
    """The images brought to (height, width) in the way that pictures of a folder are."""
    own = (images.shape[1], images.shape[2])
    if own == size:
        return images
    scaled = size if stretch else fitted_size(own, size)
    result = np.empty((len(images), *size, *images.shape[3:]), np.float32)
    for image, place in zip(images, result, strict=True):
        planes = np.moveaxis(image[..., None] if image.ndim == 2 else image, 2, 0)
        small = np.stack([resized(plane, scaled) for plane in planes], axis=2)
        place[:] = pad_with_ground(small, size).reshape(place.shape)
    return result


def _labels(given: Array | None, names: tuple[str, ...], labels: PathLike, path: Path) -> Labels:
    """The labels that the file has, or those that are asked for instead."""
    if labels == FOLDERS:
        raise LabelsFileError(path, "is an array file and has no folders to take for labels")
    if labels != AUTO or given is None:
        return find_labels(names, NONE if labels == AUTO else labels, path)
    class_names, numbers = np.unique(given, return_inverse=True)
    return Labels(numbers.astype(np.int64), tuple(map(str, class_names)), "labels")


def _names(names: Array | None, n_images: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(number) for number in range(n_images))
    if names.dtype.kind == "S":
        return tuple(name.decode("utf-8", "surrogateescape") for name in names)
    return tuple(str(name) for name in names)
