"""Pictures of centroids as PNG files that any viewer opens."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.errors import MissingExtraError
from dikmeans.images import displayable

_COLOR_CHANNELS = 3


def write_picture(path: Path, picture: FloatArray) -> None:
    """Write a picture (rows, columns[, channels]), scaled to the range from black to white.

    Three channels are color; any other number of channels is averaged to gray.
    """
    if picture.ndim == 3 and picture.shape[2] != _COLOR_CHANNELS:
        picture = picture.mean(axis=2)
    pixels = np.round(255 * displayable(picture)).astype(np.uint8)
    require_pillow().fromarray(pixels).save(path, "png")


def require_pillow() -> ModuleType:
    """Pillow's module `Image`; `MissingExtraError` if it is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "Writing centroids as pictures") from error
    module: ModuleType = Image
    return module
