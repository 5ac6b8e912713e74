"""Where a picture of any size lies in the frame that all pictures are compared in.

Files differ in size, the pictures that are compared do not. They are brought to one size in one of
two ways, and this module is the only place that knows them: ``"stretch"`` fills the frame, so that
proportions may change; ``"fit"`` scales a picture until it fits and leaves equal margins.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from dikmeans._typing import FloatArray, IntArray

Frame = Literal["stretch", "fit"]
"""How pictures are brought to one size."""
FRAMES: tuple[Frame, ...] = get_args(Frame)


class Placement(NamedTuple):
    """One picture in the frame: ``original = (framed - offset) * scale`` on each axis.

    Lengths are in pixels, from the upper left edge.

    Attributes
    ----------
    scale : (float, float)
        Pixels of the original per pixel of the frame, along rows and columns.
    offset : (float, float)
        Where the original begins in the frame.
    """

    scale: tuple[float, float]
    offset: tuple[float, float]

    def to_original(self, points: FloatArray) -> FloatArray:
        """Pixel indices (..., 2) of the original, from those of the frame; centers are whole."""
        return (points + 0.5 - np.array(self.offset)) * np.array(self.scale) - 0.5


class Crops(NamedTuple):
    """The part of each given image that the preprocessed one shows.

    ``given = scale * preprocessed + offset`` in pixel indices; it may reach beyond the edge.

    Attributes
    ----------
    scale : array of shape (n,)
        Pixels of each given image per pixel of the preprocessed one.
    offset : array of shape (n, 2)
        (row, column) index of the given image at the first pixel of the preprocessed one.

    Examples
    --------
    Twice as large, of what had been moved by a pixel before.

    >>> moved = Crops(np.ones(1), np.array([[1.0, 0.0]]))
    >>> enlarged = Crops(np.array([0.5]), np.array([[4.0, 4.0]]))
    >>> moved.then(enlarged)
    Crops(scale=array([0.5]), offset=array([[5., 4.]]))
    """

    scale: FloatArray
    offset: FloatArray

    @classmethod
    def unchanged(cls, n: int) -> Crops:
        """Of `n` images that stay where they are."""
        return cls(np.ones(n), np.zeros((n, 2)))

    def of(self, numbers: IntArray) -> Crops:
        """Those of some of the images."""
        return Crops(self.scale[numbers], self.offset[numbers])

    def then(self, later: Crops) -> Crops:
        """The crops of images that are preprocessed once more."""
        return Crops(self.scale * later.scale, self.scale[:, None] * later.offset + self.offset)

    def to_given(self, points: FloatArray) -> FloatArray:
        """Pixel indices (n, m, 2) of the given images, from those of the preprocessed ones."""
        return self.scale[:, None, None] * points + self.offset[:, None, :]


def place(original: tuple[int, int], framed: tuple[int, int], frame: Frame) -> Placement:
    """The placement of a picture.

    Parameters
    ----------
    original : (int, int)
        Rows and columns of the picture.
    framed : (int, int)
        Rows and columns of the frame.
    frame : {"stretch", "fit"}

    Examples
    --------
    A portrait in a square frame: stretched to it, or with margins left and right.

    >>> place((200, 100), (50, 50), "stretch")
    Placement(scale=(4.0, 2.0), offset=(0.0, 0.0))
    >>> place((200, 100), (50, 50), "fit")
    Placement(scale=(4.0, 4.0), offset=(0.0, 12.5))
    """
    (height, width), (rows, columns) = original, framed
    if frame == "stretch":
        return Placement((height / rows, width / columns), (0.0, 0.0))
    scale = max(height / rows, width / columns)
    return Placement((scale, scale), ((rows - height / scale) / 2, (columns - width / scale) / 2))
