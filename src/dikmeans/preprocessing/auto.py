"""Which preprocessing suits: decided by background and thickness of what pictures show."""

from __future__ import annotations

import numpy as np
from scipy import fft

from dikmeans._typing import FloatArray
from dikmeans.preprocessing.whitening import power_spectrum

# A picture has a dark background if its darkest tenth is darker than this share of its brightest.
DARK, DARKEST, BRIGHTEST = 0.15, 0.1, 0.99
# Pictures are of strokes if their correlation length is below this part of a side.
THIN = 0.17
# Smaller pictures do not tell.
SMALLEST_SIDE = 16


def choose_preprocessing(pictures: FloatArray) -> tuple[str, str]:
    """Name of the preprocessing that suits pictures (n, C, rows, columns), and why.

    Examples
    --------
    >>> line, wall, disc = np.zeros((3, 5, 1, 16, 16))
    >>> line[:, :, 4:12, 7:9] = 1
    >>> disc[:, :, 4:13, 3:14] = 1
    >>> wall[:] = 0.6
    >>> [choose_preprocessing(pictures)[0] for pictures in (line, disc, line + wall)]
    ['local-contrast', 'whitening', 'subject-centering']
    """
    if min(pictures.shape[2:]) < SMALLEST_SIDE:
        return "unit-norm", "signals and tiny pictures are only scaled"
    if pictures.min() < 0:
        return "unit-norm", "pictures with negative values are only scaled"
    if not pictures.any():
        return "unit-norm", "all pictures are black"
    if not has_dark_background(pictures):
        return "subject-centering", "the pictures have no dark background"
    length = correlation_length(pictures)
    reason = f"dark background; what they show is {100 * length:.0f} % of a side thick"
    return ("local-contrast" if length < THIN else "whitening"), reason


def has_dark_background(pictures: FloatArray) -> bool:
    """Whether the darkest tenth of the median picture is dark beside its brightest pixels."""
    flat = pictures.reshape(len(pictures), -1)
    dark, bright = np.quantile(flat, [DARKEST, BRIGHTEST], axis=1)
    return bool(np.median(dark - DARK * bright) <= 0)


def correlation_length(pictures: FloatArray) -> float:
    """Where the mean autocorrelation of pictures has fallen to a half, as a part of a side.

    The geometric mean of rows and columns.
    """
    shape = pictures.shape[2:]
    padded = [2 * n for n in shape]  # so that nothing wraps around
    correlation = fft.irfft2(power_spectrum(pictures, padded), s=padded)
    along_rows, along_columns = correlation[: shape[0], 0], correlation[0, : shape[1]]
    return float(np.sqrt(_half_width(along_rows) * _half_width(along_columns)))


def _half_width(correlation: FloatArray) -> float:
    """Where a falling curve passes half its first value, as a part of its length."""
    (below,) = np.nonzero(correlation < correlation[0] / 2)
    if not len(below):
        return 1.0
    after = below[0]
    excess = correlation[after - 1] - correlation[0] / 2
    fraction = excess / (correlation[after - 1] - correlation[after])
    return float(after - 1 + fraction) / len(correlation)
