"""Which normaliser suits: read off the pictures, whether they have a background and how thick things are."""

from __future__ import annotations

import logging

import numpy as np
from scipy import fft

logger = logging.getLogger(__name__)

# A picture has a background if its darkest tenth is darker than this share of its brightest pixels.
DARK, DARKEST, BRIGHTEST = 0.15, 0.1, 0.99
# Pictures are of strokes if things in them reach no further than this part of a side.
THIN = 0.17
# It takes a picture of some size, on both sides, to tell.
SMALLEST_SIDE = 16


def choose_normaliser(pictures: np.ndarray) -> str:
    """Say how pictures (n, C, rows, columns) should be normalised.

    "subject" without a dark background; on one "strokes" for thin things, "scales" for all others. Pictures
    with negative values, small ones and signals are only scaled: "unit".

    Examples
    --------
    >>> line, wall, disc = np.zeros((3, 5, 1, 16, 16))
    >>> line[:, :, 4:12, 7:9] = 1
    >>> disc[:, :, 4:13, 3:14] = 1
    >>> wall[:] = 0.6
    >>> choose_normaliser(line), choose_normaliser(disc), choose_normaliser(line + wall)
    ('strokes', 'scales', 'subject')
    """
    if min(pictures.shape[2:]) < SMALLEST_SIDE or pictures.min() < 0 or not pictures.any():
        return "unit"
    if not has_dark_background(pictures):
        logger.info("normalize='auto' is 'subject': the pictures have no dark background")
        return "subject"
    thickness = reach(pictures)
    choice = "strokes" if thickness < THIN else "scales"
    logger.info(
        "normalize='auto' is %r: what is in the pictures is %.0f %% of a side thick", choice, 100 * thickness
    )
    return choice


def has_dark_background(pictures: np.ndarray) -> bool:
    """Whether the darkest tenth of the median picture is dark, compared to its brightest pixels."""
    dark, bright = np.quantile(pictures.reshape(len(pictures), -1), [DARKEST, BRIGHTEST], axis=1)
    return bool(np.median(dark - DARK * bright) <= 0)


def reach(pictures: np.ndarray) -> float:
    """How far things in pictures reach: where their mean autocorrelation has fallen to a half.

    As a part of the sides, the geometric mean of rows and columns.
    """
    shape = pictures.shape[2:]
    padded = [2 * n for n in shape]  # nothing meets itself around the corner
    power = np.zeros((padded[0], padded[1] // 2 + 1))
    for picture in pictures:
        power += (np.abs(fft.rfft2(picture, s=padded)) ** 2).sum(axis=0)
    correlation = fft.irfft2(power, s=padded)
    along_rows, along_columns = correlation[: shape[0], 0], correlation[0, : shape[1]]
    return float(np.sqrt(_half_width(along_rows) * _half_width(along_columns)))


def _half_width(correlation: np.ndarray) -> float:
    """Where a falling curve passes half its first value, as a part of its length."""
    (below,) = np.nonzero(correlation < correlation[0] / 2)
    if not len(below):
        return 1.0
    after = below[0]
    before = correlation[after - 1] - correlation[0] / 2
    return float(after - 1 + before / (correlation[after - 1] - correlation[after])) / len(correlation)
