"""A folder of pictures, or a zip of one, to an `ImageSet`.

``folder/*.png`` is an unlabeled set; in ``folder/class/*.jpg`` the first folder below the root
names the class. The order is natural (``img2`` before ``img10``), classes sorted the same way, so
that it does not depend on the file system. In a zip, folders that hold everything are ignored.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

import numpy as np

from dikmeans._typing import FloatArray, IntArray, PathLike
from dikmeans.datasets._text import first_few, format_shape
from dikmeans.datasets.errors import (
    AmbiguousLabelsError,
    CorruptFileError,
    MissingDataError,
    MixedSizesError,
    MixedSizesWarning,
    ReducedSizeWarning,
    TooLargeError,
    UnreadableFilesWarning,
    check_choice,
)
from dikmeans.datasets.files.tree import FileTree, ZipTree, natural_key, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import (
    PICTURE_EXTENSIONS,
    DecodeOptions,
    decode_picture,
    picture_size,
    reduced_size,
)

Members = dict[str, str]
"""Names of the pictures below the root (or split) of a tree, and the names to read them by."""

Result = TypeVar("Result")


def load_folder(
    path: PathLike,
    size: tuple[int, int] | None = None,
    *,
    split: str | None = None,
    largest_side: int | None = None,
    on_mixed_sizes: Literal["resize", "error"] = "resize",
    on_unreadable: Literal["skip", "error"] = "skip",
    color: bool = False,
    background: float = 0.0,
    invert: bool = False,
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load a folder (or a zip) of pictures.

    Parameters
    ----------
    path : path
        ``folder/*.png``, ``folder/class/*.png``, or a zip of either.
    size : (int, int), optional
        Height and width to resize every picture to. Pictures are stretched, not padded.
    split : {"train", "test"}, optional
        Which split to take of a folder that holds ``train`` and ``test``. A folder without them
        is one split, "train".
    largest_side : int, optional
        Without a `size`: reduce larger pictures, in proportion, to at most this many rows and
        columns (with a warning).
    on_mixed_sizes : {"resize", "error"}, default="resize"
        Without a `size`: resize pictures to the most frequent size (with a warning), or refuse.
    on_unreadable : {"skip", "error"}, default="skip"
        Leave out unreadable files (with a warning that names and counts them), or refuse.
    color : bool, default=False
        Three channels rather than one.
    background : float, default=0
        Gray level in [0, 1] under transparent pixels.
    invert : bool, default=False
        For dark subjects on white: make the background 0.
    max_bytes : int, default=4 GiB
        Refuse to build a larger array.

    Returns
    -------
    ImageSet
        ``names`` are the paths below `path`; ``labels`` is None if there are no class folders.

    Raises
    ------
    MissingDataError
        Nothing at `path`, or no pictures in it.
    CorruptFileError
        An unreadable file, if `on_unreadable` is "error"; or no readable file at all.
    MixedSizesError
        Mixed sizes, if `on_mixed_sizes` is "error".
    AmbiguousLabelsError
        Pictures in class folders and beside them.
    TooLargeError
        More than `max_bytes`.
    UnsafeFileError
        A decompression bomb, or a zip with names that point outside of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for animal in ("cat", "dog"):
    ...         (pathlib.Path(folder) / animal).mkdir()
    ...         Image.new("L", (8, 6)).save(f"{folder}/{animal}/1.png")
    ...     pets = load_folder(folder)
    >>> pets.shape, pets.class_names, pets.labels.tolist(), pets.names
    ((6, 8), ('cat', 'dog'), [0, 1], ('cat/1.png', 'dog/1.png'))
    """
    check_choice("on_mixed_sizes", on_mixed_sizes, ("resize", "error"))
    check_choice("on_unreadable", on_unreadable, ("skip", "error"))
    options = DecodeOptions(size, color, background, invert)
    path = Path(path).expanduser()
    errors: list[CorruptFileError] | None = None if on_unreadable == "error" else []
    with open_tree(path) as tree:
        members = _select_split(_pictures_in(tree), split, path)
        if size is None:
            sizes = dict(_read_each(tree, members, picture_size, errors))
            members = {name: members[name] for name in sizes}
            size = _common_size(Counter(sizes.values()), path, on_mixed_sizes, largest_side)
            options = replace(options, size=size)
        names, images = _decode_all(tree, members, options, size, max_bytes, errors)
    if errors:
        warnings.warn(UnreadableFilesWarning(path, errors), stacklevel=2)
    labels, class_names = _labels_from_folders(names, path)
    processing = ["color" if color else "gray", format_shape(size)]
    processing += ["inverted"] if invert else []
    processing += [f"{len(errors)} unreadable file(s) left out"] if errors else []
    card = Card(
        title=path.name,
        source=f"pictures in {path}",
        citation="-",
        size=f"{len(images)} images of {format_shape(images.shape[1:])}",
        processing=", ".join(processing),
    )
    return ImageSet(images, labels, class_names, tuple(names), card)


