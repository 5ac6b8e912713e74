"""The common loader of the data sets of written characters: byte images, numbered classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dikmeans._typing import IntArray
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import CorruptFileError
from dikmeans.datasets.files.idx import read_idx_pair
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.published import FileLayout, PublishedFiles, find_file


@dataclass(frozen=True)
class Characters:
    """Upright byte images, background 0, with the class numbers of the file.

    Attributes
    ----------
    images : ndarray of uint8, shape (N, H, W)
    numbers : ndarray of int, shape (N,)
    title : str or None
        Replaces the title of the card where a layout is not the set as published.
    """

    images: IntArray
    numbers: IntArray
    title: str | None = None


def idx_layout(
    description: str, files: Mapping[str, tuple[str, str]], transposed: bool = False
) -> FileLayout[Characters]:
    """The layout of MNIST and its relatives: an image file and a label file for each split.

    The names in `files` are without ``.gz``. If `transposed`, rows and columns are exchanged on
    disk.
    """

    def read(folder: Path, split: str) -> Characters:
        image_path, label_path = (find_file(folder, name) for name in files[split])
        images, labels = read_idx_pair(image_path, label_path)
        return Characters(images.transpose(0, 2, 1) if transposed else images, labels)

    return FileLayout(description, files, read)


@dataclass(frozen=True)
class CharacterDataset:
    """The loader of a data set of written characters; it has no options.

    Attributes
    ----------
    card : Card
        Of the set as published.
    files : PublishedFiles
        Where the images are.
    class_names : tuple of str
        One for each class.
    first_number : int
        The file's number of the first class.
    shape : (int, int)
        Height and width of every image.
    """

    card: Card
    files: PublishedFiles[Characters]
    class_names: tuple[str, ...]
    first_number: int
    shape: tuple[int, int]

    def __call__(self, split: str, data_home: Path, may_download: bool, /) -> ImageSet:
        """Load a split, scaled to [0, 1] and with classes counted from 0."""
        characters = self.files.read(split, data_home, may_download)
        images, labels = characters.images, characters.numbers.astype(np.int64) - self.first_number
        outside = (labels < 0) | (labels >= len(self.class_names))
        if images.shape[1:] != self.shape or outside.any():
            last_number = self.first_number + len(self.class_names) - 1
            numbers = np.unique(characters.numbers)
            raise CorruptFileError(
                data_home / self.files.folder,
                f"does not hold {self.card.title}: expected images of {format_shape(self.shape)} "
                f"and labels {self.first_number}..{last_number}, the files have images of "
                f"{format_shape(images.shape[1:])} and labels {numbers[0]}..{numbers[-1]}",
                "Are they of another data set?",
            )
        return ImageSet(
            images=np.multiply(images, np.float32(1 / 255), dtype=np.float32, order="C"),
            labels=labels,
            class_names=self.class_names,
            names=tuple(f"{split}-{row}" for row in range(len(images))),
            card=replace(self.card, title=characters.title or self.card.title),
        )
