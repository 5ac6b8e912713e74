"""Why an image is in its cluster: both pictures, the warp between them, the residual, the alternatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.plot.pictures import draw_picture, grey_map, without_ticks
from dikmeans.plot.style import GREY, VERMILLION, blank_figure, in_house_style
from dikmeans.plot.warp_pictures import draw_grid

_LIGHT = "#f0b58f"


@in_house_style
def alignment(model: Any, image: Any, *, title: str | None = None) -> Any:
    """One image and the centroid it was given to.

    Six panels: the image, its centroid, the one warped onto the other, the grid along which it was read,
    the residual, and the costs to all centroids; the part of the cost that bending makes is set off.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    image : array of shape (rows, columns[, channels])
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, show
    >>> X = load_digits().images[:60]
    >>> figure = show.alignment(DIKMeans(3, random_state=0).fit(X), X[0])
    >>> len(figure.axes)
    6
    """
    one = model.align(np.asarray(image)[None])[0]
    centroid = model.prototypes_[one.form]
    warps_image = model.direction == "image-to-centroid"
    source = np.asarray(image).reshape(centroid.shape) if warps_image else centroid
    what = "image" if warps_image else "centroid"
    cmap = grey_map(model.cluster_centers_)

    figure = blank_figure(11.4, 2.35 + 0.25 * bool(title))
    axes = figure.subplots(1, 6, width_ratios=[1, 1, 1, 1, 1, 1.45])
    pictures = {
        "image": np.asarray(image).reshape(centroid.shape),
        f"centroid {one.label}": centroid,
        f"{what}, warped": one.warped,
    }
    for (name, picture), axis in zip(pictures.items(), axes, strict=False):
        draw_picture(axis, picture, cmap=cmap)
        axis.set_title(name)
    draw_grid(axes[3], one.grid, source, cmap=cmap)
    axes[3].set_title("deformed grid")
    axes[3].set_xlabel(f"where the {what} is read", fontsize=7.5, color=GREY)
    _draw_residual(axes[4], one)
    _draw_costs(axes[5], one)
    if title:
        figure.suptitle(title)
    return figure


def _draw_residual(axis: Any, one: Any) -> None:
    residual = one.residual if one.residual.ndim == 2 else one.residual.mean(axis=2)
    largest = float(np.abs(one.target).max()) or 1.0
    axis.imshow(residual, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    without_ticks(axis)
    axis.set_title("residual")
    axis.set_xlabel("red: warped is stronger\nblue: target is stronger", fontsize=7.5, color=GREY)


def _draw_costs(axis: Any, one: Any) -> None:
    numbers = np.arange(len(one.costs))
    own = numbers == one.label
    axis.bar(numbers[~own], one.costs[~own], color="#bbbbbb", width=0.75)
    axis.bar(one.label, one.cost - one.bending_cost, color=VERMILLION, width=0.75, label="residual")
    axis.bar(
        one.label,
        one.bending_cost,
        bottom=one.cost - one.bending_cost,
        color=_LIGHT,
        width=0.75,
        label="bending",
    )
    if len(numbers) <= 13:
        axis.set_xticks(numbers)
    axis.set_xlabel("centroid")
    axis.set_title(f"cost {one.cost:.3g}")
    low, high = axis.get_ylim()
    axis.set_ylim(low, 1.22 * high)
    axis.legend(loc="upper center", ncols=2, handlelength=1, columnspacing=1)
