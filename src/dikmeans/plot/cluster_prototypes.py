"""The forms of all clusters as a picture: a column a cluster, the most frequent form on top."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.plot.pictures import draw_picture, grey_map
from dikmeans.plot.style import GREY, blank_figure, in_house_style


@in_house_style
def forms(model: Any, *, title: str | None = None, cell: float = 0.8) -> Any:
    """The forms of each cluster of a fitted model, each with how many images it has.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, show
    >>> model = DIKMeans(3, n_prototypes=2, random_state=0).fit(load_digits().images[:60])
    >>> figure = show.forms(model)
    >>> len(figure.axes) == len(model.prototypes_)
    True
    """
    clusters, pictures = model.prototype_clusters_, model.prototypes_
    numbers = np.bincount(clusters)
    rows, columns = pictures.shape[1:3]
    high, wide = cell * rows / max(rows, columns), cell * columns / max(rows, columns)
    figure = blank_figure(
        max(wide * len(numbers) + 0.2, 2.5),
        (high + 0.24) * numbers.max() + (0.55 if title else 0.3),
    )
    axes = figure.subplots(numbers.max(), len(numbers), squeeze=False)
    cmap = grey_map(pictures)
    for cluster, column in enumerate(axes.T):
        mine = np.flatnonzero(clusters == cluster)
        for axis in column[len(mine) :]:
            axis.remove()
        for form, axis in zip(mine, column, strict=False):
            draw_picture(axis, pictures[form], cmap=cmap)
            axis.set_xlabel(
                f"{model.prototype_weights_[form]:,.0f}", fontsize=7.5, color=GREY, labelpad=2
            )
        column[0].set_title(f"{cluster}", fontsize=8, pad=2)
    if title:
        figure.suptitle(title)
    return figure
