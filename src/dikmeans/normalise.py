r"""What is done to a picture before it is compared: brightness, and where there is no background, shading.

``"unit"`` scales a picture to unit norm. ``"detail"`` first takes away the local mean,
:math:`x - G_\sigma * x`, with a Gaussian a tenth of the picture's longer side wide: what is left are edges
and features. On a picture with a dark background the outline says most, and its mean level belongs to it. On
one without (a face, a texture) skin, light and wall say most, and hide what the picture is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage

from dikmeans.images import scale_to_unit_norm

# Width of the Gaussian, relative to the longer side.
DETAIL_WIDTH = 0.1
# A picture has a background if its darkest tenth is darker than this share of its brightest pixels ...
DARK, DARKEST, BRIGHTEST = 0.15, 0.1, 0.99
# ... and it takes a picture of some size, on both sides, to tell.
SMALLEST_SIDE = 8
ENOUGH_TO_TELL = 1000


def take_detail(pictures: np.ndarray) -> np.ndarray:
    """Pictures (n, C, rows, columns) less their local mean, at unit norm."""
    sigma = DETAIL_WIDTH * max(pictures.shape[2:])
    shading = ndimage.gaussian_filter(pictures, (0, 0, sigma, sigma), mode="nearest")
    return scale_to_unit_norm(pictures - shading)


NORMALISERS: dict[Any, Callable[[np.ndarray], np.ndarray]] = {
    None: lambda pictures: pictures,
    "unit": scale_to_unit_norm,
    "detail": take_detail,
}


def representatives(n: int) -> np.ndarray:
    """Numbers of the pictures, among `n`, that decide how all are normalised."""
    return np.unique(np.linspace(0, n - 1, min(n, ENOUGH_TO_TELL)).astype(int))


def choose_normaliser(pictures: np.ndarray) -> str:
    """Say "detail" for pictures without a dark background, "unit" for all others.

    Decided by the median picture of at most a thousand, taken at even distances. Pictures with negative
    values, and signals, are left as they are.

    Examples
    --------
    >>> digit, wall = np.zeros((2, 5, 1, 16, 16))
    >>> digit[:, :, 4:12, 7:9] = 1
    >>> wall[:] = 0.6
    >>> choose_normaliser(digit), choose_normaliser(digit + wall)
    ('unit', 'detail')
    """
    pictures = pictures[representatives(len(pictures))]
    if min(pictures.shape[2:]) < SMALLEST_SIDE or pictures.min() < 0:
        return "unit"
    dark, bright = np.quantile(pictures.reshape(len(pictures), -1), [DARKEST, BRIGHTEST], axis=1)
    return "detail" if np.median(dark - DARK * bright) > 0 else "unit"
