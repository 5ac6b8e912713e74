"""What a sample of pictures tells about all: colors, transparency, and the pixels they need.

Fits take time in proportion to the pixels, and most pictures have many more than they need. The
*detail* left at a size is

.. math:: 1 - |x - x'|^2 / |x - m|^2,

where x' is the picture reduced to that size and enlarged again, and m its median gray level. The
working size is the smallest at which the median picture has nearly all of its detail left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.datasets.pictures.decode import resized
from dikmeans.datasets.pictures.padding import fitted_size

# Pictures that are looked at.
N_PICTURES = 48
# Smaller pictures keep their size; larger sides are reduced to one of these.
SMALLEST_SIDE = 32
SIDES = (32, 40, 48, 56, 64, 80, 96, 112, 128)
LARGEST_SIDE = SIDES[-1]
# The part of the detail that has to be left.
DETAIL = 0.975
# A pixel has a color if its channels differ by this; a picture, if this part of its pixels has one.
COLOR_DIFFERENCE, COLORED_PART = 0.1, 0.01
# A picture is transparent in parts if this part of it is.
TRANSPARENT_PART = 0.01
# So many of the pictures decide for all.
SHARE = 0.1


@dataclass(frozen=True)
class Survey:
    """What a sample of pictures has told.

    Attributes
    ----------
    color, alpha : bool
        Whether a good part of the pictures have colors, or transparent pixels.
    details : dict of int to float
        The part of the detail left if the longer side has so many pixels.
    """

    color: bool
    alpha: bool
    details: dict[int, float]

    def working_side(self) -> int:
        """The fewest pixels on the longer side that leave nearly all detail."""
        enough = [side for side, detail in self.details.items() if detail >= DETAIL]
        return min(enough, default=LARGEST_SIDE)

    def details_at(self, side: int) -> float:
        """The part of the detail left if the longer side has at least so many pixels."""
        return max((d for s, d in self.details.items() if s <= side), default=0.0)


def survey_pictures(pictures: Sequence[FloatArray]) -> Survey:
    """Look at pictures (H, W, 4), each of its own size, with channels red, green, blue, alpha."""
    colored = [_has_color(picture[..., :3]) for picture in pictures]
    transparent = [(picture[..., 3] < 0.5).mean() > TRANSPARENT_PART for picture in pictures]
    gray = [picture[..., :3].mean(axis=2) * picture[..., 3] for picture in pictures]
    details = {side: float(np.median([_detail(p, side) for p in gray])) for side in SIDES}
    return Survey(
        color=float(np.mean(colored)) > SHARE,
        alpha=float(np.mean(transparent)) > SHARE,
        details=details,
    )


def working_size(size: tuple[int, int], survey: Survey) -> tuple[int, int]:
    """(height, width) in the proportions of `size`, with no more pixels than needed."""
    side = survey.working_side()
    if max(size) <= max(side, SMALLEST_SIDE):
        return size
    return fitted_size(size, (side, side))


def _has_color(picture: FloatArray) -> bool:
    difference = picture.max(axis=2) - picture.min(axis=2)
    return bool((difference > COLOR_DIFFERENCE).mean() > COLORED_PART)


def _detail(picture: FloatArray, side: int) -> float:
    """The part of the detail of a picture (H, W) that is left at a size."""
    size = (picture.shape[0], picture.shape[1])
    if max(size) <= side:
        return 1.0
    there_and_back = resized(resized(picture, fitted_size(size, (side, side))), size)
    energy = float(np.square(picture - np.median(picture)).sum())
    lost = float(np.square(picture - there_and_back).sum())
    return 1.0 - lost / energy if energy > 0 else 1.0
