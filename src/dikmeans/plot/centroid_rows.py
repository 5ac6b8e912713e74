"""Centroids as a figure: those of one model, or one row per model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array, ArrayLike
from dikmeans.plot.natural import centroid_pictures
from dikmeans.plot.pictures import draw_picture, gray_map, without_ticks
from dikmeans.plot.style import GRAY, blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

    from dikmeans.estimator import DIKMeans, Originals

Rows = Mapping[str, Array]


@use_style
def centroids(
    model: DIKMeans,
    X: ArrayLike | None = None,
    originals: Originals | None = None,
    *,
    title: str | None = None,
    n_columns: int = 10,
    cell: float = 0.95,
) -> Figure:
    """The centroids of a fitted model, each with its number and how many images it has.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    X : array of images, optional
        If given, centroids are shown as people know them: as means of these images, or of their
        `originals`, after alignment; see `DIKMeans.average_originals`. By default as they are
        compared.
    originals : sequence of arrays or callable, optional
        Of the images in X: in color, in full resolution.
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
    pictures = centroid_pictures(model, X, originals)
    counts = np.bincount(model.labels_[model.labels_ >= 0], minlength=len(pictures))
    n_columns = min(n_columns, len(pictures))
    n_rows = math.ceil(len(pictures) / n_columns)
    rows, columns = pictures.shape[1:3]
    high, wide = cell * rows / max(rows, columns), cell * columns / max(rows, columns)
    figure = blank_figure(
        max(wide * n_columns + 0.2, 2.5), (high + 0.32) * n_rows + (0.35 if title else 0.1)
    )
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for number, axis in enumerate(axes):
        if number >= len(pictures):
            axis.remove()
            continue
        draw_picture(axis, pictures[number], cmap=gray_map(pictures))
        axis.set_title(f"{number}", fontsize=8, pad=2)
        axis.set_xlabel(f"{counts[number]:,}", fontsize=7.5, color=GRAY, labelpad=2)
    if title:
        figure.suptitle(title)
    return figure


@use_style
def centroid_rows(rows: Rows, *, title: str | None = None, cell: float = 0.8) -> Figure:
    """Draw several sets of images, one under the other, for instance those of several models.

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
    draw_rows(figure, rows, n_columns)
    if title:
        figure.suptitle(title)
    return figure


def _cell_size(rows: Rows, cell: float) -> tuple[float, float]:
    """Return width and height in inches of an image with the area of a square of side `cell`."""
    height, width = next(iter(rows.values())).shape[1:3]
    unit = cell / math.sqrt(height * width)
    return unit * width, unit * height


def draw_rows(figure: FigureBase, rows: Rows, n_columns: int) -> None:
    """Draw sets of images into a figure or a part of one, each set in a row with its name."""
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    cmap = gray_map(np.concatenate(list(rows.values())))
    for (name, images), line in zip(rows.items(), axes, strict=True):
        for axis in line:
            without_ticks(axis)
        for image, axis in zip(images, line, strict=False):
            draw_picture(axis, image, cmap=cmap)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
