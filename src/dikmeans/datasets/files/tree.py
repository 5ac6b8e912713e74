"""A tree of files, in a folder or in a zip, or one file, with one interface: names and bytes.

A zip is never unpacked. Its members are read into memory one at a time, within limits, and their
names are only compared, split and printed. An archive with names that point outside of it, with
links or with absurd sizes is refused as a whole.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dikmeans.datasets.errors import CorruptFileError, MissingDataError, UnsafeFileError


@dataclass(frozen=True)
class ZipLimits:
    """How much a zip may hold before it is refused as a bomb.

    Attributes
    ----------
    member_bytes, total_bytes : int
        Uncompressed size of one member and of all together.
    members : int
        Number of members.
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
    # Numbers compare by length, then digits: int() refuses very long ones.
    return [
        (0, len(number := piece.lstrip("0")), number)
        if piece[0] in "0123456789"
        else (1, 0, piece.lower())
        for piece in re.findall(r"[0-9]+|[^0-9]+", name)
    ], name


class FileTree(ABC):
    """Names of the files below a root, in natural order, and the bytes of each.

    Hidden files and folders called ``__MACOSX`` are left out. A context manager.

    Attributes
    ----------
    path : pathlib.Path
        The root.
    names : tuple of str
        Paths below the root, with slashes.
    """

    path: Path
    names: tuple[str, ...]

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of one file."""

    def close(self) -> None:  # noqa: B027 -- only a zip has something to close
        """Close the archive, if it is one."""

    def __enter__(self) -> FileTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_tree(
    path: Path, limits: ZipLimits | None = None, *, single: Collection[str] = ()
) -> FileTree:
    """Open a folder or a zip, the latter within limits; or one file with an extension of `single`.

    Raises
    ------
    MissingDataError
        There is nothing at `path`.
    CorruptFileError
        It is a file, and not a zip.
    UnsafeFileError
        It is a zip that should not be opened.
    """
    if path.is_dir():
        return FolderTree(path)
    if path.is_file() and path.suffix.lower() in single:
        return SingleFile(path)
    if path.is_file():
        return ZipTree(path, limits or ZipLimits())
    raise MissingDataError(path, "does not exist")


class FolderTree(FileTree):
    """The files below a folder. Links to folders are not followed, so that a loop cannot occur."""

    def __init__(self, root: Path) -> None:
        self.path = root
        names: list[str] = []
        for folder, subfolders, files in os.walk(root):
            subfolders[:] = [name for name in subfolders if _is_visible(name)]
            below = Path(folder).relative_to(root)
            names += [(below / name).as_posix() for name in files if _is_visible(name)]
        self.names = tuple(sorted(names, key=natural_key))

    def read(self, name: str) -> bytes:
        """The content of one file."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise _cannot_read(name, self.path, error) from error


class SingleFile(FileTree):
    """One file that is neither a folder nor a zip."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, (path.name,)

    def read(self, name: str) -> bytes:
        """The content of the file."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise _cannot_read(name, self.path.parent, error) from error


class ZipTree(FileTree):
    """The members of a zip, read into memory one at a time."""

    def __init__(self, path: Path, limits: ZipLimits) -> None:
        self.path = path
        self._limits = limits
        try:
            self._zip = zipfile.ZipFile(path)
        except MemoryError:
            raise
        except Exception as error:  # damaged bytes make zipfile raise nearly anything
            raise CorruptFileError(
                path, f"is neither a folder nor a readable zip file of images ({error})"
            ) from error
        try:
            self._members = self._checked_members()
        except BaseException:
            self._zip.close()
            raise
        self.names = tuple(sorted(self._members, key=natural_key))

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        # Not info.is_dir(), which fails on a member without a name.
        members = [info for info in self._zip.infolist() if not info.filename.endswith("/")]
        total = sum(info.file_size for info in members)
        if len(members) > self._limits.members or total > self._limits.total_bytes:
            raise UnsafeFileError(
                self.path,
                f"unpacks to {len(members):,} files of {total:,} bytes; the limits are "
                f"{self._limits.members:,} files and {self._limits.total_bytes:,} bytes",
                "If you trust it, unpack it yourself and load the folder.",
            )
        for info in members:
            self._check_member(info)
        return {
            info.filename: info
            for info in members
            if all(_is_visible(part) for part in PurePosixPath(info.filename).parts)
        }

    def _check_member(self, info: zipfile.ZipInfo) -> None:
        name = info.filename
        # Windows tools write backslashes as separators.
        parts = re.split(r"[/\\]", name)
        if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:", name):
            reason = f"has a member named {name!r}, which points outside of the archive"
        elif stat.S_ISLNK(info.external_attr >> 16):
            reason = f"has a symbolic link, {name!r}; only files are read"
        elif info.file_size > self._limits.member_bytes:
            reason = (
                f"has a member, {name!r}, of {info.file_size:,} bytes; the limit is "
                f"{self._limits.member_bytes:,}"
            )
        else:
            return
        raise UnsafeFileError(self.path, reason, "Nothing was read.")

    def read(self, name: str) -> bytes:
        """The content of one member; its checksum is verified by zipfile."""
        try:
            with self._zip.open(self._members[name]) as stream:
                # One byte more than allowed: sizes in a zip's directory are claims, not facts.
                content = stream.read(self._limits.member_bytes + 1)
        except MemoryError:
            raise
        except Exception as error:  # damaged bytes make zipfile raise nearly anything
            raise _cannot_read(name, self.path, error) from error
        if len(content) > self._limits.member_bytes:
            raise UnsafeFileError(
                f"{name} in {self.path}", f"is larger than {self._limits.member_bytes:,} bytes"
            )
        return content

    def close(self) -> None:
        """Close the file."""
        self._zip.close()


def _is_visible(part: str) -> bool:
    return not part.startswith(".") and part != "__MACOSX"


def _cannot_read(name: str, root: Path, error: Exception) -> CorruptFileError:
    return CorruptFileError(f"{name} in {root}", f"cannot be read ({error})")
