"""Where pixels lie: the frame that every image shape and every resolution shares.

The conventions of the whole package, written once:

* **Axes.** A point is ``(row, column)``, in that order, everywhere.
* **Frame.** The origin is the middle of the picture; one unit is half of its longer side, so the
  longer side runs from -1 to 1 from pixel edge to pixel edge, and a rotation stays a rotation on a
  picture that is not square. Pixel ``i`` of ``n`` has its center at
  ``(i + 1/2 - n/2) / (longest / 2)``.
* **Who is warped onto whom.** Warping is *backward*: the pixel of the result at frame point ``p``
  takes the value of the source picture at ``F(p)``. The *template* is the picture that is sampled
  (and so gets warped), the *target* the one it is compared with, pixel by pixel.
* **Outside.** A template is zero beyond its border (``border="zero"``), continues its edge pixels
  (``border="edge"``), or has their mean everywhere (``border="rim"``).
* **Flat axes.** Along an axis of fewer than four pixels there is nothing to deform: such an axis is
  *flat*, it has scale zero, and nothing moves along it. Pictures of one row are signals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dikmeans._typing import FloatArray, IntArray

MIN_LIVE_LENGTH = 4
# An axis shorter than this is not halved by `Grid.coarser`: too few pixels would remain to steer
# by.
MIN_HALVED_LENGTH = 16


@dataclass(frozen=True)
class Grid:
    """The pixel grid of one picture size: ``pixel = frame * scale + offset`` on each axis.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    scale, offset : tuple of float
        The map from frame points to pixel indices, per axis.
    """

    shape: tuple[int, int]
    scale: tuple[float, float]
    offset: tuple[float, float]

    @classmethod
    def of(cls, shape: tuple[int, int]) -> Grid:
        """The full-resolution grid of a picture of `shape`.

        Examples
        --------
        >>> Grid.of((4, 8)).points()[0]      # center of the top left pixel
        array([-0.375, -0.875])
        """
        unit = max(shape) / 2
        rows, columns = shape
        return cls(
            shape=(rows, columns),
            scale=(
                unit if rows >= MIN_LIVE_LENGTH else 0.0,
                unit if columns >= MIN_LIVE_LENGTH else 0.0,
            ),
            offset=((rows - 1) / 2, (columns - 1) / 2),
        )

    def coarser(self) -> Grid:
        """The grid of 2 x 2 pixel blocks; axes that are short already keep their length."""
        axes = zip(self.shape, self.scale, self.offset, strict=True)
        halved = [
            (-(-n // 2), s / 2, (o - 0.5) / 2) if n >= MIN_HALVED_LENGTH else (n, s, o)
            for n, s, o in axes
        ]
        (rows, sr, o_r), (columns, sc, oc) = halved
        return Grid((rows, columns), (sr, sc), (o_r, oc))

    @property
    def n_pixels(self) -> int:
        """Number of pixels."""
        return self.shape[0] * self.shape[1]

    @property
    def live_axes(self) -> tuple[int, ...]:
        """The axes along which something can move."""
        return tuple(axis for axis in (0, 1) if self.scale[axis] > 0)

    def points(self) -> FloatArray:
        """Frame points of all pixel centers, row by row, shape ``(n_pixels, 2)``."""
        axes = [
            (np.arange(n) - o) / s if s > 0 else np.zeros(n)
            for n, s, o in zip(self.shape, self.scale, self.offset, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def indices(self) -> IntArray:
        """Row and column of all pixels, row by row, shape ``(n_pixels, 2)``."""
        return np.indices(self.shape).reshape(2, -1).T

    def to_pixels(self, points: FloatArray) -> FloatArray:
        """Fractional pixel indices of frame points (..., rows, columns, 2), one per pixel.

        Along a flat axis each pixel stays in its own row or column.
        """
        indices = self.indices().reshape(*self.shape, 2)
        return np.where(
            np.array(self.scale) > 0, np.asarray(points) * self.scale + self.offset, indices
        )
