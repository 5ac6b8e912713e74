"""A picture of the package's own (a centroid) as a PNG that any viewer opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.images import displayable

_VIEWABLE_CHANNELS = 3


def write_picture(path: Path, picture: np.ndarray) -> None:
    """Write a picture (rows, columns[, channels]), stretched to the range of a screen.

    Three channels are colour; any other number is averaged, for there is no colour to show them in.
    """
    pixels = np.round(255 * displayable(_viewable(picture))).astype(np.uint8)
    require_pillow().fromarray(pixels).save(path, "png")


def require_pillow() -> Any:
    """Pillow's `Image`, or a word on how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Writing centroids as pictures needs the library 'pillow', which is not installed. Install it "
            "with: pip install 'dikmeans[images]'"
        ) from error
    return Image


def _viewable(picture: np.ndarray) -> np.ndarray:
    if picture.ndim == 3 and picture.shape[2] != _VIEWABLE_CHANNELS:
        return picture.mean(axis=2)
    return picture
