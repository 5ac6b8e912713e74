"""The members of a cluster: as they are, and as aligned with their centroid."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.plot.pictures import draw_picture, grey_map, without_ticks
from dikmeans.plot.style import GREY, blank_figure, in_house_style


@in_house_style
def members(
    model: Any,
    X: Any,
    cluster: int,
    *,
    most: int = 12,
    title: str | None = None,
    cell: float = 0.75,
) -> Any:
    """Images of a cluster from the best fitting to the worst, above as they are, below as aligned.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    X : array of shape (N, rows, columns[, channels]) or (N, features)
        Images, new or not.
    cluster : int
        Which cluster.
    most : int
        Of more members, so many are shown, at equal distances in the order of their costs.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The centroid leads both rows; each image is aligned with the form it is nearest to.

    Raises
    ------
    ValueError
        No such cluster, or no image in it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, show
    >>> X = load_digits().images[:60]
    >>> model = DIKMeans(3, random_state=0).fit(X)
    >>> figure = show.members(model, X, cluster=0, most=5)
    """
    centroids = model.cluster_centers_
    if not 0 <= cluster < len(centroids):
        raise ValueError(f"cluster={cluster}: there are clusters 0 to {len(centroids) - 1}.")
    X = np.asarray(X)
    mine = np.flatnonzero(model.predict(X) == cluster)
    if len(mine) == 0:
        raise ValueError(f"cluster={cluster} has none of the {len(X)} images.")
    alignments = model.align(X[mine])
    order = np.argsort(alignments.cost, kind="stable")
    order = order[
        np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int))
    ]
    shown = alignments.subset(order)
    as_they_are = X[mine[order]].reshape(len(order), *centroids.shape[1:])

    rows, columns = centroids.shape[1:3]
    wide, high = (cell * length / np.sqrt(rows * columns) for length in (columns, rows))
    figure = blank_figure(wide * (len(order) + 1) + 1.2, 2 * high + 0.6)
    axes = figure.subplots(2, len(order) + 1, squeeze=False)
    cmap = grey_map(centroids)
    draw_picture(axes[0, 0], centroids[cluster], cmap=cmap)
    axes[0, 0].set_title("centroid", fontsize=8, pad=3)
    without_ticks(axes[1, 0])
    for column, (picture, aligned, cost) in enumerate(
        zip(as_they_are, shown.aligned, shown.cost, strict=True), start=1
    ):
        draw_picture(axes[0, column], picture, cmap=cmap)
        draw_picture(axes[1, column], aligned, cmap=cmap)
        axes[1, column].set_xlabel(f"{cost:.2g}", fontsize=7.5, color=GREY, labelpad=2)
    axes[0, 1].set_ylabel("as they are", rotation=0, ha="right", va="center")
    axes[1, 1].set_ylabel("aligned", rotation=0, ha="right", va="center")
    axes[1, 0].set_xlabel("cost", fontsize=7.5, color=GREY, labelpad=2)
    figure.suptitle(
        title or f"Cluster {cluster}: {len(order)} of {len(mine):,} images, best fit to worst"
    )
    return figure
