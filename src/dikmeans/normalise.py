r"""What is done to a picture before it is compared, so that what counts is what it shows.

``"unit"`` scales a picture to unit norm: brightness no longer matters.

``"strokes"`` gives every neighbourhood the same energy before that,

.. math:: x \,/\, \sqrt{G_\sigma * x^2 + (c\,\mathrm{rms}(x))^2},

with a Gaussian about as wide as a pen. In a sum of squares a long line outweighs all else, and letters
that differ in a dot are one letter; here a dot counts as much as a piece of line of its length.

``"subject"`` is for pictures without a background to stand out from, such as photographs. There light, wall
and clothes say most. The local mean is taken away, which leaves edges and features, and what is left fades
out around the middle, where the subject of a picture is:

.. math:: w \cdot (x - G_\sigma * x), \qquad w(p) = \exp(-|p|^2 / 2 s^2).

Which of them suits is read off the pictures (`choose_normaliser`): whether they have a dark background, and
how thick the things in them are.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, ndimage

from dikmeans.images import scale_to_unit_norm

logger = logging.getLogger(__name__)

# Widths, as parts of a picture's longer side: of the neighbourhoods that get the same energy, of those
# whose mean is taken away, and of the window on the middle.
STROKE_WIDTH, DETAIL_WIDTH, WINDOW_WIDTH = 0.06, 0.1, 1 / 6
# The constant c: a neighbourhood of less energy is background, and stays dark.
FAINT = 0.3

# A picture has a background if its darkest tenth is darker than this share of its brightest pixels.
DARK, DARKEST, BRIGHTEST = 0.15, 0.1, 0.99
# Pictures are of strokes if things in them reach no further than this part of a side.
THIN = 0.17
# It takes a picture of some size, on both sides, to tell.
SMALLEST_SIDE = 8
ENOUGH_TO_TELL = 1000

# Pixels that are worked on at once: what is needed in between fits beside the pictures.
AT_ONCE = 10_000

Normaliser = Callable[[np.ndarray], np.ndarray]


def _piece_by_piece(normalise: Normaliser) -> Normaliser:
    """The same for any number of pictures, a few at a time."""

    @functools.wraps(normalise)
    def in_pieces(pictures: np.ndarray) -> np.ndarray:
        normalised = np.empty_like(pictures)
        step = max(1, AT_ONCE // pictures[0].size)
        for first in range(0, len(pictures), step):
            part = slice(first, first + step)
            normalised[part] = normalise(pictures[part])
        return normalised

    return in_pieces


@_piece_by_piece
def even_out_strokes(pictures: np.ndarray) -> np.ndarray:
    """Pictures (n, C, rows, columns) with the same energy in every neighbourhood, at unit norm."""
    pictures = scale_to_unit_norm(pictures)
    energy = np.einsum("ncij,ncij->nij", pictures, pictures)
    sigma = STROKE_WIDTH * max(pictures.shape[2:])
    nearby = ndimage.gaussian_filter(energy, (0, sigma, sigma), mode="constant")
    nearby += FAINT**2 / energy[0].size
    return scale_to_unit_norm(pictures / np.sqrt(nearby)[:, None])


@_piece_by_piece
def take_subject(pictures: np.ndarray) -> np.ndarray:
    """What is in the middle of pictures (n, C, rows, columns), less the local mean, at unit norm."""
    side = max(pictures.shape[2:])
    sigma = DETAIL_WIDTH * side
    detail = pictures - ndimage.gaussian_filter(pictures, (0, 0, sigma, sigma), mode="nearest")
    from_middle = [np.arange(n) - (n - 1) / 2 for n in pictures.shape[2:]]
    fade_rows, fade_columns = (np.exp(-0.5 * (d / (WINDOW_WIDTH * side)) ** 2) for d in from_middle)
    window = np.outer(fade_rows, fade_columns).astype(pictures.dtype)
    return scale_to_unit_norm(detail * window)


NORMALISERS: dict[Any, Normaliser] = {
    None: lambda pictures: pictures,
    "unit": scale_to_unit_norm,
    "strokes": even_out_strokes,
    "subject": take_subject,
}

ONLY_SCALED = (None, "unit")
"""Normalisers that leave a picture what it was, but for its brightness."""


def representatives(n: int) -> np.ndarray:
    """Numbers of the pictures, among `n`, that decide how all are normalised."""
    return np.unique(np.linspace(0, n - 1, min(n, ENOUGH_TO_TELL)).astype(int))


def choose_normaliser(pictures: np.ndarray) -> str:
    """Say how pictures (n, C, rows, columns) should be normalised.

    "subject" without a dark background, "strokes" for thin things on one, "unit" for all others. Decided
    by at most a thousand of them, taken at even distances. Pictures with negative values, small ones and
    signals are only scaled.

    Examples
    --------
    >>> line, wall, disc = np.zeros((3, 5, 1, 16, 16))
    >>> line[:, :, 4:12, 7:9] = 1
    >>> disc[:, :, 4:13, 3:14] = 1
    >>> wall[:] = 0.6
    >>> choose_normaliser(line), choose_normaliser(disc), choose_normaliser(line + wall)
    ('strokes', 'unit', 'subject')
    """
    pictures = pictures[representatives(len(pictures))]
    if min(pictures.shape[2:]) < SMALLEST_SIDE or pictures.min() < 0:
        return "unit"
    if not has_dark_background(pictures):
        logger.info("normalize='auto' is 'subject': the pictures have no dark background")
        return "subject"
    thickness = reach(pictures)
    choice = "strokes" if thickness < THIN else "unit"
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