def _pictures_in(tree: FileTree) -> Members:
    members = [n for n in tree.names if PurePosixPath(n).suffix.lower() in PICTURE_EXTENSIONS]
    if not members:
        raise MissingDataError(
            tree.path,
            f"has no pictures: {len(tree.names)} file(s), none of them "
            f"{', '.join(sorted(PICTURE_EXTENSIONS))}",
        )
    prefix = ""
    if isinstance(tree, ZipTree):
        parents = [PurePosixPath(name).parts[:-1] for name in members]
        n_shared = 0
        while all(len(p) > n_shared and p[n_shared] == parents[0][n_shared] for p in parents):
            n_shared += 1
        prefix = "".join(f"{part}/" for part in parents[0][:n_shared])
    return {name[len(prefix) :]: name for name in members}


def _select_split(members: Members, split: str | None, path: Path) -> Members:
    if split is None:
        return members
    top_folders = {PurePosixPath(name).parts[0] for name in members}
    if not {"train", "test"} <= top_folders and split == "train":
        return members
    if not {"train", "test", split} <= top_folders:
        raise MissingDataError(
            path,
            f"has no split {split!r}: expected folders 'train' and 'test' in it, got "
            f"{first_few(sorted(top_folders))}",
            "Without them the whole folder is 'train'.",
        )
    prefix = f"{split}/"
    return {n.removeprefix(prefix): m for n, m in members.items() if n.startswith(prefix)}


def _read_each(
    tree: FileTree,
    members: Members,
    read: Callable[[bytes, str], Result],
    errors: list[CorruptFileError] | None,
) -> Iterator[tuple[str, Result]]:
    """Yield name and result of `read` for every readable file; at least one, or an error.

    The errors of unreadable files are appended to `errors`; if that is None, the first is raised.
    """
    n_readable = 0
    for name, member in members.items():
        try:
            result = read(tree.read(member), name)
        except CorruptFileError as error:
            if errors is None:
                raise CorruptFileError(
                    error.path,
                    error.reason,
                    f"Remove the file from {tree.path}, or pass on_unreadable='skip'.",
                ) from error
            errors.append(error)
            continue
        n_readable += 1
        yield name, result
    if n_readable == 0:
        warnings.warn(UnreadableFilesWarning(tree.path, errors or []), stacklevel=4)
        raise CorruptFileError(
            tree.path, f"has {len(errors or [])} picture file(s), none of which can be read"
        )


def _common_size(
    counts: Counter[tuple[int, int]], path: Path, on_mixed_sizes: str, largest_side: int | None
) -> tuple[int, int]:
    """The most frequent size (the smallest of several), reduced to `largest_side`."""
    common = min(counts, key=lambda size: (-counts[size], size))
    if len(counts) > 1:
        if on_mixed_sizes == "error":
            raise MixedSizesError(path, counts)
        warnings.warn(MixedSizesWarning(path, counts, common), stacklevel=3)
    size = reduced_size(common, largest_side)
    if size != common:
        warnings.warn(ReducedSizeWarning(path, common, size), stacklevel=3)
    return size


def _decode_all(
    tree: FileTree,
    members: Members,
    options: DecodeOptions,
    size: tuple[int, int],
    max_bytes: int,
    errors: list[CorruptFileError] | None,
) -> tuple[list[str], FloatArray]:
    """Decode into one array, allocated beforehand so that the memory needed is known."""
    shape = (len(members), *size) + ((3,) if options.color else ())
    n_bytes = math.prod(map(int, shape)) * np.dtype(np.float32).itemsize
    if n_bytes > max_bytes:
        raise TooLargeError(tree.path, n_bytes, max_bytes)
    images = np.empty(shape, np.float32)
    names: list[str] = []
    for name, pixels in _read_each(
        tree, members, lambda content, name: decode_picture(content, name, options), errors
    ):
        images[len(names)] = pixels
        names.append(name)
    return names, images[: len(names)]


def _labels_from_folders(names: list[str], path: Path) -> tuple[IntArray | None, tuple[str, ...]]:
    parts = [PurePosixPath(name).parts for name in names]
    folders = [folder if rest else None for folder, *rest in parts]
    classes = [folder for folder in folders if folder is not None]
    if not classes:
        return None, ()
    if None in folders:
        raise AmbiguousLabelsError(path, names[folders.index(None)])
    class_names = sorted(set(classes), key=natural_key)
    numbers = {name: number for number, name in enumerate(class_names)}
    return np.array([numbers[name] for name in classes], np.int64), tuple(class_names)
