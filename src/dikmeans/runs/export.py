"""Originals sorted into one folder per cluster, as copies or links; nothing is ever moved.

    FOLDER/
      cluster-0/...     the originals of its members, under their own names
      cluster-1/...
      labels.csv        file, cluster, prototype, cost, margin, and where the copy is

Pictures that are no files (arrays, data sets) are written as PNG. An original that cannot be used
has no copy, and is named.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from dikmeans._typing import Array, PathLike
from dikmeans.io.atomic import atomic_folder
from dikmeans.runs.labels_file import HEADER, LabelRow, row_cells
from dikmeans.runs.originals import Originals
from dikmeans.runs.picture_file import write_picture
from dikmeans.runs.run_folder import LABELS, RunFolder, RunFolderError, RunFolderProblem

LARGEST_SIDE = 1 << 14
LONGEST_NAME = 80
OUTLIERS = "outliers"
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"|?*\\]')
# Names that Windows keeps for devices, whatever their extension.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


class Exported(NamedTuple):
    """What was written.

    Attributes
    ----------
    path : pathlib.Path
        The folder.
    n_files : int
        Originals that it holds.
    missing : dict of str to str
        Names of those it does not, and why.
    """

    path: Path
    n_files: int
    missing: dict[str, str]


def export_clusters(
    run: RunFolder,
    path: PathLike,
    originals: Originals,
    *,
    links: bool = False,
    folders: Sequence[str] | None = None,
) -> Exported:
    """Sort the originals of a run into one folder per cluster, whole or not at all.

    Parameters
    ----------
    run : RunFolder
    path : path-like
        The folder to make.
    originals : Originals
        As ``run.find_originals`` returns them.
    links : bool, default=False
        Make symbolic links to the files in place of copies, where they lie in a folder.
    folders : sequence of str, optional
        The folder of each original; by default "cluster-" and the number of its cluster.

    Raises
    ------
    RunFolderError
        There is something at `path` already, or links cannot be made there.
    """
    place = Path(path).expanduser()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise RunFolderError(place, RunFolderProblem.EXPORT_EXISTS, "exists already")
    copies: list[str] = []
    missing: dict[str, str] = {}
    taken: set[str] = set()
    if folders is None:
        folders = [_cluster_folder(row.cluster, run.model.n_clusters) for row in run.labels]
    with atomic_folder(place.resolve()) as folder:
        for number, (row, chosen) in enumerate(zip(run.labels, folders, strict=True)):
            target = _target(row, chosen, originals, number, taken)
            if number in originals.problems or not _write(
                folder / target, originals, number, links
            ):
                missing[row.file] = originals.problems.get(number, "cannot be read")
                target = ""
            copies.append(target)
        (folder / LABELS).write_bytes(_table(run.labels, copies))
    return Exported(place, len(run.labels) - len(missing), missing)


def folder_name(name: str) -> str:
    """A name that every file system takes for a folder, and that leads nowhere else.

    Examples
    --------
    >>> folder_name("crossed 7"), folder_name("../etc"), folder_name(".."), folder_name("a/b:c")
    ('crossed 7', '.._etc', 'cluster', 'a_b_c')
    >>> folder_name("Aux")
    '_Aux'
    """
    return _plain(name.replace("/", "_")[:LONGEST_NAME].strip()) or "cluster"


def _plain(part: str) -> str:
    """A part of a path that every file system takes; empty if nothing is left of it."""
    text = _NOT_IN_NAMES.sub("_", part).rstrip(". ")  # Windows drops dots and spaces at the end
    return f"_{text}" if _DEVICES.fullmatch(text) else text


def _cluster_folder(cluster: int, n_clusters: int) -> str:
    return f"cluster-{cluster:0{len(str(n_clusters - 1))}d}" if cluster >= 0 else OUTLIERS


def _target(row: LabelRow, folder: str, originals: Originals, number: int, taken: set[str]) -> str:
    """Where a copy goes, below the folder: never out of it, and never where another one is."""
    parts = [part for part in PurePosixPath(row.file).parts if part not in ("..", "/", ".")]
    name = "/".join(filter(None, map(_plain, parts))) or "picture"
    if not originals.has_file(number):
        name += ".png"
    target, suffix = PurePosixPath(folder, name), PurePosixPath(name).suffix
    again = 1
    while str(target).lower() in taken:  # some file systems do not tell cases apart
        again += 1
        target = target.with_name(f"{PurePosixPath(name).stem}-{again}{suffix}")
    taken.add(str(target).lower())
    return str(target)


def _write(path: Path, originals: Originals, number: int, links: bool) -> bool:
    """Write one original; False if it cannot be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = originals.path(number)
    if links and source is not None:
        try:
            os.symlink(source.resolve(), path)
        except OSError as error:  # Windows asks for a privilege; some file systems have no links
            reason = f"cannot be a link: {error.strerror or error}"
            raise RunFolderError(path, RunFolderProblem.NO_LINKS, reason) from error
        return True
    if not originals.has_file(number):
        write_picture(path, _unit_range(originals.read(number, LARGEST_SIDE)))
        return True
    content = originals.content(number)
    if content is None:
        return False
    path.write_bytes(content)
    return True


def _unit_range(picture: Array) -> Array:
    """A picture with values from 0 to 1; those of arrays are so already, unless they are signed."""
    if picture.dtype == np.uint8:
        return picture / np.float32(255)
    low, high = float(picture.min()), float(picture.max())
    if low >= 0 and high <= 1:
        return picture
    return (picture - low) / max(high - low, 1e-9)


def _table(rows: list[LabelRow], copies: list[str]) -> bytes:
    """The labels, with the places of the copies."""
    text = io.StringIO(newline="")
    text.write(f"{HEADER},copy\n")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for row, copy in zip(rows, copies, strict=True):
        writer.writerow((*row_cells(row), copy))
    return text.getvalue().encode("utf-8", "surrogateescape")
