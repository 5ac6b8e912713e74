"""What the sets of written characters share: byte images of one size, numbered classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.idx import read_idx_pair
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.named import Layout, find_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Characters:
    """Upright byte images, background 0, with the class numbers of the file.

    Attributes
    ----------
    images : ndarray of uint8, shape (N, H, W)
    numbers : ndarray of int, shape (N,)
    title : str or None
        Replaces the title of the card where a layout does not hold the set as published.
    """

    images: NDArray[np.uint8]
    numbers: NDArray[np.integer]
    title: str | None = None


def idx_layout(
    description: str, files: Mapping[str, tuple[str, str]], transposed: bool = False
) -> Layout[Characters]:
    """The layout of MNIST and its relatives: an image file and a label file for each split.

    Parameters
    ----------
    description : str
        What it is.
    files : mapping of split to (image file, label file)
        Names without ``.gz``.
    transposed : bool, default=False
        Whether rows and columns are exchanged on disk.

    Returns
    -------
    Layout
    """

    def read(folder: Path, split: str) -> Characters:
        images, labels = (find_file(folder, name) or folder / name for name in files[split])
        return characters_from_idx(*read_idx_pair(images, labels), transposed=transposed)

    return Layout(description, files, read)


def characters_from_idx(
    images: NDArray[np.uint8], labels: NDArray[np.uint8], transposed: bool
) -> Characters:
    """Characters from the two arrays of an idx pair."""
    return Characters(images.transpose(0, 2, 1) if transposed else images, labels)


def to_image_set(
    characters: Characters,
    split: str,
    card: Card,
    class_names: tuple[str, ...],
    first_number: int,
    shape: tuple[int, int],
) -> ImageSet:
    """Scale to [0, 1], count classes from 0, and check that the file held what it should.

    Parameters
    ----------
    characters : Characters
        What a layout read.
    split : str
        For the names of the images, ``train-0``, ``train-1``, ...
    card : Card
        Of the set as published.
    class_names : tuple of str
        One for each class.
    first_number : int
        The file's number of the first class.
    shape : (int, int)
        Height and width every image must have.

    Returns
    -------
    ImageSet
    """
    images, labels = characters.images, characters.numbers.astype(np.int64) - first_number
    if images.shape[1:] != shape:
        raise CorruptFileError(
            f"{card.title}: expected images of {shape[0]}x{shape[1]}, the files have "
            f"{images.shape[1]}x{images.shape[2]}. Are they of another set?"
        )
    outside = (labels < 0) | (labels >= len(class_names))
    if outside.any():
        raise CorruptFileError(
            f"{card.title}: labels must be {first_number}..{first_number + len(class_names) - 1}, "
            f"the files have {labels[outside][0] + first_number}. Are they of another set?"
        )
    return ImageSet(
        images=np.multiply(images, np.float32(1 / 255), dtype=np.float32, order="C"),
        labels=labels,
        class_names=class_names,
        names=tuple(f"{split}-{row}" for row in range(len(images))),
        card=card if characters.title is None else replace(card, title=characters.title),
    )
