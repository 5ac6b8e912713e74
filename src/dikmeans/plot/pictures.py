"""How one picture is drawn: ink on paper where zero is the background, light on dark where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.images import displayable

# If a quarter of the edge pixels are below this share of the brightest one, the pictures have a background.
_PAPER = 0.15


def grey_map(pictures: np.ndarray) -> str:
    """The matplotlib colour map for pictures (N, rows, columns[, channels]) that belong together.

    Handwriting and spectrograms have an empty edge and are shown dark on white; photographs fill the frame
    and are shown as they are, and so is whatever has either sign (``normalize="scales"`` or ``"subject"``).

    Examples
    --------
    >>> grey_map(np.pad(np.ones((1, 2, 2)), [(0, 0), (3, 3), (3, 3)])), grey_map(np.ones((1, 8, 8)))
    ('gray_r', 'gray')
    """
    brightest = float(np.max(pictures))
    if np.quantile(pictures, 0.01) < -_PAPER * brightest:
        return "gray"  # the detail of photographs, around zero: nothing is background
    rows, columns = pictures[:, [0, -1]], pictures[:, :, [0, -1]]
    edge = np.concatenate([rows.reshape(-1), columns.reshape(-1)])
    return "gray_r" if np.quantile(edge, 0.25) <= _PAPER * brightest else "gray"


def draw_picture(axis: Any, picture: np.ndarray, *, cmap: str | None = None, **options: Any) -> Any:
    """Draw a picture without ticks; grey ones by `cmap`, colours as they are; `options` go to ``imshow``."""
    picture = np.asarray(picture)
    if picture.ndim == 3 and picture.shape[2] not in (3, 4):
        picture = picture.mean(axis=2)  # channels that are no colours
    drawn = axis.imshow(
        displayable(picture),
        cmap=cmap or grey_map(picture[None]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
        **options,
    )
    without_ticks(axis)
    return drawn


def without_ticks(axis: Any) -> None:
    """Leave an axis nothing but what is drawn in it, and its labels."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
