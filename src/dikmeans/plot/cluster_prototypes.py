"""The prototypes of all clusters as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import ArrayLike
from dikmeans.plot.natural import prototype_pictures
from dikmeans.plot.pictures import draw_picture, gray_map
from dikmeans.plot.style import GRAY, blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dikmeans.estimator import DIKMeans, Originals


@use_style
def prototypes(
    model: DIKMeans,
    X: ArrayLike | None = None,
    originals: Originals | None = None,
    *,
    title: str | None = None,
    cell: float = 0.8,
) -> Figure:
    """Draw the prototypes of each cluster, with the number of images that each has.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    X : array of images, optional
        If given, prototypes are means of these images, or of their `originals`, after alignment;
        see `DIKMeans.average_originals`. By default as they are compared.
    originals : sequence of arrays or callable, optional
        Of the images in X: in color, in full resolution.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        One column per cluster, with the most frequent prototype on top.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, plot
    >>> model = DIKMeans(3, n_prototypes=2, random_state=0).fit(load_digits().images[:60])
    >>> figure = plot.prototypes(model)
    >>> len(figure.axes) == len(model.prototypes_)
    True
    """
    clusters = model.prototype_clusters_
    pictures = prototype_pictures(model, X, originals)
    counts = np.bincount(clusters)
    rows, columns = pictures.shape[1:3]
    high, wide = cell * rows / max(rows, columns), cell * columns / max(rows, columns)
    figure = blank_figure(
        max(wide * len(counts) + 0.2, 2.5), (high + 0.24) * counts.max() + (0.55 if title else 0.3)
    )
    axes = figure.subplots(counts.max(), len(counts), squeeze=False)
    cmap = gray_map(pictures)
    for cluster, column in enumerate(axes.T):
        indices = np.flatnonzero(clusters == cluster)
        for axis in column[len(indices) :]:
            axis.remove()
        for index, axis in zip(indices, column, strict=False):
            draw_picture(axis, pictures[index], cmap=cmap)
            weight = f"{model.prototype_weights_[index]:,.0f}"
            axis.set_xlabel(weight, fontsize=7.5, color=GRAY, labelpad=2)
        column[0].set_title(f"{cluster}", fontsize=8, pad=2)
    if title:
        figure.suptitle(title)
    return figure
