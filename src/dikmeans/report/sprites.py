"""Sprite sheets: many small pictures in few image files, values as bytes."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray

# Browsers decode larger images, but not all of them quickly.
SHEET_SIDE = 4096


# Pictures have both signs if so many of their values are below minus so much of the largest.
SIGNED, SIGNED_SHARE = 0.1, 0.02
# What is above zero is drawn in the first color, what is below in the second, zero in the third.
MORE, LESS, NONE = (200, 65, 20), (25, 95, 200), (250, 250, 250)
# Small sheets keep every value (PNG); large ones are photographs (JPEG), of the first quality with
# which they are small enough.
LARGEST_PNG, QUALITIES = 3_000_000, (82, 70, 55, 40, 25)


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
    is_signed : bool
        Whether values have both signs, which are drawn in two colors.
    """

    low: float
    high: float
    ink: bool
    is_signed: bool = False

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
    is_signed = bool(np.mean(pictures < -SIGNED * max(high, -low)) > SIGNED_SHARE)
    empty = np.mean(pictures < 0.05 * high)
    is_ink = pictures.ndim == 3 and low == 0 and empty > 1 / 3
    return Tone(low, high, ink=bool(is_ink), is_signed=is_signed)


def signed_colors(pictures: FloatArray, tone: Tone) -> Array:
    """Values of both signs as colors (..., 3): orange above zero, blue below, white at zero."""
    gray = pictures if pictures.ndim == 3 else pictures.mean(axis=3)
    strength = np.clip(gray / max(tone.high, -tone.low), -1, 1)[..., None]
    ends = np.where(strength > 0, np.array(MORE), np.array(LESS))
    colors = np.array(NONE) + np.abs(strength) * (ends - np.array(NONE))
    return np.rint(colors).astype(np.uint8)


def viewable(pictures: FloatArray) -> FloatArray:
    """Pictures as gray (n, rows, columns) or color (n, rows, columns, 3).

    Channels that are not three colors are averaged.
    """
    if pictures.ndim == 4 and pictures.shape[3] != 3:
        averaged: FloatArray = pictures.mean(axis=3)
        return averaged
    return pictures


def make_sheets(pictures: Array, max_bytes: float = np.inf) -> list[JSON]:
    """Byte pictures (n, rows, columns[, 3]) as sheets: an image in base64, columns, cells.

    Details are given up, but not too many, until all together take at most `max_bytes`.
    """
    sheets = _arrange(pictures)
    if pictures.nbytes <= min(LARGEST_PNG, max_bytes):
        return [_packed(sheet, _encoded(sheet.pixels, "png"), "image/png") for sheet in sheets]
    for quality in QUALITIES:
        contents = [_encoded(sheet.pixels, "jpeg", quality) for sheet in sheets]
        if sum(map(len, contents)) <= max_bytes:
            break
    pairs = zip(sheets, contents, strict=True)
    return [_packed(sheet, content, "image/jpeg") for sheet, content in pairs]


class _Sheet(NamedTuple):
    """Pictures side by side, `across` of them in a row, `n_pictures` in all."""

    pixels: Array
    across: int
    n_pictures: int


def _arrange(pictures: Array) -> list[_Sheet]:
    """Pictures in sheets that browsers decode quickly."""
    n, rows, columns = pictures.shape[:3]
    across = max(1, min(SHEET_SIDE // columns, int(np.ceil(np.sqrt(n * rows / columns)))))
    per_sheet = across * max(1, SHEET_SIDE // rows)
    sheets = []
    for first in range(0, n, per_sheet):
        part = pictures[first : first + per_sheet]
        down = -(-len(part) // across)
        cells = np.zeros((down * across, *pictures.shape[1:]), np.uint8)
        cells[: len(part)] = part
        tiled = cells.reshape(down, across, *pictures.shape[1:]).swapaxes(1, 2)
        pixels = tiled.reshape(down * rows, across * columns, *pictures.shape[3:])
        sheets.append(_Sheet(pixels, across, len(part)))
    return sheets


def _packed(sheet: _Sheet, content: bytes, kind: str) -> JSON:
    data = base64.b64encode(content).decode()
    return {"type": kind, "data": data, "across": sheet.across, "count": sheet.n_pictures}


def _encoded(pixels: Array, kind: str, quality: int = 0) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    # without subsampling, so that colors do not leak into the neighbor
    options = {"quality": quality, "subsampling": 0} if kind == "jpeg" else {}
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()
