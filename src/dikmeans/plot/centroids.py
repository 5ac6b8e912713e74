"""Centroids as a picture: those of a model, one row a model, one block a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dikmeans.plot.pictures import draw_picture, grey_map, without_ticks
from dikmeans.plot.style import GREY, blank_figure, in_house_style

Rows = Mapping[str, np.ndarray]


@in_house_style
def centroids(model: Any, *, title: str | None = None, n_columns: int = 10, cell: float = 0.95) -> Any:
    """The centroids of a fitted model, each with its number and how many images it has.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    title : str, optional
    n_columns : int
        Pictures side by side, at most.
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, plot
    >>> model = DIKMeans(3, random_state=0).fit(load_digits().images[:60])
    >>> figure = plot.centroids(model)
    >>> [len(axis.images) for axis in figure.axes]
    [1, 1, 1]
    """
    pictures = model.cluster_centers_
    counts = np.bincount(model.labels_, minlength=len(pictures))
    n_columns = min(n_columns, len(pictures))
    n_rows = math.ceil(len(pictures) / n_columns)
    rows, columns = pictures.shape[1:3]
    high, wide = cell * rows / max(rows, columns), cell * columns / max(rows, columns)
    figure = blank_figure(max(wide * n_columns + 0.2, 2.5), (high + 0.32) * n_rows + (0.35 if title else 0.1))
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for number, axis in enumerate(axes):
        if number >= len(pictures):
            axis.remove()
            continue
        draw_picture(axis, pictures[number], cmap=grey_map(pictures))
        axis.set_title(f"{number}", fontsize=8, pad=2)
        axis.set_xlabel(f"{counts[number]:,}", fontsize=7.5, color=GREY, labelpad=2)
    if title:
        figure.suptitle(title)
    return figure


@in_house_style
def centroid_rows(rows: Rows, *, title: str | None = None, cell: float = 0.8) -> Any:
    """Several sets of pictures, one under the other, as in the paper's centroid figure.

    Parameters
    ----------
    rows : mapping of str to array of shape (K, rows, columns[, channels])
        Name of each row and its pictures.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    wide, high = _cell_size(rows, cell)
    n_columns = max(len(pictures) for pictures in rows.values())
    room_for_title = 0.09 * len(title or "")
    figure = blank_figure(
        max(wide * n_columns + 1.2, room_for_title), high * len(rows) + (0.4 if title else 0.1)
    )
    _draw_rows(figure, rows, n_columns)
    if title:
        figure.suptitle(title)
    return figure


@in_house_style
def centroid_overview(
    sets: Mapping[str, Rows], *, most: int = 10, n_columns: int = 2, cell: float = 0.4
) -> Any:
    """The rows of several data sets in one figure, a block each; of many centroids the first few.

    Parameters
    ----------
    sets : mapping of str to rows
        Title of each block and its rows, as for `centroid_rows`.
    most : int
        Centroids shown of each set, at most; the title says if there are more.
    n_columns : int
        Blocks side by side.
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    n_blocks = math.ceil(len(sets) / n_columns)
    n_rows = max(len(rows) for rows in sets.values())
    n_most = min(most, max(len(pictures) for rows in sets.values() for pictures in rows.values()))
    figure = blank_figure(n_columns * (cell * n_most + 1.0), n_blocks * (cell * n_rows + 0.4))
    blocks = figure.subfigures(n_blocks, min(n_columns, len(sets)), squeeze=False).ravel()
    for block, (title, rows) in zip(blocks, sets.items(), strict=False):
        n_all = max(len(pictures) for pictures in rows.values())
        shown = min(most, n_all)
        # as many columns in each block, used or not: pictures of all sets have one size
        _draw_rows(block, {name: pictures[:most] for name, pictures in rows.items()}, n_most)
        block.suptitle(title + (f" ({shown} of {n_all})" if shown < n_all else ""), fontsize=10)
    return figure


def _cell_size(rows: Rows, cell: float) -> tuple[float, float]:
    """Width and height in inches of a picture with the area of a square of side `cell`."""
    height, width = next(iter(rows.values())).shape[1:3]
    unit = cell / math.sqrt(height * width)
    return unit * width, unit * height


def _draw_rows(figure: Any, rows: Rows, n_columns: int) -> None:
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    cmap = grey_map(np.concatenate(list(rows.values())))
    for (name, pictures), line in zip(rows.items(), axes, strict=True):
        for axis in line:
            without_ticks(axis)
        for picture, axis in zip(pictures, line, strict=False):
            draw_picture(axis, picture, cmap=cmap)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
