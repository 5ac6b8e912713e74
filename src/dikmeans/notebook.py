"""A fitted model in a notebook: its centroids as small pictures below scikit-learn's diagram."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from dikmeans._typing import Array, FloatArray
from dikmeans.images import displayable

MAX_SHOWN = 40
WIDTH = 72
# A picture has both signs if its lowest value is below minus this share of its largest.
SIGNED = 0.15


def centroids_html(centroids: FloatArray, counts: FloatArray) -> str:
    """Centroids (K, rows, columns[, channels]) with the number of their members, as HTML."""
    figures = [
        f'<figure style="margin:0;text-align:center;font-size:80%">'
        f'<img width="{WIDTH}" alt="centroid {number}" style="image-rendering:pixelated" '
        f'src="data:image/png;base64,{base64.b64encode(as_png(picture)).decode()}">'
        f"<figcaption>{number}: {int(count):,}</figcaption></figure>"
        for number, (picture, count) in enumerate(
            zip(centroids[:MAX_SHOWN], counts[:MAX_SHOWN], strict=True)
        )
    ]
    rest = len(centroids) - MAX_SHOWN
    more = f"<p>and {rest} more clusters</p>" if rest > 0 else ""
    row = "".join(figures)
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px;margin-top:6px">{row}</div>{more}'


def as_png(picture: FloatArray) -> bytes:
    """A picture over its own range as a gray or color PNG file; needs no other library."""
    if picture.ndim == 3 and picture.shape[2] != 3:
        picture = picture.mean(axis=2)
    largest = float(np.abs(picture).max())
    is_signed = float(picture.min()) < -SIGNED * largest
    values = 0.5 + 0.5 * picture / largest if is_signed else displayable(np.maximum(picture, 0))
    return encode_png(np.rint(255 * values).astype(np.uint8))


def encode_png(pixels: Array) -> bytes:
    r"""Bytes (rows, columns[, 3]) as a PNG file.

    Examples
    --------
    >>> encode_png(np.zeros((2, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    rows, columns = pixels.shape[:2]
    kind = 2 if pixels.ndim == 3 else 0  # color, or gray
    lines = np.ascontiguousarray(pixels).reshape(rows, -1)
    # every line begins with the number of its filter: none
    content = np.concatenate([np.zeros((rows, 1), np.uint8), lines], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", columns, rows, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(content)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
