"""A tree of files, in a folder or in a zip, behind one face: names and bytes.

A zip is never unpacked. Its members are read into memory one at a time, within limits, and their
names are only ever compared, split and printed. An archive with names that would climb out of a
folder, with links or with absurd sizes is refused as a whole: nobody makes one of those by
accident.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from dikmeans.datasets.errors import CorruptFileError, MissingDataError, UnsafeFileError

if TYPE_CHECKING:
    from types import TracebackType


class FileTree(Protocol):
    """Names below a root, in natural order, and the bytes behind each."""

    label: str
    names: tuple[str, ...]

    def read(self, name: str) -> bytes:
        """The content of one file."""

    def __enter__(self) -> FileTree: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True)
class ZipLimits:
    """How much a zip may hold before it counts as a bomb.

    Attributes
    ----------
    member_bytes, total_bytes : int
        Uncompressed size of one member and of all together.
    members : int
        How many members there may be.
    """

    member_bytes: int = 1 << 28
    total_bytes: int = 1 << 34
    members: int = 2_000_000


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sort key under which ``img2`` comes before ``img10``; the plain name breaks ties.

    Examples
    --------
    >>> sorted(["img10.png", "img2.png"], key=natural_key)
    ['img2.png', 'img10.png']
    """
    pieces = re.findall(r"[0-9]+|[^0-9]+", name)
    # Numbers compare by length, then digits: int() refuses the very long ones a hostile name may
    # have.
    return [
        (0, len(number := piece.lstrip("0")), number)
        if piece[0] in "0123456789"
        else (1, 0, piece.lower())
        for piece in pieces
    ], name


def open_tree(path: Path, limits: ZipLimits | None = None) -> FileTree:
    """Open a folder or a zip.

    Parameters
    ----------
    path : pathlib.Path
        What to open.
    limits : ZipLimits, optional
        Bounds on a zip.

    Returns
    -------
    FileTree
        A context manager. Hidden files and the folders ``__MACOSX`` are left out.

    Raises
    ------
    MissingDataError
        There is nothing at `path`.
    CorruptFileError
        It is a file, and not a zip.
    UnsafeFileError
        It is a zip no one should open.
    """
    if path.is_dir():
        return FolderTree(path)
    if path.is_file():
        return ZipTree(path, limits or ZipLimits())
    raise MissingDataError(f"There is no folder and no file at {path}.")


class FolderTree:
    """The files below a folder. Links to folders are not followed, so that a loop cannot occur."""

    def __init__(self, root: Path) -> None:
        self.label = str(root)
        self._root = root
        found = []
        for folder, subfolders, files in os.walk(root):
            subfolders[:] = [name for name in subfolders if _wanted(name)]
            below = Path(folder).relative_to(root)
            found += [(below / name).as_posix() for name in files if _wanted(name)]
        self.names = tuple(sorted(found, key=natural_key))

    def read(self, name: str) -> bytes:
        """The content of one file."""
        try:
            return (self._root / name).read_bytes()
        except OSError as error:
            raise CorruptFileError(f"{name} in {self.label} cannot be read ({error}).") from error

    def __enter__(self) -> FolderTree:
        return self

    def __exit__(self, *_: object) -> None:
        return


class ZipTree:
    """The members of a zip, read into memory one at a time."""

    def __init__(self, path: Path, limits: ZipLimits) -> None:
        self.label = str(path)
        self._limits = limits
        try:
            self._zip = zipfile.ZipFile(path)
        except MemoryError:
            raise
        except Exception as error:  # damaged bytes make zipfile raise nearly anything
            raise CorruptFileError(
                f"{path} is neither a folder nor a readable zip file of images ({error})."
            ) from error
        try:
            self._members = self._checked_members()
        except BaseException:
            self._zip.close()
            raise
        self.names = tuple(sorted(self._members, key=natural_key))

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        # Not info.is_dir(), which fails on a member without a name.
        members = [i for i in self._zip.infolist() if not i.filename.endswith("/")]
        total = sum(info.file_size for info in members)
        if len(members) > self._limits.members or total > self._limits.total_bytes:
            raise UnsafeFileError(
                f"{self.label} unpacks to {len(members):,} files of {total:,} bytes; the limits "
                f"are {self._limits.members:,} files and {self._limits.total_bytes:,} bytes. "
                "If you trust it, unpack it yourself and load the folder."
            )
        for info in members:
            self._check_member(info)
        return {
            info.filename: info
            for info in members
            if all(_wanted(part) for part in PurePosixPath(info.filename).parts)
        }

    def _check_member(self, info: zipfile.ZipInfo) -> None:
        # Windows tools write backslashes; seen as separators, so that "..\\x" does not slip
        # through.
        parts = re.split(r"[/\\]", info.filename)
        if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:", info.filename):
            raise UnsafeFileError(
                f"{self.label} has a member named {info.filename!r}, which points outside of the "
                "archive. Nothing was read."
            )
        if stat.S_ISLNK(info.external_attr >> 16):
            raise UnsafeFileError(
                f"{self.label} has a symbolic link, {info.filename!r}; only files are read."
            )
        if info.file_size > self._limits.member_bytes:
            raise UnsafeFileError(
                f"{self.label} has a member, {info.filename!r}, of {info.file_size:,} bytes; the "
                f"limit is {self._limits.member_bytes:,}."
            )

    def read(self, name: str) -> bytes:
        """The content of one member; its checksum is verified by zipfile."""
        info = self._members[name]
        try:
            with self._zip.open(info) as stream:
                # One byte more than allowed: sizes in a zip's directory are claims, not facts.
                content = stream.read(self._limits.member_bytes + 1)
        except MemoryError:
            raise
        except Exception as error:  # as above
            raise CorruptFileError(f"{name} in {self.label} cannot be read ({error}).") from error
        if len(content) > self._limits.member_bytes:
            raise UnsafeFileError(
                f"{name} in {self.label} is larger than {self._limits.member_bytes:,} bytes."
            )
        return content

    def __enter__(self) -> ZipTree:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()


def _wanted(part: str) -> bool:
    return not part.startswith(".") and part != "__MACOSX"
