"""Rock-Paper-Scissors: rendered hands of many skin tones on white, 300x300.

Brought to grey, inverted (the white background becomes 0) and reduced to a working size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.fetch import RemoteFile
from dikmeans.datasets.files.tree import natural_key, open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.decode import EXTENSIONS, Rendering, decode_picture
from dikmeans.datasets.sets.named import SPLITS, Layout, NamedSet, Shelf

if TYPE_CHECKING:
    from numpy.typing import NDArray

CARD = Card(
    title="Rock-Paper-Scissors",
    source="L. Moroney, https://laurencemoroney.com/datasets.html",
    citation="L. Moroney. Rock, Paper, Scissors dataset. 2019.",
    size="2,520 training and 372 test images (other hands) of 300x300, 3 gestures",
    processing="grey, inverted so that the background is 0",
)
GESTURES = ("rock", "paper", "scissors")
DEFAULT_SIZE = (48, 48)

_PUBLISHED = {"train": "rps", "test": "rps-test-set"}
_MIRROR = "https://storage.googleapis.com/download.tensorflow.org/data/"
_SHA256 = {
    "rps.zip": "c2403444395842ad04c53612bad54b574443eae17a0723117a2ff87b9d72194f",
    "rps-test-set.zip": "c27ab9fa43ce40b2e453de711365b477f4424586edf0388116674fd320f07503",
}


@dataclass(frozen=True)
class Trees:
    """Folders or zips whose pictures lie in a folder called after the gesture."""

    paths: tuple[Path, ...]


def _layout(description: str, needs: dict[str, tuple[str, ...]]) -> Layout[Trees]:
    return Layout(
        description,
        needs,
        lambda folder, split: Trees(tuple(folder / name for name in needs[split])),
    )


SHELF = Shelf(
    folder="rps",
    layouts=(
        _layout(
            "the published archive", {split: (f"{_PUBLISHED[split]}.zip",) for split in SPLITS}
        ),
        _layout(
            "the published archive, unpacked", {split: (_PUBLISHED[split],) for split in SPLITS}
        ),
        _layout(
            "one zip for each gesture",
            {split: tuple(f"{split}_{gesture}.zip" for gesture in GESTURES) for split in SPLITS},
        ),
    ),
    homepage="https://laurencemoroney.com/datasets.html",
    remotes={
        split: (
            RemoteFile(
                f"{_PUBLISHED[split]}.zip",
                f"{_MIRROR}{_PUBLISHED[split]}.zip",
                "sha256",
                _SHA256[f"{_PUBLISHED[split]}.zip"],
            ),
        )
        for split in SPLITS
    },
)


def load_rock_paper_scissors(
    split: str,
    data_home: Path,
    download: bool,
    *,
    size: tuple[int, int] = DEFAULT_SIZE,
    invert: bool = True,
) -> ImageSet:
    """Load Rock-Paper-Scissors.

    Parameters
    ----------
    split, data_home, download
        As in `dikmeans.datasets.load`.
    size : (int, int), default=(48, 48)
        Height and width; (300, 300) is the original.
    invert : bool, default=True
        Make the white background 0.

    Returns
    -------
    ImageSet
    """
    rendering = Rendering(size=size, invert=invert)
    found: list[tuple[int, str, NDArray[np.float32]]] = []
    for path in SHELF.read(split, data_home, download).paths:
        with open_tree(path) as tree:
            for member in tree.names:
                name = PurePosixPath(member)
                if name.suffix.lower() in EXTENSIONS and name.parent.name in GESTURES:
                    picture = decode_picture(tree.read(member), member, rendering)
                    found.append((GESTURES.index(name.parent.name), name.name, picture))
    if not found:
        raise CorruptFileError(
            f"No pictures in folders called {', '.join(GESTURES)} were found in the {split} files "
            f"in {data_home / SHELF.folder}."
        )
    # The layouts differ in which gesture comes first; the order of a set must not depend on that.
    found.sort(key=lambda entry: (entry[0], natural_key(entry[1])))
    working = f"{size[0]}x{size[1]}"
    processing = CARD.processing if invert else "grey, white background kept"
    return ImageSet(
        images=np.stack([picture for _, _, picture in found]),
        labels=np.array([gesture for gesture, _, _ in found], np.int64),
        class_names=GESTURES,
        names=tuple(f"{GESTURES[gesture]}/{name}" for gesture, name, _ in found),
        card=replace(CARD, processing=f"{processing}, reduced to {working}"),
    )


SET = NamedSet("rock-paper-scissors", load_rock_paper_scissors)
