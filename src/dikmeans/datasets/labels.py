"""Labels of files: from the folders they lie in, or from a table that the user gives.

Labels are never used to cluster; they are there to compare clusters with. Folders are taken for
labels only if the user says so, or if the tree is plainly ``class/*.png``: every file one level
deep, in at least two folders.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from dikmeans._typing import IntArray, PathLike
from dikmeans.datasets._text import first_few
from dikmeans.datasets.errors import (
    AmbiguousLabelsError,
    CorruptFileError,
    LabelsFileError,
    MissingDataError,
)
from dikmeans.datasets.files.tree import natural_key

AUTO, FOLDERS, NONE = "auto", "folders", "none"
_COLUMNS = ("file", "label")
_DELIMITERS = ",;\t"
_LARGEST_TABLE = 1 << 28


class Labels(NamedTuple):
    """Labels of images.

    Attributes
    ----------
    numbers : ndarray of int64, shape (N,), or None
        Index into `class_names`; None if there are no labels.
    class_names : tuple of str
    source : str or None
        What to call them: "folders", "labels in FILE.csv"; None if there are none.
    """

    numbers: IntArray | None = None
    class_names: tuple[str, ...] = ()
    source: str | None = None


def find_labels(
    names: Sequence[str], labels: PathLike, root: Path, *, others: Collection[str] = ()
) -> Labels:
    """Labels of files by their names below `root`.

    Parameters
    ----------
    names : sequence of str
        Paths below the root, with slashes.
    labels : {"auto", "folders", "none"} or path
        Where labels come from: the folders if the tree is plainly ``class/*.png``; the folders;
        nowhere; or a table with the columns ``file`` and ``label`` (or whose first two columns are
        these).
    root : path
        For messages.
    others : collection of str
        Further files that a table may name: those that could not be read, or belong to another
        split.

    Raises
    ------
    AmbiguousLabelsError
        Folders are asked for, and some files lie in none.
    LabelsFileError
        A table lacks files, names others, or contradicts itself.
    """
    if labels == NONE:
        return Labels()
    if labels in (AUTO, FOLDERS):
        return _from_folders(names, root, asked=labels == FOLDERS)
    path = Path(labels).expanduser()
    by_file = _read_table(path, {*names, *others})
    return _numbered(
        [by_file[name] for name in _labeled(names, by_file, path)], f"labels in {path.name}"
    )


def _from_folders(names: Sequence[str], root: Path, *, asked: bool) -> Labels:
    parents = [PurePosixPath(name).parts[:-1] for name in names]
    if asked:
        if () in parents:
            raise AmbiguousLabelsError(root, names[parents.index(())])
    elif {len(parent) for parent in parents} != {1} or len(set(parents)) < 2:
        return Labels()
    return _numbered([parent[0] for parent in parents], FOLDERS)


def _numbered(classes: Sequence[str], source: str) -> Labels:
    class_names = sorted(set(classes), key=natural_key)
    numbers = {name: number for number, name in enumerate(class_names)}
    return Labels(np.array([numbers[c] for c in classes], np.int64), tuple(class_names), source)


def _read_table(path: Path, known: Collection[str]) -> dict[str, str]:
    """Label of each file that a table names; every one of them is known."""
    rows = _rows_of(path)
    header = [cell.strip().lower() for cell in rows[0]]
    if set(_COLUMNS) <= set(header):
        file_column, label_column = map(header.index, _COLUMNS)
        rows = rows[1:]
    else:
        file_column, label_column = 0, 1
        if _normalized(rows[0][0]) not in known:
            rows = rows[1:]
    if any(len(row) <= max(file_column, label_column) for row in rows):
        raise CorruptFileError(path, "must have two columns in every line: file and label")
    by_file: dict[str, str] = {}
    contradictions: list[str] = []
    for row in rows:
        file, label = _normalized(row[file_column]), row[label_column].strip()
        if by_file.setdefault(file, label) != label:
            contradictions.append(f"{file!r} ({by_file[file]!r} and {label!r})")
    if contradictions:
        raise LabelsFileError(path, f"has two labels for {first_few(contradictions)}")
    unknown = [repr(file) for file in by_file if file not in known]
    if unknown:
        raise LabelsFileError(
            path,
            f"names {len(unknown)} file(s) that are not there: {first_few(unknown)}",
            "Files are written as paths below the folder, such as 'day1/a.png'.",
        )
    return by_file


def _rows_of(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise MissingDataError(path, "does not exist, or is not a file of labels")
    if path.stat().st_size > _LARGEST_TABLE:
        raise CorruptFileError(path, f"is larger than {_LARGEST_TABLE:,} bytes; expected a table")
    # Names of files may hold bytes that are not UTF-8; Python's own names keep them this way.
    text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
    if "\0" in text:
        raise CorruptFileError(path, "cannot be read as a table: it is not a text file")
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    try:
        table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [row for row in table if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise CorruptFileError(path, f"cannot be read as a table: {error}") from error
    if not rows:
        raise CorruptFileError(path, "is empty; expected the columns file and label")
    return rows


def _normalized(file: str) -> str:
    return str(PurePosixPath(file.strip().replace("\\", "/")))


def _labeled(names: Sequence[str], by_file: dict[str, str], path: Path) -> Sequence[str]:
    """The names, if every one has a label."""
    lacking = [repr(name) for name in names if not by_file.get(name)]
    if lacking:
        raise LabelsFileError(
            path,
            f"has no label for {len(lacking)} of {len(names)} files: {first_few(lacking)}",
            "Every file needs one.",
        )
    return names
