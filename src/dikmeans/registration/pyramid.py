"""Low-pass versions of pictures, fine to coarse: they let an alignment see beyond a stroke.

Level 0 is the picture itself. Every further level is smoothed by a Gaussian and, along axes that
are long enough, averaged in blocks of two pixels: four times cheaper a step, and free of the narrow
local minima that sharp strokes make.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.registration.grid import Grid
from dikmeans.registration.sampling import PAD_MODES, outside_level
from dikmeans.registration.warps import Border

# Standard deviation of the Gaussian, in pixels of the finer level, along an axis that is halved;
# half as much along one that is not.
LOW_PASS = 1.5
# Halving goes on while the longer side has at least this many pixels.
MIN_SIDE = 24


def pyramid_grids(shape: tuple[int, int]) -> tuple[Grid, ...]:
    """Grids of all levels, finest first; at least one low-pass level.

    Examples
    --------
    >>> [grid.shape for grid in pyramid_grids((28, 28))]
    [(28, 28), (14, 14)]
    >>> [grid.shape for grid in pyramid_grids((1, 64))]
    [(1, 64), (1, 32), (1, 16)]
    """
    grids = [Grid.of(shape)]
    while max(grids[-1].shape) >= MIN_SIDE:
        grids.append(grids[-1].coarser())
    if len(grids) == 1:
        grids.append(grids[0])
    return tuple(grids)


def build_pyramid(
    pictures: FloatArray, grids: tuple[Grid, ...], border: Border, low_pass: float = LOW_PASS
) -> tuple[FloatArray, ...]:
    """Pictures (n, C, rows, columns) on each of `grids`, finest first.

    `low_pass` is the standard deviation of the Gaussian, in pixels of the finer level; with 0 there
    is none.
    """
    levels = [pictures]
    for grid in grids[1:]:
        finer = levels[-1]
        outside = outside_level(finer, border)
        if outside is None:
            levels.append(_low_pass(finer, grid.shape, border, low_pass))
        else:
            smoothed = _low_pass(finer - outside, grid.shape, "zero", low_pass)
            levels.append(smoothed + outside)
    return tuple(levels)


def _low_pass(
    pictures: FloatArray, shape: tuple[int, int], border: Border, low_pass: float
) -> FloatArray:
    mode = {"zero": "constant", "edge": "nearest"}[border]
    for axis in (2, 3):
        length, wanted = pictures.shape[axis], shape[axis - 2]
        if length == 1:
            continue
        sigma = low_pass / 2 if wanted == length else low_pass
        if sigma > 0:
            pictures = ndimage.gaussian_filter1d(pictures, sigma, axis=axis, mode=mode)
        if wanted < length:
            pictures = _halve(pictures, axis, border)
    return pictures


def _halve(pictures: FloatArray, axis: int, border: Border) -> FloatArray:
    """Mean of neighboring pixels along `axis`; an odd one out is paired with the outside."""
    if pictures.shape[axis] % 2:
        width = [(0, 0)] * pictures.ndim
        width[axis] = (0, 1)
        pictures = np.pad(pictures, width, mode=PAD_MODES[border])  # type: ignore[call-overload]
    even = [slice(None)] * pictures.ndim
    odd = list(even)
    even[axis], odd[axis] = slice(0, None, 2), slice(1, None, 2)
    return (pictures[tuple(even)] + pictures[tuple(odd)]) / 2
