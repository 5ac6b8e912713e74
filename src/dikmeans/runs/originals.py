"""The originals of a run: the user's own files, found again, in their colors and resolution.

The pictures that are compared are small and often gray. What people know is the file. `Originals`
reads it; where it has moved, has changed or cannot be read, it says so (`problems`) and the small
picture takes its place, so that whoever shows originals always has something to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray
from dikmeans.datasets import DataError, ImageSet, ImageSource
from dikmeans.datasets.files.tree import FileTree, ZipTree, open_tree
from dikmeans.datasets.pictures.arrays import ARRAY_EXTENSIONS
from dikmeans.datasets.pictures.decode import decode_original
from dikmeans.errors import DikmeansError
from dikmeans.frames import Frame

SOUND_TYPES = {
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".mp3": "audio/mpeg",
}
"""Files that browsers play, by their extension."""


class Sound(NamedTuple):
    """The content of a sound file, and its media type."""

    content: bytes
    media_type: str


class Originals(Protocol):
    """Pictures as people know them, one for each image of a set.

    Attributes
    ----------
    frame : {"stretch", "fit"}
        How the images were made from them.
    problems : dict of int to str
        Why some originals are not used; continues a sentence that begins with the name.
    """

    frame: Frame

    @property
    def problems(self) -> dict[int, str]:
        """Numbers of the images whose original is not used, and why."""

    def __len__(self) -> int: ...

    def read(self, number: int, largest_side: int) -> Array:
        """The original (H, W[, C]) of an image, reduced to `largest_side` if it is a file.

        Bytes are colors from 0 to 255; other numbers are values of the images.
        """

    def has_file(self, number: int) -> bool:
        """Whether the image was made from a file of its own."""

    def content(self, number: int) -> bytes | None:
        """The file, or None if there is none, or if it cannot be used."""

    def path(self, number: int) -> Path | None:
        """The place of the file on the disk, if it has one of its own."""

    def sound(self, number: int) -> Sound | None:
        """The sound that the image is of, if it is of one."""


class ArrayOriginals:
    """Arrays as they were before preprocessing: there are no files, or none that can be used.

    Parameters
    ----------
    images : array of shape (N, H, W[, C])
    problems : dict of int to str, optional
    frame : {"stretch", "fit"}
    """

    def __init__(
        self,
        images: FloatArray,
        problems: dict[int, str] | None = None,
        frame: Frame = "stretch",
    ):
        self._images = images
        self.problems: dict[int, str] = dict(problems or {})
        self.frame: Frame = frame

    def __len__(self) -> int:
        return len(self._images)

    def read(self, number: int, largest_side: int) -> Array:
        """The image itself."""
        return self._images[number]

    def has_file(self, number: int) -> bool:
        """There are no files."""
        return False

    def content(self, number: int) -> bytes | None:
        """There are no files."""
        return None

    def path(self, number: int) -> Path | None:
        """There are no files."""
        return None

    def sound(self, number: int) -> Sound | None:
        """There are no files."""
        return None


class FileOriginals:
    """Files of a folder or a zip.

    Parameters
    ----------
    tree : FileTree
        The folder or zip; it stays open.
    members : sequence of (str or None)
        For each image the name to read its file by; None if it has none.
    images : array of shape (N, rows, columns[, C])
        What is shown in place of a file that cannot be used.
    problems : dict of int to str
    frame : {"stretch", "fit"}
    """

    def __init__(
        self,
        tree: FileTree,
        members: Sequence[str | None],
        images: FloatArray,
        problems: dict[int, str],
        frame: Frame,
    ):
        self._tree, self._members, self._images = tree, members, images
        self.problems, self.frame = dict(problems), frame

    def __len__(self) -> int:
        return len(self._members)

    def read(self, number: int, largest_side: int) -> Array:
        """The file in its colors; the image if it is a sound or cannot be used."""
        member = self._members[number]
        if member is not None and number not in self.problems and _sound_type(member) is None:
            try:
                return decode_original(self._tree.read(member), member, largest_side)
            except DataError as error:
                self.problems[number] = f"cannot be read ({error})"
        return _as_bytes(self._images[number])

    def has_file(self, number: int) -> bool:
        """Every image was made from one."""
        return True

    def content(self, number: int) -> bytes | None:
        """The bytes of the file; None if it cannot be used."""
        member = self._members[number]
        if member is None or number in self.problems:
            return None
        try:
            return self._tree.read(member)
        except DataError as error:
            self.problems[number] = f"cannot be read ({error})"
            return None

    def path(self, number: int) -> Path | None:
        """The file, if it lies in a folder."""
        member = self._members[number]
        if member is None or isinstance(self._tree, ZipTree):
            return None
        return self._tree.path / member

    def sound(self, number: int) -> Sound | None:
        """The file, if it is a sound that browsers play."""
        member = self._members[number]
        media_type = None if member is None else _sound_type(member)
        content = None if media_type is None else self.content(number)
        return None if content is None or media_type is None else Sound(content, media_type)


class SelectedOriginals:
    """Some of other originals, numbered anew."""

    def __init__(self, originals: Originals, numbers: Sequence[int]):
        self._originals, self._numbers = originals, list(numbers)
        self.frame: Frame = originals.frame

    @property
    def problems(self) -> dict[int, str]:
        """Why some of them are not used."""
        known = self._originals.problems
        return {i: known[n] for i, n in enumerate(self._numbers) if n in known}

    def __len__(self) -> int:
        return len(self._numbers)

    def read(self, number: int, largest_side: int) -> Array:
        """As the other originals read it."""
        return self._originals.read(self._numbers[number], largest_side)

    def has_file(self, number: int) -> bool:
        """As the other originals say."""
        return self._originals.has_file(self._numbers[number])

    def content(self, number: int) -> bytes | None:
        """The file, or None."""
        return self._originals.content(self._numbers[number])

    def path(self, number: int) -> Path | None:
        """The place of the file, or None."""
        return self._originals.path(self._numbers[number])

    def sound(self, number: int) -> Sound | None:
        """The sound, or None."""
        return self._originals.sound(self._numbers[number])


def _sound_type(member: str) -> str | None:
    return SOUND_TYPES.get(PurePosixPath(member).suffix.lower())


def _as_bytes(image: FloatArray) -> Array:
    """An image in [0, 1] as a file would have it: bytes (H, W, 3)."""
    gray = image if image.ndim == 2 else image[..., :3] if image.shape[2] >= 3 else image[..., 0]
    levels = np.rint(255 * np.clip(gray, 0, 1)).astype(np.uint8)
    return levels if levels.ndim == 3 else np.repeat(levels[..., None], 3, axis=2)


# -- what a run records, and how it is found again ----------------------------------------------


def record_originals(images: ImageSet, source: ImageSource) -> JSON:
    """What tells later whether originals are still the same: size and time of each file."""
    root = Path(source.name)
    record: JSON = {"frame": images.frame}
    if source.is_named_dataset or root.suffix.lower() in ARRAY_EXTENSIONS or not root.exists():
        return record
    if root.is_file():
        return {**record, "archive": _stamp(root)}
    with open_tree(root) as tree:
        members = _members_of(tree, images.names, source.split)
    stamps = [None if member is None else _stamp(root / member) for member in members]
    return {**record, "files": stamps}


def find_originals(
    images: ImageSet, source: ImageSource, record: object = None, moved_to: str | None = None
) -> Originals:
    """The originals of images, where they are now.

    Parameters
    ----------
    images : ImageSet
        As they were compared.
    source : ImageSource
        Where they came from.
    record : dict, optional
        What `record_originals` has returned; without it files are not checked for changes.
    moved_to : str, optional
        Where they are now, if they have moved.

    Returns
    -------
    Originals
        Never an error: what cannot be used is in `problems`.
    """
    known: JSON = record if isinstance(record, dict) else {}  # a file may say anything
    frame: Frame = "fit" if known.get("frame", images.frame) == "fit" else "stretch"
    if source.is_named_dataset:
        return ArrayOriginals(images.images)
    root = Path(moved_to or source.name).expanduser()
    if not root.exists():
        why = f"is not used: {root} does not exist"
        return ArrayOriginals(images.images, dict.fromkeys(range(len(images)), why))
    if root.suffix.lower() in ARRAY_EXTENSIONS:
        return _array_originals(root, images, source)
    try:
        tree = open_tree(root)
    except DataError as error:
        why = f"is not used: {error}"
        return ArrayOriginals(images.images, dict.fromkeys(range(len(images)), why))
    members = _members_of(tree, images.names, source.split)
    problems = _changes(root, members, known, moved=moved_to is not None)
    return FileOriginals(tree, members, images.images, problems, frame)


def _array_originals(root: Path, images: ImageSet, source: ImageSource) -> Originals:
    """The arrays of a file before they were resized."""
    try:
        full = ImageSource(str(root), source.split, {"size": None}, source.limit).load()
    except (DikmeansError, OSError) as error:
        why = f"is not used: {error}"
        return ArrayOriginals(images.images, dict.fromkeys(range(len(images)), why))
    if full.names != images.names:
        why = f"is not used: {root} holds other pictures now"
        return ArrayOriginals(images.images, dict.fromkeys(range(len(images)), why))
    return ArrayOriginals(full.images)


def _members_of(tree: FileTree, names: Sequence[str], split: str) -> list[str | None]:
    """For each name of an image the file of the tree that it is, or None.

    Names lack the folder of a split, and folders that hold everything in a zip.
    """
    known = set(tree.names)
    ends = [name for name in tree.names if names and name.endswith(f"/{names[0]}")]
    prefixes = ["", f"{split}/", *(end[: -len(names[0])] for end in ends)]
    prefix = max(prefixes, key=lambda start: sum(start + name in known for name in names))
    return [prefix + name if prefix + name in known else None for name in names]


def _changes(
    root: Path, members: Sequence[str | None], record: JSON, *, moved: bool
) -> dict[int, str]:
    """Why files are not the ones that were clustered, by the number of the image.

    Of files that were moved only the size is compared: copying changes the time.
    """
    problems = {
        number: f"is not in {root} any more"
        for number, member in enumerate(members)
        if member is None
    }
    if root.is_file():
        before = record.get("archive")
        is_same = before is None or _is_same(_stamp(root), before, moved)
        return problems if is_same else dict.fromkeys(range(len(members)), f"{root} has changed")
    before = record.get("files")
    before = before if isinstance(before, list) else []
    for number, (member, stamp) in enumerate(zip(members, before, strict=False)):
        if member is not None and stamp and not _is_same(_stamp(root / member), stamp, moved):
            problems[number] = "has changed since the fit"
    return problems


def _stamp(path: Path) -> list[int] | None:
    """Size and time of change of a file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns]


def _is_same(now: list[int] | None, before: object, moved: bool) -> bool:
    if now is None or not isinstance(before, list) or len(before) != len(now):
        return False
    return now[0] == before[0] if moved else now == before
