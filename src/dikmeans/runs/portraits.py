"""Portraits: what a prototype looks like to people, made from the originals of its members."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dikmeans._typing import Array, FloatArray
from dikmeans.datasets import ImageSet
from dikmeans.estimator import DIKMeans
from dikmeans.kmeans.shard import Assignment
from dikmeans.registration.appearance import LARGEST_SIDE, MAX_MEMBERS
from dikmeans.runs.originals import Originals
from dikmeans.runs.picture_file import require_pillow

# Where the mean has less than this share of a member's contrast, members have no appearance in
# common (random colors, say), and the most typical member is shown instead.
MIN_CONTRAST = 0.5


class Portraits(NamedTuple):
    """One picture for each prototype.

    Attributes
    ----------
    pictures : array of shape (M, H, W[, C])
        In the values of the originals, bytes or those of the images; NaN where a prototype has no
        members.
    spread : array of shape (M, H, W[, C])
        Standard deviation of the members.
    is_mean : bool array of shape (M,)
        Whether it is the mean of the members, or the most typical one.
    from_bytes : bool
        Whether values are colors from 0 to 255.
    """

    pictures: FloatArray
    spread: FloatArray
    is_mean: Array
    from_bytes: bool

    def reduced(self, largest_side: int) -> Portraits:
        """The same, with at most so many rows and columns."""
        rows, columns = self.pictures.shape[1:3]
        scale = largest_side / max(rows, columns)
        if scale >= 1:
            return self
        size = max(1, round(rows * scale)), max(1, round(columns * scale))
        return self._replace(
            pictures=_resized(self.pictures, size), spread=_resized(self.spread, size)
        )


def make_portraits(
    model: DIKMeans,
    images: ImageSet,
    originals: Originals,
    assignment: Assignment | None = None,
    *,
    largest_side: int = LARGEST_SIDE,
    max_members: int = MAX_MEMBERS,
) -> Portraits:
    """The portraits of the prototypes of a model.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    images : ImageSet
        As they were compared.
    originals : Originals
        Of these images.
    assignment : Assignment, optional
        Of the images; by default that of the fit.
    largest_side : int
        Rows and columns of a portrait, at most.
    max_members : int
        So many members make a portrait, at most.
    """
    assignment = model.assignment_ if assignment is None else assignment
    averages = model.average_originals(
        images.images,
        lambda number: originals.read(number, largest_side),
        assignment=assignment,
        max_members=max_members,
        frame=originals.frame,
    )
    is_mean = ~(averages.contrast < MIN_CONTRAST)
    chosen = is_mean.reshape(-1, *[1] * (averages.mean.ndim - 1))
    return Portraits(
        pictures=np.where(chosen, averages.mean, averages.typical),
        spread=averages.spread,
        is_mean=is_mean,
        from_bytes=originals.read(0, largest_side).dtype == np.uint8,
    )


def _resized(pictures: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Pictures (M, H, W[, C]) in fewer pixels, each the mean of those it covers."""
    image = require_pillow()
    channels = pictures.reshape(*pictures.shape[:3], -1).astype(np.float32)
    resized = [
        [
            np.asarray(image.fromarray(channel).resize(size[::-1], image.Resampling.BOX))
            for channel in np.moveaxis(picture, 2, 0)
        ]
        for picture in channels
    ]
    return np.moveaxis(np.array(resized), 1, 3).reshape(-1, *size, *pictures.shape[3:])
