"""What every loader returns: images, what is known about each of them, and where they come from.

Conventions, valid for every set:

- ``images`` is float32 in [0, 1], shape (N, H, W) for grey and (N, H, W, 3) for colour pictures;
  row 0 is the top of the picture, column 0 its left edge;
- 0 is the background wherever the source has one (a white background is inverted by the set's
  loader);
- ``labels`` count from 0 and index ``class_names``; an unlabelled set has ``labels=None``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Card:
    """Where a set comes from and what was done to it, short enough to print.

    Attributes
    ----------
    title : str
        What to call the set in a table.
    source : str
        Who publishes it, and where.
    citation : str
        The publication to cite.
    size : str
        How many images, classes and pixels.
    processing : str
        What was done between the published file and the array.
    """

    title: str
    source: str
    citation: str
    size: str
    processing: str

    def __str__(self) -> str:
        """One labelled line for each field."""
        return "\n".join(
            f"{label:<11}{text}"
            for label, text in (
                ("title", self.title),
                ("source", self.source),
                ("citation", self.citation),
                ("size", self.size),
                ("processing", self.processing),
            )
        )


@dataclass(frozen=True, repr=False, eq=False)
class ImageSet:
    """A set of images of one size, with labels where they are known.

    Attributes
    ----------
    images : ndarray of float32, shape (N, H, W) or (N, H, W, 3)
        Intensities in [0, 1].
    labels : ndarray of int64, shape (N,), or None
        Index into ``class_names``; None where nobody labelled the images.
    class_names : tuple of str
        Names of the classes, empty for an unlabelled set.
    names : tuple of str
        One name for each image: file name, recording, or number within its source.
    card : Card
        Source, citation, size, processing.

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

    images: NDArray[np.float32]
    labels: NDArray[np.int64] | None
    class_names: tuple[str, ...]
    names: tuple[str, ...]
    card: Card

    def __post_init__(self) -> None:
        if self.images.ndim not in (3, 4):
            raise ValueError(
                f"images must have shape (N, H, W) or (N, H, W, C); got {self.images.shape}."
            )
        for field, values in (("labels", self.labels), ("names", self.names)):
            if values is not None and len(values) != len(self.images):
                raise ValueError(
                    f"{field} must have one entry for each of the {len(self.images)} images; "
                    f"got {len(values)}."
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image: (H, W) or (H, W, C)."""
        return self.images.shape[1:]

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        size = "x".join(str(length) for length in self.shape)
        classes = "unlabelled" if self.labels is None else f"{len(self.class_names)} classes"
        return f"ImageSet({self.card.title!r}: {len(self)} images of {size}, {classes})"

    @property
    def has_light_background(self) -> bool:
        """Whether the pictures' rims are light, and lighter than the rest: dark subjects on white."""
        rim = float(np.median(self.images[:, [0, -1]]))
        return rim > 0.5 and rim > float(self.images.mean(dtype=np.float64))

    def checksum(self) -> str:
        """A fingerprint of the pixels, to tell later whether the images are still the same."""
        digest = hashlib.blake2b(repr(self.images.shape).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.images).data)
        return f"blake2b:{digest.hexdigest()}"

    def subset(self, index: ArrayLike | slice) -> ImageSet:
        """The images at `index` (numbers, a boolean mask, a slice) and all that belongs to them."""
        rows: NDArray[Any] = np.arange(len(self))[
            index if isinstance(index, slice) else np.asarray(index)
        ]
        return replace(
            self,
            images=self.images[rows],
            labels=None if self.labels is None else self.labels[rows],
            names=tuple(self.names[row] for row in rows),
        )
