"""Centroids of several models and data sets: one row per model, one block per data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array
from dikmeans.plot.pictures import draw_picture, grey_map, without_ticks
from dikmeans.plot.style import blank_figure, in_house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

Rows = Mapping[str, Array]


@in_house_style
def centroid_rows(rows: Rows, *, title: str | None = None, cell: float = 0.8) -> Figure:
    """Draw several sets of images, one under the other, as in the paper's centroid figure.

    Parameters
    ----------
    rows : mapping of str to array of shape (K, rows, columns[, channels])
        Name of each row and its images.
    title : str, optional
    cell : float
        Size of an image in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    wide, high = _cell_size(rows, cell)
    n_columns = max(len(images) for images in rows.values())
    room_for_title = 0.09 * len(title or "")
    figure: Figure = blank_figure(
        max(wide * n_columns + 1.2, room_for_title), high * len(rows) + (0.4 if title else 0.1)
    )
    _draw_rows(figure, rows, n_columns)
    if title:
        figure.suptitle(title)
    return figure


@in_house_style
def centroid_overview(
    sets: Mapping[str, Rows], *, max_shown: int = 10, n_columns: int = 2, cell: float = 0.4
) -> Figure:
    """Draw the rows of several data sets in one figure, one block per set.

    Parameters
    ----------
    sets : mapping of str to rows
        Title of each block and its rows, as for `centroid_rows`.
    max_shown : int
        Centroids shown of each set, at most; the title says if there are more.
    n_columns : int
        Blocks side by side.
    cell : float
        Size of an image in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    n_blocks = math.ceil(len(sets) / n_columns)
    n_rows = max(len(rows) for rows in sets.values())
    longest = max(len(images) for rows in sets.values() for images in rows.values())
    n_shown = min(max_shown, longest)
    figure: Figure = blank_figure(
        n_columns * (cell * n_shown + 1.0), n_blocks * (cell * n_rows + 0.4)
    )
    blocks = figure.subfigures(n_blocks, min(n_columns, len(sets)), squeeze=False).ravel()
    for block, (title, rows) in zip(blocks, sets.items(), strict=False):
        n_all = max(len(images) for images in rows.values())
        # As many columns in each block, used or not: images of all sets have the same size.
        _draw_rows(block, {name: images[:max_shown] for name, images in rows.items()}, n_shown)
        suffix = f" ({max_shown} of {n_all})" if max_shown < n_all else ""
        block.suptitle(title + suffix, fontsize=10)
    return figure


def _cell_size(rows: Rows, cell: float) -> tuple[float, float]:
    """Return width and height in inches of an image with the area of a square of side `cell`."""
    height, width = next(iter(rows.values())).shape[1:3]
    unit = cell / math.sqrt(height * width)
    return unit * width, unit * height


def _draw_rows(figure: FigureBase, rows: Rows, n_columns: int) -> None:
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    cmap = grey_map(np.concatenate(list(rows.values())))
    for (name, images), line in zip(rows.items(), axes, strict=True):
        for axis in line:
            without_ticks(axis)
        for image, axis in zip(images, line, strict=False):
            draw_picture(axis, image, cmap=cmap)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
