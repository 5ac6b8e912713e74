"""EMNIST letters: handwritten letters of 28x28, upper and lower case merged into 26 classes.

EMNIST stores images transposed (rows and columns exchanged); they are loaded upright.
"""

from __future__ import annotations

from pathlib import Path

from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.download import RemoteFile
from dikmeans.datasets.files.idx import read_idx_pair
from dikmeans.datasets.files.tree import ZipLimits, ZipTree
from dikmeans.datasets.imageset import Card
from dikmeans.datasets.sets.characters import CharacterDataset, Characters, idx_layout
from dikmeans.datasets.sets.published import SPLITS, FileLayout, PublishedFiles, find_file

CARD = Card(
    title="EMNIST letters",
    source="G. Cohen, S. Afshar, J. Tapson, A. van Schaik, "
    "https://www.nist.gov/itl/products-and-services/emnist-dataset",
    citation="G. Cohen, S. Afshar, J. Tapson, A. van Schaik. EMNIST: an extension of MNIST to "
    "handwritten letters. arXiv:1702.05373, 2017.",
    size="124,800 training and 20,800 test images of 28x28, 26 letters of either case",
    processing="transposed to upright, bytes scaled to [0, 1]",
)

_NAMES = {
    split: (
        f"emnist-letters-{split}-images-idx3-ubyte",
        f"emnist-letters-{split}-labels-idx1-ubyte",
    )
    for split in SPLITS
}
_ARCHIVE = RemoteFile(
    "gzip.zip",
    "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
    "md5:58c8d27c78d21e728a6bc7b3cc06412e",
)
_DRAW_TITLE = "EMNIST letters (50k draw)"
_DRAW_NAMES = (
    "emnist-letters26-balanced-images-idx3-ubyte",
    "emnist-letters26-balanced-labels-idx1-ubyte",
)
_N_DRAW_TEST = 10_000


def _read_archive(folder: Path, split: str) -> Characters:
    # The archive holds all of EMNIST and has larger members than a zip of pictures.
    with ZipTree(folder / _ARCHIVE.name, ZipLimits(member_bytes=1 << 30)) as tree:
        members = [f"gzip/{name}.gz" for name in _NAMES[split]]
        lacking = sorted(set(members) - set(tree.names))
        if lacking:
            raise CorruptFileError(
                tree.path, f"has no {', '.join(lacking)}", "Is it EMNIST's archive?"
            )
        image_file, label_file = (tree.read(name) for name in members)
    images, labels = read_idx_pair(image_file, label_file, *members)
    return Characters(images.transpose(0, 2, 1), labels)


def _read_draw(folder: Path, split: str) -> Characters:
    image_path, label_path = (find_file(folder, name) for name in _DRAW_NAMES)
    images, labels = read_idx_pair(image_path, label_path)
    if len(images) <= _N_DRAW_TEST:
        raise CorruptFileError(
            image_path,
            f"has {len(images):,} images; expected more than the last {_N_DRAW_TEST:,}, which are "
            "for testing",
        )
    rows = slice(None, -_N_DRAW_TEST) if split == "train" else slice(-_N_DRAW_TEST, None)
    return Characters(images[rows].transpose(0, 2, 1), labels[rows], _DRAW_TITLE)


FILES = PublishedFiles(
    folder="emnist",
    layouts=(
        idx_layout("the published idx files, gzipped or not", _NAMES, transposed=True),
        FileLayout("the published archive", dict.fromkeys(SPLITS, (_ARCHIVE.name,)), _read_archive),
        FileLayout(
            f"a balanced draw without a split (its last {_N_DRAW_TEST:,} images are for testing)",
            dict.fromkeys(SPLITS, _DRAW_NAMES),
            _read_draw,
        ),
    ),
    homepage="https://www.nist.gov/itl/products-and-services/emnist-dataset",
    remotes=dict.fromkeys(SPLITS, (_ARCHIVE,)),
)

load_emnist_letters = CharacterDataset(
    CARD, FILES, class_names=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), first_number=1, shape=(28, 28)
)
