"""Rock-Paper-Scissors: rendered hands of many skin tones on white, 300x300.

Converted to gray, inverted (the white background becomes 0) and reduced.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.download import RemoteFile
from dikmeans.datasets.files.tree import natural_key, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import PICTURE_EXTENSIONS, DecodeOptions, decode_picture
from dikmeans.datasets.sets.published import SPLITS, FileLayout, PublishedFiles

_HOMEPAGE = "https://laurencemoroney.com/datasets.html"
CARD = Card(
    title="Rock-Paper-Scissors",
    source=f"L. Moroney, {_HOMEPAGE}",
    citation="L. Moroney. Rock, Paper, Scissors dataset. 2019.",
    size="2,520 training and 372 test images (other hands) of 300x300, 3 gestures",
    processing="gray, inverted so that the background is 0",
)
GESTURES = ("rock", "paper", "scissors")
DEFAULT_SIZE = (48, 48)

_FOLDERS = {"train": "rps", "test": "rps-test-set"}
_MIRROR = "https://storage.googleapis.com/download.tensorflow.org/data/"
_CHECKSUMS = {
    "train": "sha256:c2403444395842ad04c53612bad54b574443eae17a0723117a2ff87b9d72194f",
    "test": "sha256:c27ab9fa43ce40b2e453de711365b477f4424586edf0388116674fd320f07503",
}


def _layout(description: str, files: dict[str, tuple[str, ...]]) -> FileLayout[tuple[Path, ...]]:
    """Folders or zips whose pictures lie in a folder named after the gesture."""
    return FileLayout(
        description, files, lambda folder, split: tuple(folder / name for name in files[split])
    )


FILES = PublishedFiles(
    folder="rps",
    layouts=(
        _layout("the published archive", {s: (f"{_FOLDERS[s]}.zip",) for s in SPLITS}),
        _layout("the published archive, unpacked", {s: (_FOLDERS[s],) for s in SPLITS}),
        _layout(
            "one zip for each gesture",
            {s: tuple(f"{s}_{gesture}.zip" for gesture in GESTURES) for s in SPLITS},
        ),
    ),
    homepage=_HOMEPAGE,
    remotes={
        split: (RemoteFile(f"{name}.zip", f"{_MIRROR}{name}.zip", _CHECKSUMS[split]),)
        for split, name in _FOLDERS.items()
    },
)


def load_rock_paper_scissors(
    split: str,
    data_home: Path,
    may_download: bool,
    /,
    *,
    size: tuple[int, int] = DEFAULT_SIZE,
    invert: bool = True,
) -> ImageSet:
    """Load Rock-Paper-Scissors.

    Parameters
    ----------
    split, data_home, may_download
        As in `DatasetLoader`.
    size : (int, int), default=(48, 48)
        Height and width; (300, 300) is the original.
    invert : bool, default=True
        Make the white background 0.
    """
    options = DecodeOptions(size=size, invert=invert)
    hands = []
    for path in FILES.read(split, data_home, may_download):
        with open_tree(path) as tree:
            for member in tree.names:
                name = PurePosixPath(member)
                if name.suffix.lower() in PICTURE_EXTENSIONS and name.parent.name in GESTURES:
                    pixels = decode_picture(tree.read(member), member, options)
                    hands.append((GESTURES.index(name.parent.name), name.name, pixels))
    if not hands:
        raise CorruptFileError(
            data_home / FILES.folder,
            f"has no {split} pictures in folders called {', '.join(GESTURES)}",
        )
    # The layouts differ in which gesture comes first; the order of the images must not.
    hands.sort(key=lambda hand: (hand[0], natural_key(hand[1])))
    processing = CARD.processing if invert else "gray, white background kept"
    return ImageSet(
        images=np.stack([pixels for _, _, pixels in hands]),
        labels=np.array([gesture for gesture, _, _ in hands], np.int64),
        class_names=GESTURES,
        names=tuple(f"{GESTURES[gesture]}/{name}" for gesture, name, _ in hands),
        card=replace(CARD, processing=f"{processing}, reduced to {format_shape(size)}"),
    )
