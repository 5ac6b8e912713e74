"""Pictures of centroids as PNG files that any viewer opens."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.errors import MissingExtraError
from dikmeans.images import displayable

_COLOR_CHANNELS = 3
SIGNED = 0.15
"""A picture has both signs if its lowest value is below minus this share of its largest."""


def write_picture(path: Path, picture: FloatArray) -> None:
    """Write a picture (rows, columns[, channels]) with values from 0 (black) to 1 (white).

    Three channels are color, unless they are equal; any other number is averaged to gray.
    """
    if picture.ndim == 3 and picture.shape[2] != _COLOR_CHANNELS:
        picture = picture.mean(axis=2)
    pixels = np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8)
    if pixels.ndim == 3 and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]
    require_pillow().fromarray(pixels).save(path, "png")


def write_compared(path: Path, picture: FloatArray) -> None:
    """Write a preprocessed picture over its own range; if it has both signs, zero is mid-gray."""
    largest = float(np.abs(picture).max())
    if float(picture.min()) < -SIGNED * largest:
        write_picture(path, 0.5 + 0.5 * picture / largest)
    else:
        write_picture(path, displayable(np.maximum(picture, 0)))


def require_pillow() -> ModuleType:
    """Pillow's module `Image`; `MissingExtraError` if it is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "Writing centroids as pictures") from error
    module: ModuleType = Image
    return module
