"""`ImageSource`: where images come from, in a form that can be saved and loaded again later."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dikmeans._typing import JSON, ImageShape
from dikmeans.datasets.files.members import find_members
from dikmeans.datasets.files.tree import open_tree
from dikmeans.datasets.imageset import ImageSet
from dikmeans.datasets.pictures.decode import PICTURE_EXTENSIONS
from dikmeans.datasets.registry import DATASETS, load, loader_of, option_names
from dikmeans.datasets.sets.published import SPLITS
from dikmeans.datasets.sounds.read import SOUND_EXTENSIONS

LIMIT_SEED = 0
"""Seed of the draw if there is a limit: the same images every time."""


@dataclass(frozen=True)
class ImageSource:
    """Name and options of a set of images.

    Attributes
    ----------
    name : str
        Name of a data set, or absolute path of a folder or file.
    split : str
        Which split.
    options : dict
        For `dikmeans.datasets.load`.
    limit : int or None
        At most this many images, drawn at random (always the same ones) and kept in their order.

    Examples
    --------
    >>> source = ImageSource.resolve("mnist")
    >>> source
    ImageSource(name='mnist', split='train', options={}, limit=None)
    >>> ImageSource.from_json(source.to_json()) == source
    True
    """

    name: str
    split: str = "train"
    options: JSON = field(default_factory=dict)
    limit: int | None = None

    @classmethod
    def resolve(
        cls,
        name: str,
        split: str = "train",
        *,
        options: JSON | None = None,
        limit: int | None = None,
    ) -> ImageSource:
        """A source from a user's input; the path of an existing file becomes absolute."""
        path = Path(name).expanduser()
        if name not in DATASETS and name and path.exists():
            name = str(path.absolute())
        return cls(name, split, dict(options or {}), limit)

    def like(self, name: str, split: str, shape: ImageShape) -> ImageSource:
        """Another source whose images are made as those of this one, which have `shape`.

        This one is `resolved`, or a named data set. What the other kind of files does not have (an
        array file has its own channels) is left out.
        """
        other = ImageSource.resolve(name, split)
        if other.is_named_dataset:
            return replace(other, options=self.options if other.name == self.name else {})
        if not Path(other.name).exists():
            return other  # loading it says so
        channels = shape[2] if len(shape) == 3 else 1
        options: JSON = {"size": tuple(shape[:2]), "color": channels > 2, "alpha": False}
        if not self.is_named_dataset:
            options |= self.options
        options["labels"] = "none"
        known = option_names(loader_of(Path(other.name)))
        return replace(other, options={k: v for k, v in options.items() if k in known})

    def resolved(self, images: ImageSet) -> ImageSource:
        """The source with everything its loader chose, so that it loads the same images later."""
        return replace(self, options={**self.options, **images.options})

    @property
    def is_named_dataset(self) -> bool:
        """Whether it is one of the known data sets rather than files of the user."""
        return self.name in DATASETS

    def load(self) -> ImageSet:
        """Load the images; see `dikmeans.datasets.load` for the errors."""
        images = load(self.name, self.split, **self.options)
        if self.limit is None or self.limit >= len(images):
            return images
        chosen = np.random.default_rng(LIMIT_SEED).permutation(len(images))[: self.limit]
        return images.subset(np.sort(chosen))

    @contextlib.contextmanager
    def files(self) -> Iterator[Callable[[str], bytes]]:
        """A function that reads the file of an image by its name: to play a sound, for instance.

        Only folders, zips and single files have one.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (pathlib.Path(folder) / "a.wav").write_bytes(b"content")
        ...     with ImageSource.resolve(folder).files() as read:
        ...         read("a.wav")
        b'content'
        """
        extensions = PICTURE_EXTENSIONS | SOUND_EXTENSIONS
        with open_tree(Path(self.name), single=extensions) as tree:
            members = find_members(tree, extensions, self.split, "pictures or sounds")
            yield lambda name: tree.read(members[name])

    def to_json(self) -> JSON:
        """The source as a dict of JSON values."""
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in self.options.items()}
        return {"name": self.name, "split": self.split, "options": options, "limit": self.limit}

    @classmethod
    def from_json(cls, value: JSON) -> ImageSource:
        """The inverse of `to_json`; ValueError for anything else."""
        try:
            name, split, limit = value["name"], value["split"], value["limit"]
            options = {
                k: tuple(v) if isinstance(v, list) else v for k, v in value["options"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it does not say where the images come from ({error!r})") from error
        valid_limit = limit is None or (type(limit) is int and limit > 0)
        if not (isinstance(name, str) and split in SPLITS and valid_limit):
            raise ValueError("it does not say where the images come from")
        return cls(name, split, options, limit)
