"""Pictures of another shape than the frame: padded with their own ground, which nobody sees.

The ground next to an edge is the median over a rim, followed along the edge by a wide median (what
reaches the edge is no ground) and smoothed. It is continued outward as it is, so that paper under
uneven light has no visible border.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray

# Width of the rim, and of the median along the edge, as parts of a side.
RIM, ALONG = 0.06, 0.5


def fitted_size(size: tuple[int, int], frame: tuple[int, int]) -> tuple[int, int]:
    """The largest (height, width) of the proportions of `size` that fits into `frame`.

    Examples
    --------
    >>> fitted_size((40, 80), (32, 32)), fitted_size((10, 10), (20, 30))
    ((16, 32), (20, 20))
    """
    scale = min(side / own for side, own in zip(frame, size, strict=True))
    height, width = (
        min(side, max(1, round(own * scale))) for side, own in zip(frame, size, strict=True)
    )
    return height, width


def pad_with_ground(
    pixels: FloatArray, frame: tuple[int, int], *, alpha: bool = False
) -> FloatArray:
    """A picture (H, W[, C]) in the middle of a frame that it fits into.

    With `alpha` the last channel is alpha, and the padding is transparent.
    """
    margins = [
        ((side - own) // 2, side - own - (side - own) // 2)
        for side, own in zip(frame, pixels.shape[:2], strict=True)
    ]
    for axis, margin in enumerate(margins):
        if any(margin):
            pixels = _pad_along(pixels, axis, margin, transparent=alpha)
    return pixels


def _pad_along(
    pixels: FloatArray, axis: int, margin: tuple[int, int], *, transparent: bool
) -> FloatArray:
    along_first = np.moveaxis(pixels, axis, 0)
    parts = [along_first]
    width = max(1, round(RIM * len(along_first)))
    before, after = (
        np.repeat(_ground_of(rim)[None], n, axis=0)
        for rim, n in zip((along_first[:width], along_first[-width:]), margin, strict=True)
    )
    if transparent:
        before[..., -1] = after[..., -1] = 0
    parts = [before, along_first, after]
    return np.ascontiguousarray(np.moveaxis(np.concatenate(parts), 0, axis))


def _ground_of(rim: FloatArray) -> FloatArray:
    """The ground along an edge, from a rim (width, length[, C])."""
    level = np.median(rim, axis=0)
    window = 2 * int(ALONG * len(level) / 2) + 1
    sizes = (window,) + (1,) * (level.ndim - 1)
    robust = ndimage.median_filter(level, sizes, mode="nearest")
    smooth = ndimage.uniform_filter(robust, sizes, mode="nearest")
    return np.clip(smooth, 0, 1).astype(np.float32)
