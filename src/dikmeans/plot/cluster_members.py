"""The members of a cluster as a figure, before and after alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array, ArrayLike
from dikmeans.kmeans.shard import Assignment
from dikmeans.plot.natural import carried_original
from dikmeans.plot.pictures import draw_picture, gray_map, without_ticks
from dikmeans.plot.style import GRAY, blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dikmeans.estimator import DIKMeans


@use_style
def members(
    model: DIKMeans,
    X: ArrayLike,
    cluster: int,
    originals: Sequence[Array] | None = None,
    *,
    most: int = 12,
    title: str | None = None,
    cell: float = 0.75,
) -> Figure:
    """Draw images of a cluster from the best fit to the worst: originals above, aligned below.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    X : array of shape (N, rows, columns[, channels]) or (N, features)
        Images, new or not.
    cluster : int
        Which cluster.
    originals : sequence of arrays of shape (H, W[, C]), optional
        The images as people know them, in color or full resolution; shown in place of X.
    most : int
        If there are more members, this many are shown, evenly spaced in the order of their costs.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The centroid comes first; each image is aligned with the prototype it is nearest to.

    Raises
    ------
    ValueError
        There is no such cluster, or no image in it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, plot
    >>> X = load_digits().images[:60]
    >>> model = DIKMeans(3, random_state=0).fit(X)
    >>> figure = plot.members(model, X, cluster=0, most=5)
    """
    centroids = model.cluster_centers_
    if not 0 <= cluster < len(centroids):
        raise ValueError(f"cluster={cluster}: there are clusters 0 to {len(centroids) - 1}.")
    images = np.asarray(X)
    assignment = model.assign(images)
    indices = np.flatnonzero(assignment.labels == cluster)
    if len(indices) == 0:
        raise ValueError(f"cluster={cluster} has none of the {len(images)} images.")
    by_cost = indices[np.argsort(assignment.costs[indices], kind="stable")]
    ranks = np.linspace(0, len(by_cost) - 1, min(most, len(by_cost))).round().astype(int)
    shown = by_cost[np.unique(ranks)]
    given = images[shown].reshape(len(shown), *model.image_shape_)
    top = list(given) if originals is None else [originals[i] for i in shown]
    alignments = model.align(images[shown])
    bottom: Sequence[Array] = list(alignments.aligned)
    if originals is not None:
        bottom = [
            carried_original(model, given[i], top[i], _single(assignment, number))
            for i, number in enumerate(shown)
        ]

    rows, columns = centroids.shape[1:3]
    wide, high = (cell * length / np.sqrt(rows * columns) for length in (columns, rows))
    figure = blank_figure(wide * (len(shown) + 1) + 1.2, 2 * high + 0.6)
    axes = figure.subplots(2, len(shown) + 1, squeeze=False)
    cmap = gray_map(centroids)
    draw_picture(axes[0, 0], centroids[cluster], cmap=cmap)
    axes[0, 0].set_title("centroid", fontsize=8, pad=3)
    without_ticks(axes[1, 0])
    # pictures as people know them may be dark on light, where what is compared is light on dark
    top_map = gray_map(np.asarray(top[0])[None])
    bottom_map = cmap if originals is None else top_map
    for column, (original, aligned, cost) in enumerate(
        zip(top, bottom, alignments.cost, strict=True), start=1
    ):
        draw_picture(axes[0, column], original, cmap=top_map)
        draw_picture(axes[1, column], aligned, cmap=bottom_map)
        axes[1, column].set_xlabel(f"{cost:.2g}", fontsize=7.5, color=GRAY, labelpad=2)
    axes[0, 1].set_ylabel("original", rotation=0, ha="right", va="center")
    axes[1, 1].set_ylabel("aligned", rotation=0, ha="right", va="center")
    axes[1, 0].set_xlabel("cost", fontsize=7.5, color=GRAY, labelpad=2)
    numbers = f"{len(shown)} of {len(indices):,} images"
    figure.suptitle(title or f"Cluster {cluster}: {numbers}, best fit to worst")
    return figure


def _single(assignment: Assignment, number: int) -> Assignment:
    """The assignment of one image."""
    columns = [None if column is None else column[[number]] for column in assignment]
    return Assignment(*columns)  # type: ignore[arg-type]  # None: only warps
