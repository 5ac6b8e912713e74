"""Sprite sheets: many small pictures in few PNG files, values as bytes."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray

# Browsers decode larger images, but not all of them quickly.
SHEET_SIDE = 4096


@dataclass(frozen=True)
class Tone:
    """How values of pictures become bytes, and how those are drawn.

    Attributes
    ----------
    low, high : float
        The values of bytes 0 and 255.
    ink : bool
        Whether the pictures are strokes on an empty background, which may be drawn dark on light
        as well as light on dark; photographs may not.
    """

    low: float
    high: float
    ink: bool

    def to_bytes(self, pictures: FloatArray) -> Array:
        """Values as bytes; those outside of the range are clipped."""
        scaled = (pictures - self.low) * (255 / (self.high - self.low))
        return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def tone_of(pictures: FloatArray) -> Tone:
    """The tone of pictures (n, rows, columns[, 3]), from zero or their minimum to their maximum.

    Strokes are gray pictures without negative values in which at least a third of the pixels are
    empty.
    """
    low, high = min(0.0, float(pictures.min())), float(pictures.max())
    if high <= low:
        return Tone(low, low + 1, ink=True)
    empty = np.mean(pictures < 0.05 * high)
    return Tone(low, high, ink=bool(pictures.ndim == 3 and low == 0 and empty > 1 / 3))


def viewable(pictures: FloatArray) -> FloatArray:
    """Pictures as gray (n, rows, columns) or color (n, rows, columns, 3).

    Channels that are not three colors are averaged.
    """
    if pictures.ndim == 4 and pictures.shape[3] != 3:
        averaged: FloatArray = pictures.mean(axis=3)
        return averaged
    return pictures


def make_sheets(pictures: Array) -> list[JSON]:
    """Byte pictures (n, rows, columns[, 3]) as sheets: PNG in base64, columns, number of cells."""
    from PIL import Image

    n, rows, columns = pictures.shape[:3]
    across = max(1, min(SHEET_SIDE // columns, int(np.ceil(np.sqrt(n * rows / columns)))))
    per_sheet = across * max(1, SHEET_SIDE // rows)
    sheets: list[JSON] = []
    for first in range(0, n, per_sheet):
        part = pictures[first : first + per_sheet]
        down = -(-len(part) // across)
        cells = np.zeros((down * across, *pictures.shape[1:]), np.uint8)
        cells[: len(part)] = part
        tiled = cells.reshape(down, across, *pictures.shape[1:]).swapaxes(1, 2)
        sheet = tiled.reshape(down * rows, across * columns, *pictures.shape[3:])
        stream = io.BytesIO()
        Image.fromarray(sheet).save(stream, format="PNG")
        png = base64.b64encode(stream.getvalue()).decode()
        sheets.append({"png": png, "across": across, "count": len(part)})
    return sheets
