"""How one picture is drawn: dark on white if zero is its background, light on dark otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans._typing import Array, ArrayLike
from dikmeans.images import displayable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# Pictures have a background if a quarter of their edge is below this share of the brightest pixel.
BACKGROUND = 0.15


def gray_map(pictures: Array) -> str:
    """The matplotlib color map for pictures (N, rows, columns[, channels]) that belong together.

    Handwriting and spectrograms have an empty edge and are drawn dark on white. Photographs, which
    fill the frame, are drawn as they are, and so are pictures with values of both signs (whitened
    ones, for instance).

    Examples
    --------
    >>> letter = np.pad(np.ones((1, 2, 2)), [(0, 0), (3, 3), (3, 3)])
    >>> gray_map(letter), gray_map(np.ones((1, 8, 8)))
    ('gray_r', 'gray')
    """
    brightest = float(np.max(pictures))
    if np.quantile(pictures, 0.01) < -BACKGROUND * brightest:
        return "gray"
    rows, columns = pictures[:, [0, -1]], pictures[:, :, [0, -1]]
    edge = np.concatenate([rows.reshape(-1), columns.reshape(-1)])
    return "gray_r" if np.quantile(edge, 0.25) <= BACKGROUND * brightest else "gray"


def draw_picture(
    axis: Axes, picture: ArrayLike, *, cmap: str | None = None, **options: Any
) -> AxesImage:
    """Draw a picture without ticks, gray ones with `cmap`; `options` are those of ``imshow``."""
    values = np.asarray(picture)
    if values.ndim == 3 and values.shape[2] not in (3, 4):
        values = values.mean(axis=2)  # the channels are not colors
    without_ticks(axis)
    return axis.imshow(
        displayable(values),
        cmap=cmap or gray_map(values[None]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
        **options,
    )


def without_ticks(axis: Axes) -> None:
    """Remove ticks and frame; labels stay."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
