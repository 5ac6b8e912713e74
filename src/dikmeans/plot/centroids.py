"""The centroids of a model as a figure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dikmeans.plot.pictures import draw_picture, grey_map
from dikmeans.plot.style import GREY, blank_figure, in_house_style


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
    >>> from dikmeans import DIKMeans, show
    >>> model = DIKMeans(3, random_state=0).fit(load_digits().images[:60])
    >>> figure = show.centroids(model)
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
