"""Arabic handwritten characters (AHCD): 28 letters of 32x32, written by 60 people.

The published tables hold one image per line, column by column: a 32x32 array is transposed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from dikmeans._typing import IntArray
from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.imageset import Card
from dikmeans.datasets.sets.characters import CharacterDataset, Characters, idx_layout
from dikmeans.datasets.sets.published import SPLITS, FileLayout, PublishedFiles

_HOMEPAGE = "https://www.kaggle.com/datasets/mloey1/ahcd1"
CARD = Card(
    title="Arabic characters",
    source=f"A. El-Sawy, M. Loey, H. El-Bakry, {_HOMEPAGE}",
    citation="A. El-Sawy, M. Loey, H. El-Bakry. Arabic handwritten characters recognition using "
    "convolutional neural network. WSEAS Transactions on Computer Research 5, 2017.",
    size="13,440 training and 3,360 test images of 32x32, 28 letters",
    processing="upright, bytes scaled to [0, 1]; the letters are not centered",
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
            image_table,
            f"must have {_SIDE * _SIDE} numbers per line and {label_table} one for each of those "
            f"lines; got {pixels.shape} and {numbers.shape}",
        )
    return Characters(pixels.reshape(-1, _SIDE, _SIDE).transpose(0, 2, 1), numbers[:, 0])


def _read_table(path: Path) -> IntArray:
    try:
        with warnings.catch_warnings():
            # NumPy only warns of an empty file.
            warnings.simplefilter("error", UserWarning)
            return np.loadtxt(path, np.uint8, delimiter=",", ndmin=2)
    except (ValueError, OverflowError, UserWarning) as error:
        raise CorruptFileError(
            path, f"is not a table of numbers from 0 to 255, separated by commas: {error}"
        ) from error


FILES = PublishedFiles(
    folder="arabic",
    layouts=(
        FileLayout("the published tables", _TABLES, _read_tables),
        idx_layout(
            "idx files, gzipped or not",
            {
                split: (f"ahcd-{split}-images-idx3-ubyte", f"ahcd-{split}-labels-idx1-ubyte")
                for split in SPLITS
            },
        ),
    ),
    homepage=_HOMEPAGE,
)

load_arabic_characters = CharacterDataset(
    CARD, FILES, class_names=LETTERS, first_number=1, shape=(_SIDE, _SIDE)
)
