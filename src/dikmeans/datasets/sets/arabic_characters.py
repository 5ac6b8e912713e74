"""Arabic handwritten characters (AHCD): 28 letters of 32x32, written by 60 people.

The published tables hold one image a line, column by column: as a 32x32 array it is transposed.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.characters import Characters, idx_layout, to_image_set
from dikmeans.datasets.sets.named import SPLITS, Layout, NamedSet, Shelf

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

CARD = Card(
    title="Arabic characters",
    source="A. El-Sawy, M. Loey, H. El-Bakry, https://www.kaggle.com/datasets/mloey1/ahcd1",
    citation="A. El-Sawy, M. Loey, H. El-Bakry. Arabic handwritten characters recognition using "
    "convolutional neural network. WSEAS Transactions on Computer Research 5, 2017.",
    size="13,440 training and 3,360 test images of 32x32, 28 letters",
    processing="upright, bytes scaled to [0, 1]; the letters are not centred",
)
# fmt: off
LETTERS = (
    "alef", "beh", "teh", "theh", "jeem", "hah", "khah",
    "dal", "thal", "reh", "zain", "seen", "sheen", "sad",
    "dad", "tah", "zah", "ain", "ghain", "feh", "qaf",
    "kaf", "lam", "meem", "noon", "heh", "waw", "yeh",
)
# fmt: on
_SIDE = 32

_TABLES = {
    "train": ("csvTrainImages 13440x1024.csv", "csvTrainLabel 13440x1.csv"),
    "test": ("csvTestImages 3360x1024.csv", "csvTestLabel 3360x1.csv"),
}


def _read_tables(folder: Path, split: str) -> Characters:
    image_table, label_table = (folder / name for name in _TABLES[split])
    pixels, numbers = _read_table(image_table), _read_table(label_table)
    if pixels.shape[1] != _SIDE * _SIDE or numbers.shape[1] != 1 or len(pixels) != len(numbers):
        raise CorruptFileError(
            f"{image_table} must have {_SIDE * _SIDE} numbers a line and {label_table} one for "
            f"each of those lines; got {pixels.shape} and {numbers.shape}."
        )
    return Characters(pixels.reshape(-1, _SIDE, _SIDE).transpose(0, 2, 1), numbers[:, 0])


def _read_table(path: Path) -> NDArray[np.uint8]:
    try:
        with warnings.catch_warnings():
            # Of an empty file NumPy only warns.
            warnings.simplefilter("error", UserWarning)
            return np.loadtxt(path, np.uint8, delimiter=",", ndmin=2)
    except (ValueError, OverflowError, UserWarning) as error:
        raise CorruptFileError(
            f"{path} is not a table of numbers from 0 to 255, separated by commas: {error}"
        ) from error


SHELF = Shelf(
    folder="arabic",
    layouts=(
        Layout("the published tables", _TABLES, _read_tables),
        idx_layout(
            "idx files, gzipped or not",
            {
                split: (f"ahcd-{split}-images-idx3-ubyte", f"ahcd-{split}-labels-idx1-ubyte")
                for split in SPLITS
            },
        ),
    ),
    homepage="https://www.kaggle.com/datasets/mloey1/ahcd1",
)


def load_arabic_characters(split: str, data_home: Path, download: bool) -> ImageSet:
    """Load the Arabic characters; no options."""
    return to_image_set(
        SHELF.read(split, data_home, download),
        split,
        CARD,
        class_names=LETTERS,
        first_number=1,
        shape=(_SIDE, _SIDE),
    )


SET = NamedSet("arabic-characters", load_arabic_characters)
