"""A folder of pictures, or a zip of one -> an `ImageSet`.

``folder/*.png`` is an unlabelled set; in ``folder/class/*.jpg`` the first folder below the root
names the class. The order is natural (``img2`` before ``img10``), classes sorted the same way, so
that it does not depend on the file system. In a zip, folders that hold everything are packaging and
are looked through.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

import numpy as np

from dikmeans.datasets.errors import CorruptFileError, DataError, MissingDataError, check_choice
from dikmeans.datasets.files.tree import FileTree, ZipTree, natural_key, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import (
    EXTENSIONS,
    Rendering,
    decode_picture,
    picture_size,
    reduced_size,
    warn_reduced,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

_NAMED_IN_A_MESSAGE = 5


def load_folder(
    path: str | os.PathLike[str],
    size: tuple[int, int] | None = None,
    *,
    split: str | None = None,
    largest_side: int | None = None,
    on_mixed_sizes: Literal["resize", "error"] = "resize",
    on_unreadable: Literal["skip", "error"] = "skip",
    mode: Literal["grey", "rgb"] = "grey",
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
        Height and width to bring every picture to. They are stretched, not padded: to a clustering
        that is invariant to deformations, stretching is no change.
    split : {"train", "test"}, optional
        Which part to take of a folder that holds ``train`` and ``test``. A folder without them is
        one part, "train".
    largest_side : int, optional
        Without a `size`: reduce larger pictures, in proportion, to at most this many rows and columns
        (with a warning).
    on_mixed_sizes : {"resize", "error"}, default="resize"
        Without a `size`: bring pictures to the size most of them have (with a warning), or refuse.
    on_unreadable : {"skip", "error"}, default="skip"
        Leave out files that are no pictures (with a warning that names and counts them), or refuse.
    mode : {"grey", "rgb"}, default="grey"
        One channel or three.
    background : float, default=0
        Grey level in [0, 1] on which transparent pixels are laid.
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
        An unreadable file, or mixed sizes, where those are refused; or nothing readable at all.
    UnsafeFileError
        A decompression bomb, or a zip whose names climb out of it.

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
    rendering = Rendering(size, mode, background, invert)
    path = Path(path).expanduser()
    with open_tree(path) as tree:
        files = _select_split(_pictures_in(tree), split, tree.label)
        unreadable = _Unreadable(tree.label, refuse=on_unreadable == "error")
        if size is None:
            files, common = _common_size(tree, files, on_mixed_sizes, unreadable)
            rendering = replace(rendering, size=reduced_size(common, largest_side))
            warn_reduced(tree.label, common, rendering.size)
        files, images = _decode_all(tree, files, rendering, max_bytes, unreadable)
        unreadable.warn()
    labels, class_names = _labels_from_folders(files, tree.label)
    card = Card(
        title=path.name,
        source=f"pictures in {path}",
        citation="-",
        size=f"{len(images)} images of {'x'.join(map(str, images.shape[1:]))}",
        processing=_describe(rendering, unreadable.count),
    )
    return ImageSet(images, labels, class_names, tuple(file.name for file in files), card)


@dataclass(frozen=True)
class _File:
    """A picture in a tree: the name to read it by, and that name without packaging folders."""

    member: str
    name: str


class _Unreadable:
    """Collects the files that could not be read, or refuses the first."""

    def __init__(self, label: str, refuse: bool) -> None:
        self._label = label
        self._refuse = refuse
        self._reasons: list[str] = []

    @property
    def count(self) -> int:
        return len(self._reasons)

    def add(self, error: CorruptFileError) -> None:
        if self._refuse:
            raise CorruptFileError(
                f"{error}. Remove the file from {self._label}, or pass on_unreadable='skip'."
            ) from error
        self._reasons.append(str(error))

    def warn(self) -> None:
        if self._reasons:
            warnings.warn(
                f"{self.count} unreadable file(s) in {self._label} left out: "
                + _first_few(self._reasons, "; "),
                UserWarning,
                stacklevel=3,
            )


def _pictures_in(tree: FileTree) -> list[_File]:
    members = [name for name in tree.names if PurePosixPath(name).suffix.lower() in EXTENSIONS]
    if not members:
        raise MissingDataError(
            f"There are no pictures in {tree.label}: {len(tree.names)} file(s), none of them "
            f"{', '.join(sorted(EXTENSIONS))}."
        )
    packaging = ""
    if isinstance(tree, ZipTree):
        parents = [PurePosixPath(name).parts[:-1] for name in members]
        shared = 0
        while all(len(p) > shared and p[shared] == parents[0][shared] for p in parents):
            shared += 1
        packaging = "".join(part + "/" for part in parents[0][:shared])
    return [_File(name, name[len(packaging) :]) for name in members]


def _select_split(files: list[_File], split: str | None, label: str) -> list[_File]:
    if split is None:
        return files
    top_folders = {PurePosixPath(file.name).parts[0] for file in files}
    if not {"train", "test"} <= top_folders and split == "train":
        return files
    if not {"train", "test", split} <= top_folders:
        raise MissingDataError(
            f"{label} has no part {split!r}: expected folders 'train' and 'test' in it, found "
            f"{_first_few(sorted(top_folders))}. Without them the whole folder is 'train'."
        )
    return [
        _File(file.member, file.name.removeprefix(f"{split}/"))
        for file in files
        if file.name.startswith(f"{split}/")
    ]


def _common_size(
    tree: FileTree, files: list[_File], on_mixed_sizes: str, unreadable: _Unreadable
) -> tuple[list[_File], tuple[int, int]]:
    """The readable files and the size most of them have (among equals, the smallest)."""
    readable, sizes = [], []
    for file in files:
        try:
            sizes.append(picture_size(tree.read(file.member), file.name))
            readable.append(file)
        except CorruptFileError as error:
            unreadable.add(error)
    _refuse_nothing(readable, tree, unreadable)
    counts = Counter(sizes)
    common = min(counts, key=lambda size: (-counts[size], size))
    if len(counts) > 1:
        found = _first_few([f"{h}x{w} ({n})" for (h, w), n in counts.most_common()])
        if on_mixed_sizes == "error":
            raise CorruptFileError(
                f"The pictures in {tree.label} differ in size: {found}. Pass size=(height, width), "
                "or on_mixed_sizes='resize' to bring them to the most frequent one."
            )
        warnings.warn(
            f"The pictures in {tree.label} differ in size: {found}; all are resized to the most "
            f"frequent, {common[0]}x{common[1]}. Pass size=(height, width) to choose.",
            UserWarning,
            stacklevel=3,
        )
    return readable, common


def _decode_all(
    tree: FileTree,
    files: list[_File],
    rendering: Rendering,
    max_bytes: int,
    unreadable: _Unreadable,
) -> tuple[list[_File], NDArray[np.float32]]:
    """Decode into one array, made beforehand so that the memory needed is known and bounded."""
    assert rendering.size is not None
    shape = (len(files), *rendering.size) + ((3,) if rendering.mode == "rgb" else ())
    needed = int(np.prod(shape, dtype=object)) * np.dtype(np.float32).itemsize
    if needed > max_bytes:
        raise DataError(
            f"{len(files)} pictures of {'x'.join(map(str, shape[1:]))} from {tree.label} take "
            f"{needed:,} bytes, more than max_bytes={max_bytes:,}. Pass a smaller "
            "size=(height, width), or a larger max_bytes."
        )
    images = np.empty(shape, np.float32)
    readable: list[_File] = []
    for file in files:
        try:
            images[len(readable)] = decode_picture(tree.read(file.member), file.name, rendering)
            readable.append(file)
        except CorruptFileError as error:
            unreadable.add(error)
    _refuse_nothing(readable, tree, unreadable)
    return readable, images[: len(readable)]


def _refuse_nothing(readable: list[_File], tree: FileTree, unreadable: _Unreadable) -> None:
    if not readable:
        unreadable.warn()
        raise CorruptFileError(
            f"None of the {unreadable.count} picture file(s) in {tree.label} can be read."
        )


def _labels_from_folders(
    files: list[_File], label: str
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    folders = [parts[0] if len(parts := PurePosixPath(f.name).parts) > 1 else None for f in files]
    if all(folder is None for folder in folders):
        return None, ()
    if None in folders:
        loose = files[folders.index(None)].name
        raise DataError(
            f"{label} has pictures in folders and beside them (such as {loose!r}), so it is "
            "unclear which class the latter are. Put them into folders too, or load the folders "
            "one by one."
        )
    class_names = sorted({folder for folder in folders if folder is not None}, key=natural_key)
    number = {name: k for k, name in enumerate(class_names)}
    labels = np.array([number[folder] for folder in folders if folder is not None], np.int64)
    return labels, tuple(class_names)


def _describe(rendering: Rendering, skipped: int) -> str:
    assert rendering.size is not None
    steps = [rendering.mode, f"{rendering.size[0]}x{rendering.size[1]}"]
    steps += ["inverted"] if rendering.invert else []
    steps += [f"{skipped} unreadable file(s) left out"] if skipped else []
    return ", ".join(steps)


def _first_few(items: list[str], separator: str = ", ") -> str:
    more = len(items) - _NAMED_IN_A_MESSAGE
    shown = separator.join(items[:_NAMED_IN_A_MESSAGE])
    return f"{shown}{separator}and {more} more" if more > 0 else shown
