"""EMNIST letters: handwritten letters of 28x28, capitals and small letters merged into 26 classes.

EMNIST stores images transposed (rows and columns exchanged); here they come upright.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.fetch import RemoteFile
from dikmeans.datasets.files.idx import read_idx_pair
from dikmeans.datasets.files.tree import ZipLimits, ZipTree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.characters import (
    Characters,
    characters_from_idx,
    idx_layout,
    to_image_set,
)
from dikmeans.datasets.sets.named import SPLITS, Layout, NamedSet, Shelf, find_file

if TYPE_CHECKING:
    from pathlib import Path

CARD = Card(
    title="EMNIST letters",
    source="G. Cohen, S. Afshar, J. Tapson, A. van Schaik, "
    "https://www.nist.gov/itl/products-and-services/emnist-dataset",
    citation="G. Cohen, S. Afshar, J. Tapson, A. van Schaik. EMNIST: an extension of MNIST to "
    "handwritten letters. arXiv:1702.05373, 2017.",
    size="124,800 training and 20,800 test images of 28x28, 26 letters of either case",
    processing="transposed to upright, bytes scaled to [0, 1]",
)

_FILES = {
    split: (
        f"emnist-letters-{split}-images-idx3-ubyte",
        f"emnist-letters-{split}-labels-idx1-ubyte",
    )
    for split in SPLITS
}
_ARCHIVE = "gzip.zip"

_DRAW_TITLE = "EMNIST letters (50k draw)"
_DRAW_FILES = (
    "emnist-letters26-balanced-images-idx3-ubyte",
    "emnist-letters26-balanced-labels-idx1-ubyte",
)
_DRAW_TEST_IMAGES = 10_000


def _read_archive(folder: Path, split: str) -> Characters:
    # The archive holds all of EMNIST: larger than any folder of pictures a user would zip.
    with ZipTree(folder / _ARCHIVE, ZipLimits(member_bytes=1 << 30)) as tree:
        members = [f"gzip/{name}.gz" for name in _FILES[split]]
        lacking = sorted(set(members) - set(tree.names))
        if lacking:
            raise CorruptFileError(
                f"{tree.label} has no {', '.join(lacking)}: is it EMNIST's archive?"
            )
        images, labels = (tree.read(name) for name in members)
        pair = read_idx_pair(images, labels, members[0], members[1])
    return characters_from_idx(*pair, transposed=True)


def _read_draw(folder: Path, split: str) -> Characters:
    images, labels = (find_file(folder, name) or folder / name for name in _DRAW_FILES)
    pictures, numbers = read_idx_pair(images, labels)
    if len(pictures) <= _DRAW_TEST_IMAGES:
        raise CorruptFileError(
            f"{images} has {len(pictures):,} images; expected more than the last "
            f"{_DRAW_TEST_IMAGES:,}, which are the test part."
        )
    part = {"train": slice(None, -_DRAW_TEST_IMAGES), "test": slice(-_DRAW_TEST_IMAGES, None)}[
        split
    ]
    return Characters(pictures[part].transpose(0, 2, 1), numbers[part], _DRAW_TITLE)


SHELF = Shelf(
    folder="emnist",
    layouts=(
        idx_layout("the published idx files, gzipped or not", _FILES, transposed=True),
        Layout("the published archive", dict.fromkeys(SPLITS, (_ARCHIVE,)), _read_archive),
        Layout(
            f"a balanced draw without a split of its own (its last {_DRAW_TEST_IMAGES:,} images "
            "are the test part)",
            dict.fromkeys(SPLITS, _DRAW_FILES),
            _read_draw,
        ),
    ),
    homepage="https://www.nist.gov/itl/products-and-services/emnist-dataset",
    remotes=dict.fromkeys(
        SPLITS,
        (
            RemoteFile(
                _ARCHIVE,
                "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                "md5",
                "58c8d27c78d21e728a6bc7b3cc06412e",
            ),
        ),
    ),
)


def load_emnist_letters(split: str, data_home: Path, download: bool) -> ImageSet:
    """Load EMNIST letters; no options."""
    return to_image_set(
        SHELF.read(split, data_home, download),
        split,
        CARD,
        class_names=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        first_number=1,
        shape=(28, 28),
    )


SET = NamedSet("emnist-letters", load_emnist_letters)
