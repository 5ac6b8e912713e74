"""The deformed grid along which an image is read, drawn over the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.plot.pictures import draw_picture, without_ticks
from dikmeans.plot.style import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LINES = 13
"""Lines of a grid in each direction, at most."""


def draw_grid(
    axis: Axes, grid: np.ndarray, under: np.ndarray, *, cmap: str, color: str = BLUE
) -> None:
    """Draw the lines of a deformed grid over the faint picture they read.

    Parameters
    ----------
    axis : matplotlib axes
    grid : array of shape (rows, columns, 2)
        For each pixel of the warped picture its place, as (row, column), in the picture `under`.
    under : array of shape (rows, columns[, channels])
    cmap : str
    color : str
    """
    draw_picture(axis, under, cmap=cmap, alpha=0.35)
    for lines in (_spread(grid), _spread(np.swapaxes(grid, 0, 1))):
        for line in lines:
            axis.plot(line[:, 1], line[:, 0], color=color, linewidth=0.8)
    show_whole(axis, [grid])
    without_ticks(axis)


def show_whole(axis: Axes, grids: Sequence[np.ndarray]) -> None:
    """Set limits that hold the picture and all grids, which may leave it."""
    last = np.array(grids[0].shape[:2]) - 1
    corners = np.concatenate(
        [np.zeros((1, 2)), last[None], *(grid.reshape(-1, 2) for grid in grids)]
    )
    low, high = corners.min(axis=0) - 0.5, corners.max(axis=0) + 0.5
    axis.set(xlim=(low[1], high[1]), ylim=(high[0], low[0]), aspect="equal")


def _spread(grid: np.ndarray) -> np.ndarray:
    """Lines along the second axis at equal distances on the first, interpolated between rows."""
    position = np.linspace(0, len(grid) - 1, min(len(grid), N_LINES))
    above = np.floor(position).astype(int)
    below = np.minimum(above + 1, len(grid) - 1)
    share = (position - above)[:, None, None]
    return (1 - share) * grid[above] + share * grid[below]
