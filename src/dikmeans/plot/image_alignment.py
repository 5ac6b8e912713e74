"""Why an image is in its cluster, as a figure: its alignment, the residual, the alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import ArrayLike
from dikmeans.plot.pictures import draw_picture, gray_map, without_ticks
from dikmeans.plot.style import GRAY, VERMILLION, blank_figure, use_style
from dikmeans.plot.warp_pictures import draw_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dikmeans.estimator import DIKMeans
    from dikmeans.registration.result import Alignment

LIGHT_VERMILLION = "#f0b58f"


@use_style
def alignment(
    model: DIKMeans,
    image: ArrayLike,
    original: ArrayLike | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Draw one image and the prototype that it is assigned to.

    Six panels: the image, its prototype, the one warped onto the other, the grid along which it is
    sampled, the residual, and the costs to all clusters, with the part of the cost that is due to
    bending.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    image : array of shape (rows, columns[, channels])
    original : array of shape (H, W[, C]), optional
        The image as people know it, in color or full resolution; shown in its place.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, plot
    >>> X = load_digits().images[:60]
    >>> figure = plot.alignment(DIKMeans(3, random_state=0).fit(X), X[0])
    >>> len(figure.axes)
    6
    """
    aligned = model.align(np.asarray(image)[None])[0]
    prototype = model.prototypes_[aligned.prototype]
    picture = np.asarray(image).reshape(model.image_shape_)
    seen = picture if original is None else np.asarray(original)
    warps_image = model.direction == "image-to-centroid"
    source, name = (picture, "image") if warps_image else (prototype, "centroid")
    cmap = gray_map(model.cluster_centers_)

    figure = blank_figure(11.4, 2.35 + 0.25 * bool(title))
    axes = figure.subplots(1, 6, width_ratios=[1, 1, 1, 1, 1, 1.45])
    panels = {
        "image" if original is None else "original": seen,
        f"centroid {aligned.label}": prototype,
        f"{name}, warped": aligned.warped,
    }
    for (heading, panel), axis in zip(panels.items(), axes, strict=False):
        # the picture itself may be dark on light, where what is compared is light on dark
        draw_picture(axis, panel, cmap=None if panel is seen else cmap)
        axis.set_title(heading)
    draw_grid(axes[3], aligned.grid, source, cmap=cmap)
    axes[3].set_title("deformed grid")
    axes[3].set_xlabel(f"where the {name} is sampled", fontsize=7.5, color=GRAY)
    _draw_residual(axes[4], aligned)
    _draw_costs(axes[5], aligned)
    if title:
        figure.suptitle(title)
    return figure


def _draw_residual(axis: Axes, aligned: Alignment) -> None:
    residual = aligned.residual if aligned.residual.ndim == 2 else aligned.residual.mean(axis=2)
    largest = float(np.abs(aligned.target).max()) or 1.0
    axis.imshow(residual, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    without_ticks(axis)
    axis.set_title("residual")
    axis.set_xlabel("red: warped is stronger\nblue: target is stronger", fontsize=7.5, color=GRAY)


def _draw_costs(axis: Axes, aligned: Alignment) -> None:
    """Bars of the costs to all clusters; that of the assigned one is divided into its parts."""
    clusters, label = np.arange(len(aligned.costs)), aligned.label
    others = clusters != label
    misfit, bending = aligned.cost - aligned.bending_cost, aligned.bending_cost
    axis.bar(clusters[others], aligned.costs[others], color="#bbbbbb", width=0.75)
    axis.bar(label, misfit, color=VERMILLION, width=0.75, label="residual")
    axis.bar(label, bending, 0.75, misfit, color=LIGHT_VERMILLION, label="bending")
    if len(clusters) <= 13:
        axis.set_xticks(clusters)
    axis.set_xlabel("cluster")
    axis.set_title(f"cost {aligned.cost:.3g}")
    low, high = axis.get_ylim()
    axis.set_ylim(low, 1.22 * high)
    axis.legend(loc="upper center", ncols=2, handlelength=1, columnspacing=1)
