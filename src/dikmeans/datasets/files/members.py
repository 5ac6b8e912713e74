"""Which files of a tree are wanted, by their extension and split, and reading them one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

from dikmeans.datasets._text import first_few
from dikmeans.datasets.errors import CorruptFileError, MissingDataError, UnreadableFilesWarning
from dikmeans.datasets.files.tree import FileTree, ZipTree

Members = dict[str, str]
"""Names of files below the root (or split) of a tree, and the names to read them by."""

Result = TypeVar("Result")


def has_extension(name: str, extensions: Collection[str]) -> bool:
    """Whether the name of a file ends in one of these, in upper or lower case."""
    return PurePosixPath(name).suffix.lower() in extensions


def find_members(
    tree: FileTree, extensions: Collection[str], split: str | None, kind: str
) -> Members:
    """The files of a tree with these extensions, of one split if there are splits.

    Folders of a zip that hold everything are left out of the names. `kind` is what the files are
    called in an error.
    """
    members = [name for name in tree.names if has_extension(name, extensions)]
    if not members:
        raise MissingDataError(
            tree.path,
            f"has no {kind}: {len(tree.names)} file(s), none of them "
            f"{', '.join(sorted(extensions))}",
        )
    prefix = ""
    if isinstance(tree, ZipTree):
        parents = [PurePosixPath(name).parts[:-1] for name in members]
        n_shared = 0
        while all(len(p) > n_shared and p[n_shared] == parents[0][n_shared] for p in parents):
            n_shared += 1
        prefix = "".join(f"{part}/" for part in parents[0][:n_shared])
    return _select_split({name[len(prefix) :]: name for name in members}, split, tree.path)


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


class MemberReader:
    """Reads the members of a tree; leaves out, or refuses, those that cannot be read.

    Parameters
    ----------
    tree : FileTree
    kind : str
        What the files are called in an error, such as "picture".
    skip : bool
        Whether unreadable files are left out rather than refused.

    Attributes
    ----------
    errors : list of CorruptFileError
        One for each file that was left out.
    """

    def __init__(self, tree: FileTree, kind: str, *, skip: bool):
        self.tree, self.kind, self.skip = tree, kind, skip
        self.errors: list[CorruptFileError] = []

    def read_each(
        self, members: Members, read: Callable[[bytes, str], Result]
    ) -> Iterator[tuple[str, Result]]:
        """Yield name and result of `read` for every readable file; at least one, or an error."""
        n_readable = 0
        for name, member in members.items():
            try:
                content = self.tree.read(member)
                if not content:
                    raise CorruptFileError(name, "is empty: 0 bytes")
                result = read(content, name)
            except CorruptFileError as error:
                if not self.skip:
                    raise CorruptFileError(
                        error.path,
                        error.reason,
                        f"Remove the file from {self.tree.path}, or pass on_unreadable='skip'.",
                    ) from error
                self.errors.append(error)
                continue
            n_readable += 1
            yield name, result
        if n_readable == 0:
            self.warn()
            n_errors = len(self.errors)
            raise CorruptFileError(
                self.tree.path, f"has {n_errors} {self.kind} file(s), none of which can be read"
            )

    def warn(self) -> None:
        """Warn of the files that were left out, if there are any."""
        if self.errors:
            warnings.warn(UnreadableFilesWarning(self.tree.path, self.errors), stacklevel=4)
