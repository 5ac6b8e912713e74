"""Head poses of Pointing'04 (the paper's "Face-10"): 15 people, two series, 13 pan angles, level.

There is no published split: persons 1-10 and the first series of person 11 are for training (273
images), the rest for testing (117), which gives the paper's numbers without a series in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import CorruptFileError, MissingDataError
from dikmeans.datasets.files.table import read_table
from dikmeans.datasets.files.tree import FileTree, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import Box, DecodeOptions, decode_picture
from dikmeans.datasets.sets.published import SPLITS, FileLayout, PublishedFiles

_HOMEPAGE = "http://www-prima.inrialpes.fr/perso/Gourier/Faces/HPDatabase.html"
CARD = Card(
    title="Face pose (Pointing'04, tilt 0)",
    source=f"N. Gourier, D. Hall, J. L. Crowley, {_HOMEPAGE}",
    citation="N. Gourier, D. Hall, J. L. Crowley. Estimating face orientation from robust "
    "detection of salient facial features. Pointing 2004, ICPR workshop, Cambridge, UK.",
    size="273 training and 117 test images of 288x384, 13 pan angles",
    processing="gray",
)
PANS = tuple(range(-90, 91, 15))
FRAME_SIZE = (36, 48)
FACE_SIZE = (40, 40)

# Person, series, number within the series, tilt, pan. "personne" is the French spelling of the
# first release.
_NAME = re.compile(
    r"person(?:ne)?(?P<person>[0-9]{2})(?P<series>[12])(?P<number>[0-9]{2})"
    r"(?P<tilt>[+-][0-9]+)(?P<pan>[+-][0-9]+)\.jpg",
    re.IGNORECASE,
)
# The release repeats photographs in a folder "Front": only those in the folder of a person, or in
# none, count.
_FOLDER = re.compile(r"(person(ne)?[0-9]{2})?", re.IGNORECASE)
_ARCHIVE, _INDEX = "tilt0.zip", "index.csv"
_BOX_COLUMNS = ("face_cx", "face_cy", "face_w", "face_h")
_PEOPLE = {"train": range(1, 12), "test": range(11, 16)}

Photographs = tuple[Path, Callable[[FileTree, str], Box]]
"""A folder or zip of photographs, and a function that finds the face in one of them."""


def _read_folders(folder: Path, split: str) -> Photographs:
    """``Person01/person01146+0+0.jpg``, and a text file of the same name with the face's box."""

    def find_box(tree: FileTree, member: str) -> Box:
        text = str(PurePosixPath(member).with_suffix(".txt"))
        if text not in tree.names:
            raise MissingDataError(
                f"{text} in {tree.path}",
                "does not exist; it holds the place of the face",
                f"Put it beside {member}, or load full frames with face_box=False.",
            )
        numbers = tree.read(text).decode("utf-8", "replace").split()[-4:]
        return _parse_box(numbers, f"{text} in {tree.path}")

    return folder, find_box


def _read_archive(folder: Path, split: str) -> Photographs:
    """``tilt0.zip`` with the level photographs, and one table for all faces."""
    table = folder / _INDEX
    boxes = {
        line["file"]: _parse_box([line[name] for name in _BOX_COLUMNS], f"{table}, line {number},")
        for number, line in read_table(table, ("file", *_BOX_COLUMNS))
    }

    def find_box(tree: FileTree, member: str) -> Box:
        name = PurePosixPath(member).name
        if name not in boxes:
            raise MissingDataError(table, f"has no line for {name}")
        return boxes[name]

    return folder / _ARCHIVE, find_box


def _parse_box(numbers: Sequence[str | None], place: str) -> Box:
    """Top, left, height, width from the files' center x, center y, width, height."""
    try:
        x, y, width, height = (int(number or "") for number in numbers)
    except ValueError:
        x = y = width = height = 0
    if width <= 0 or height <= 0:
        raise CorruptFileError(
            place,
            "must give the face as four whole numbers (center x, center y, width, height); got "
            f"{numbers}",
        )
    return y - height // 2, x - width // 2, height, width


FILES = PublishedFiles(
    folder="pointing04",
    layouts=(
        FileLayout(
            "the published folders of photographs and texts, Person01/person01146+0+0.jpg and .txt",
            {split: tuple(f"Person{n:02d}" for n in people) for split, people in _PEOPLE.items()},
            _read_folders,
        ),
        FileLayout(
            "the level photographs in one zip and a table of the faces",
            dict.fromkeys(SPLITS, (_ARCHIVE, _INDEX)),
            _read_archive,
        ),
    ),
    homepage=_HOMEPAGE,
)


def load_face_pose(
    split: str,
    data_home: Path,
    may_download: bool,
    /,
    *,
    face_box: bool = False,
    size: tuple[int, int] | None = None,
) -> ImageSet:
    """Load the head poses.

    Parameters
    ----------
    split, data_home, may_download
        As in `DatasetLoader`.
    face_box : bool, default=False
        Cut out the face, whose place the publishers give; by default the full frame, as in the
        paper.
    size : (int, int), optional
        Height and width; by default (36, 48) for frames and (40, 40) for faces.
    """
    size = size or (FACE_SIZE if face_box else FRAME_SIZE)
    options = DecodeOptions(size=size)
    path, find_box = FILES.read(split, data_home, may_download)
    images, labels, names = [], [], []
    with open_tree(path) as tree:
        for member in tree.names:
            place = PurePosixPath(member)
            name = _NAME.fullmatch(place.name)
            if name is None or not _FOLDER.fullmatch(place.parent.name) or not _is_in(name, split):
                continue
            box = find_box(tree, member) if face_box else None
            images.append(decode_picture(tree.read(member), member, options, box))
            labels.append(PANS.index(int(name["pan"])))
            names.append(name[0])
    if not images:
        raise CorruptFileError(path, f"has no {split} photographs at tilt 0")
    part = "face box" if face_box else "full frame"
    return ImageSet(
        images=np.stack(images),
        labels=np.array(labels, np.int64),
        class_names=tuple(f"{pan:+d}" if pan else "0" for pan in PANS),
        names=tuple(names),
        card=replace(
            CARD, processing=f"{part}, {CARD.processing}, reduced to {format_shape(size)}"
        ),
    )


def _is_in(name: re.Match[str], split: str) -> bool:
    """Whether a photograph is level, at one of the 13 pan angles, and in the split."""
    level = int(name["tilt"]) == 0 and int(name["pan"]) in PANS
    for_training = (int(name["person"]), int(name["series"])) <= (11, 1)
    return level and for_training == (split == "train")
