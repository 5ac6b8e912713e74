"""`Source`: where images come from, in words that can be written down and followed again later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans.datasets.pictures.arrays import ARRAY_EXTENSIONS
from dikmeans.datasets.registry import NAMED_SETS, load
from dikmeans.datasets.sets.named import SPLITS

if TYPE_CHECKING:
    from dikmeans.datasets.imageset import ImageSet

LIMIT_SEED = 0
"""Seed of the draw when not all images are wanted: the same part each time."""


@dataclass(frozen=True)
class Source:
    """A set of images by its place and the options it is read with.

    Attributes
    ----------
    name : str
        Name of a data set, or absolute path of a folder, zip or array file.
    split : str
        Which part.
    options : mapping
        For `dikmeans.datasets.load`.
    limit : int or None
        At most so many images, drawn at random (always the same ones) and kept in their order.

    Examples
    --------
    >>> source = Source.of("mnist", options={})
    >>> source
    Source(name='mnist', split='train', options={}, limit=None)
    >>> Source.from_json(source.to_json()) == source
    True
    """

    name: str
    split: str = "train"
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None

    @classmethod
    def of(
        cls,
        name: str,
        split: str = "train",
        *,
        options: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Source:
        """A source from what a user typed; paths become absolute, what is not there stays as it is."""
        path = Path(name).expanduser()
        place = str(path.absolute()) if name not in NAMED_SETS and name and path.exists() else name
        return cls(place, split, dict(options or {}), limit)

    def like(self, name: str, split: str, shape: tuple[int, ...]) -> Source:
        """Another place, read as this one was, but for the size: pictures come out in `shape`."""
        other = Source.of(name, split)
        if other.is_named_set:
            return replace(other, options=self.options if other.name == self.name else {})
        options: dict[str, Any] = {"size": tuple(shape[:2])}
        if self.options.get("invert") and not self.is_named_set:
            options["invert"] = True
        if len(shape) == 3 and Path(other.name).suffix.lower() not in ARRAY_EXTENSIONS:
            options["mode"] = "rgb"
        return replace(other, options=options)

    @property
    def is_named_set(self) -> bool:
        """Whether it is one of the known data sets rather than files of the user's."""
        return self.name in NAMED_SETS

    def load(self) -> ImageSet:
        """Read the images; see `dikmeans.datasets.load` for what can go wrong."""
        images = load(self.name, self.split, **self.options)
        if self.limit is None or self.limit >= len(images):
            return images
        chosen = np.random.default_rng(LIMIT_SEED).permutation(len(images))[: self.limit]
        return images.subset(np.sort(chosen))

    def to_json(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "name": self.name,
            "split": self.split,
            "options": {
                key: list(v) if isinstance(v, tuple) else v for key, v in self.options.items()
            },
            "limit": self.limit,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Source:
        """The inverse of `to_json`; ValueError for anything else."""
        try:
            name, split, limit = value["name"], value["split"], value["limit"]
            options = {
                key: tuple(v) if isinstance(v, list) else v for key, v in value["options"].items()
            }
            fits = isinstance(name, str) and split in SPLITS
            fits &= limit is None or (type(limit) is int and limit > 0)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it does not say where the images come from ({error!r})") from error
        if not fits:
            raise ValueError("it does not say where the images come from")
        return cls(name, split, options, limit)
