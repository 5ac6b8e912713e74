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
