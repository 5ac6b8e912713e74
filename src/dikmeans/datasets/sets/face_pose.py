"""Head poses of Pointing'04 (the paper's "Face-10"): 15 people, two series, 13 pan angles, level.

There is no published split: persons 1-10 and the first series of person 11 are the training part
(273 images), the rest the test part (117), which gives the paper's numbers without a series in
both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.datasets.errors import CorruptFileError, MissingDataError
from dikmeans.datasets.files.table import read_table
from dikmeans.datasets.files.tree import FileTree, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import Rendering, decode_picture
from dikmeans.datasets.sets.named import SPLITS, Layout, NamedSet, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable

CARD = Card(
    title="Face pose (Pointing'04, tilt 0)",
    source="N. Gourier, D. Hall, J. L. Crowley, "
    "http://www-prima.inrialpes.fr/perso/Gourier/Faces/HPDatabase.html",
    citation="N. Gourier, D. Hall, J. L. Crowley. Estimating face orientation from robust "
    "detection of salient facial features. Pointing 2004, ICPR workshop, Cambridge, UK.",
    size="273 training and 117 test images of 288x384, 13 pan angles",
    processing="grey",
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
# The release repeats some photographs in a folder "Front": only a person's own folder, or none at
# all, counts.
_PLACE = re.compile(r"(person(ne)?[0-9]{2})?", re.IGNORECASE)
_ARCHIVE, _INDEX = "tilt0.zip", "index.csv"
_BOX_COLUMNS = ("face_cx", "face_cy", "face_w", "face_h")

Box = tuple[int, int, int, int]
"""Top, left, height and width in pixels of the photograph."""


@dataclass(frozen=True)
class Photographs:
    """A tree with photographs, and a way to look up where the face is in one of them."""

    path: Path
    find_box: Callable[[FileTree, str], Box]


def _read_folders(folder: Path, split: str) -> Photographs:
    """``Person01/person01146+0+0.jpg``, and a text of the same name with the face's place."""
    return Photographs(folder, _box_from_text)


def _box_from_text(tree: FileTree, member: str) -> Box:
    text = str(PurePosixPath(member).with_suffix(".txt"))
    if text not in tree.names:
        raise MissingDataError(
            f"{text} is not in {tree.label}; it holds the place of the face. Put it beside "
            f"{member}, or load full frames with face_box=False."
        )
    numbers = tree.read(text).decode("utf-8", "replace").split()[-4:]
    return _box(numbers, f"{text} in {tree.label}")


def _read_archive(folder: Path, split: str) -> Photographs:
    """``tilt0.zip`` with the level photographs, and one table for all faces."""
    boxes = {
        line["file"]: _box(
            [line[column] for column in _BOX_COLUMNS], f"{folder / _INDEX}, line {number}"
        )
        for number, line in read_table(folder / _INDEX, ("file", *_BOX_COLUMNS))
    }

    def find_box(tree: FileTree, member: str) -> Box:
        name = PurePosixPath(member).name
        if name not in boxes:
            raise MissingDataError(f"{folder / _INDEX} has no line for {name}.")
        return boxes[name]

    return Photographs(folder / _ARCHIVE, find_box)


def _box(numbers: list[str | None] | list[str], place: str) -> Box:
    """Top, left, height, width from what the files give: centre x, centre y, width, height."""
    try:
        x, y, width, height = (int(number or "") for number in numbers)
    except ValueError:
        x = y = width = height = 0
    if width <= 0 or height <= 0:
        raise CorruptFileError(
            f"{place}: expected the face as four whole numbers (centre x, centre y, width, "
            f"height), got {numbers}."
        )
    return y - height // 2, x - width // 2, height, width


_PEOPLE = {"train": tuple(range(1, 12)), "test": tuple(range(11, 16))}

SHELF = Shelf(
    folder="pointing04",
    layouts=(
        Layout(
            "the published folders of photographs and texts, Person01/person01146+0+0.jpg and .txt",
            {split: tuple(f"Person{n:02d}" for n in people) for split, people in _PEOPLE.items()},
            _read_folders,
        ),
        Layout(
            "the level photographs in one zip and a table of the faces",
            dict.fromkeys(SPLITS, (_ARCHIVE, _INDEX)),
            _read_archive,
        ),
    ),
    homepage="http://www-prima.inrialpes.fr/perso/Gourier/Faces/HPDatabase.html",
)


def load_face_pose(
    split: str,
    data_home: Path,
    download: bool,
    *,
    face_box: bool = False,
    size: tuple[int, int] | None = None,
) -> ImageSet:
    """Load the head poses.

    Parameters
    ----------
    split, data_home, download
        As in `dikmeans.datasets.load`.
    face_box : bool, default=False
        Cut out the face, whose place the publishers give; by default the full frame, as in the
        paper.
    size : (int, int), optional
        Height and width; by default (36, 48) for frames and (40, 40) for faces.

    Returns
    -------
    ImageSet
    """
    size = size or (FACE_SIZE if face_box else FRAME_SIZE)
    rendering = Rendering(size=size)
    photographs = SHELF.read(split, data_home, download)
    images, labels, names = [], [], []
    with open_tree(photographs.path) as tree:
        for member in tree.names:
            place = PurePosixPath(member)
            name = _NAME.fullmatch(place.name)
            if name is None or not _PLACE.fullmatch(place.parent.name) or not _belongs(name, split):
                continue
            box = photographs.find_box(tree, member) if face_box else None
            images.append(decode_picture(tree.read(member), member, rendering, box))
            labels.append(PANS.index(int(name["pan"])))
            names.append(name[0])
    if not images:
        raise CorruptFileError(
            f"{photographs.path} has no photographs of the {split} part at tilt 0."
        )
    what = "face box" if face_box else "full frame"
    return ImageSet(
        images=np.stack(images),
        labels=np.array(labels, np.int64),
        class_names=tuple(f"{pan:+d}" if pan else "0" for pan in PANS),
        names=tuple(names),
        card=replace(CARD, processing=f"{what}, {CARD.processing}, reduced to {size[0]}x{size[1]}"),
    )


def _belongs(name: re.Match[str], split: str) -> bool:
    """Whether a photograph is level, at one of the 13 pans, and in the split."""
    level = int(name["tilt"]) == 0 and int(name["pan"]) in PANS
    in_train = (int(name["person"]), int(name["series"])) <= (11, 1)
    return level and in_train == (split == "train")


SET = NamedSet("face-pose", load_face_pose)
