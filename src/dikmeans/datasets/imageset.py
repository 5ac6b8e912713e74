"""`ImageSet`, the result of every loader: images, their labels and names, and their source.

Conventions:

- ``images`` is float32 in [0, 1], shape (N, H, W) for gray and (N, H, W, 3) for color images; one
  more channel, the last, is alpha where images are transparent in parts;
- row 0 is the top of the image, column 0 its left edge;
- in the named data sets 0 is the background wherever there is one;
- ``labels`` count from 0 and index ``class_names``; an unlabeled set has ``labels=None``.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import numpy as np

from dikmeans._typing import JSON, ArrayLike, FloatArray, ImageShape, IntArray
from dikmeans.datasets._text import format_shape
from dikmeans.frames import Frame


@dataclass(frozen=True)
class Card:
    """Where a data set comes from and how it was processed, short enough to print.

    Attributes
    ----------
    title : str
        Name of the set in a table.
    source : str
        Who publishes it, and where.
    citation : str
        The publication to cite.
    size : str
        Number of images, classes and pixels.
    processing : str
        Steps between the published file and the array.
    """

    title: str
    source: str
    citation: str
    size: str
    processing: str

    def __str__(self) -> str:
        """One labeled line for each field."""
        return "\n".join(f"{name:<11}{text}" for name, text in asdict(self).items())


@dataclass(frozen=True, repr=False, eq=False)
class ImageSet:
    """Images of one size, with labels where they are known.

    Attributes
    ----------
    images : ndarray of float32, shape (N, H, W) or (N, H, W, channels)
        Intensities in [0, 1].
    labels : ndarray of int64, shape (N,), or None
        Index into ``class_names``; None for an unlabeled set.
    class_names : tuple of str
        Names of the classes, empty for an unlabeled set.
    names : tuple of str
        One name for each image: file name, recording, or number within its source.
    card : Card
        Source, citation, size, processing.
    label_source : str or None
        What to call the labels: "folders", "labels in FILE.csv", or "labels" of a data set or array
        file; None for an unlabeled set.
    kind : {"picture", "sound"}
        What the files are that the images were made from.
    preprocessing : str
        The ``preprocessing`` of `DIKMeans` that suits: "auto", unless the loader knows better.
    options : dict
        Options of the loader, with all that it chose: others are loaded in the same way by them.
    frame : {"stretch", "fit"}
        How files of other sizes became images of one; see `dikmeans.frames`.

    Examples
    --------
    >>> import numpy as np
    >>> from dikmeans.datasets import Card, ImageSet
    >>> card = Card("two dots", "made by hand", "-", "2 images of 1x2", "none")
    >>> dots = ImageSet(np.eye(2, dtype=np.float32)[:, None], np.array([1, 0]), ("left", "right"),
    ...                 ("first", "second"), card)
    >>> dots
    ImageSet('two dots': 2 images of 1x2, 2 classes)
    >>> dots.subset([1]).names
    ('second',)
    """

    images: FloatArray
    labels: IntArray | None
    class_names: tuple[str, ...]
    names: tuple[str, ...]
    card: Card
    label_source: str | None = None
    kind: Literal["picture", "sound"] = "picture"
    preprocessing: str = "auto"
    options: JSON = field(default_factory=dict)
    frame: Frame = "stretch"

    def __post_init__(self) -> None:
        if self.labels is not None and self.label_source is None:
            object.__setattr__(self, "label_source", "labels")
        if self.images.ndim not in (3, 4):
            raise ValueError(
                f"images must have shape (N, H, W) or (N, H, W, C); got {self.images.shape}."
            )
        for name, values in (("labels", self.labels), ("names", self.names)):
            if values is not None and len(values) != len(self.images):
                raise ValueError(
                    f"{name} must have one entry for each of the {len(self.images)} images; "
                    f"got {len(values)}."
                )

    @property
    def shape(self) -> ImageShape:
        """Shape of one image: (H, W) or (H, W, C)."""
        return self.images.shape[1:]

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        classes = "unlabeled" if self.labels is None else f"{len(self.class_names)} classes"
        size = format_shape(self.shape)
        return f"ImageSet({self.card.title!r}: {len(self)} images of {size}, {classes})"

    def checksum(self) -> str:
        """A digest of the pixels, to tell later whether the images are still the same."""
        digest = hashlib.blake2b(repr(self.images.shape).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.images).data)
        return f"blake2b:{digest.hexdigest()}"

    def subset(self, index: ArrayLike | slice) -> ImageSet:
        """The images at `index` (numbers, a boolean mask or a slice), with labels and names."""
        rows = np.arange(len(self))[index if isinstance(index, slice) else np.asarray(index)]
        return replace(
            self,
            images=self.images[rows],
            labels=None if self.labels is None else self.labels[rows],
            names=tuple(self.names[row] for row in rows),
        )
