"""Images as points of the plane, one panel before and one after alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array, ArrayLike, FloatArray, IntArray
from dikmeans.images import displayable
from dikmeans.plot.pictures import gray_map, without_ticks
from dikmeans.plot.style import (
    CLASS_COLORS,
    blank_figure,
    class_style,
    require_matplotlib,
    use_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Width of thumbnails, and the smallest distance between two, as shares of the panel.
_THUMBNAIL, _DISTANCE = 0.062, 0.085
_MAX_LEGEND_ENTRIES = 30


@use_style
def embedding(
    points: Mapping[str, FloatArray],
    labels: ArrayLike,
    *,
    class_names: Sequence[str] = (),
    images: Mapping[str, Array] | None = None,
    title: str | None = None,
    panel: float = 3.6,
) -> Figure:
    """Draw one panel for each embedding of the same images, colored by their labels.

    Parameters
    ----------
    points : mapping of str to array of shape (N, 2)
        Title of each panel and the positions of its images; see `dikmeans.evaluation.embed`.
    labels : int array of shape (N,)
        They give the colors: true classes, or clusters.
    class_names : sequence of str, optional
        Names of the labels 0, 1, ...; by default the numbers.
    images : mapping of str to array of shape (N, rows, columns[, channels]), optional
        For each panel the images that were embedded: some are shown, where there is space.
    title : str, optional
    panel : float
        Size of a panel in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.evaluation import embed
    >>> X, y = load_digits(return_X_y=True)
    >>> figure = embedding({"raw": embed(X[:60])}, y[:60])
    >>> sum(len(cloud.get_offsets()) for cloud in figure.axes[0].collections)
    60
    """
    labels = np.asarray(labels)
    for name, positions in points.items():
        if positions.shape != (len(labels), 2):
            raise ValueError(
                f"points[{name!r}] has shape {positions.shape}; expected ({len(labels)}, 2), one "
                "point per label."
            )
    present = np.unique(labels)
    height = panel + 0.3 + 0.25 * bool(title) + 0.2 * (len(present) > 15)
    figure: Figure = blank_figure(panel * len(points), height)
    (axes,) = figure.subplots(1, len(points), squeeze=False)
    # The first panel decides for all: aligned photographs have empty edges, too.
    dark_on_light = images is not None and gray_map(images[next(iter(points))]) == "gray_r"
    for (name, positions), axis in zip(points.items(), axes, strict=True):
        for label in present:
            class_name = class_names[label] if label < len(class_names) else f"{label}"
            style = {"s": 9, "linewidths": 0, "alpha": 0.75, **class_style(int(label))}
            axis.scatter(*positions[labels == label].T, label=class_name, **style)
        axis.set_title(name)
        without_ticks(axis)
        if images is not None:
            _thumbnails(axis, positions, labels, images[name], dark_on_light=dark_on_light)
    if len(present) <= _MAX_LEGEND_ENTRIES:
        handles, names = axes[0].get_legend_handles_labels()
        per_line = 15 if max(map(len, names)) <= 3 else 7
        figure.legend(
            handles,
            names,
            loc="outside lower center",
            ncols=min(len(names), per_line),
            markerscale=1.8,
            handletextpad=0.1,
            columnspacing=1.0,
        )
    if title:
        figure.suptitle(title)
    return figure


def _thumbnails(
    axis: Axes, positions: FloatArray, labels: IntArray, images: Array, *, dark_on_light: bool
) -> None:
    """Draw images at points that are far enough from each other, in the color of their class."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    side = float((high - low).max()) or 1.0
    middle = (low + high) / 2
    half = 0.5 * side * (1 + _THUMBNAIL)
    axis.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        aspect="equal",
    )
    rows, columns = images.shape[1:3]
    unit = _THUMBNAIL * side / np.sqrt(rows * columns) / 2
    half_width, half_height = unit * columns, unit * rows
    for i in spread_out(positions, _DISTANCE * side):
        x, y = positions[i]
        color = CLASS_COLORS[int(labels[i]) % len(CLASS_COLORS)]
        axis.imshow(
            _tinted(images[i], color, dark_on_light=dark_on_light),
            extent=(x - half_width, x + half_width, y - half_height, y + half_height),
            interpolation="bilinear",
            zorder=3,
            aspect="auto",
        )
    axis.set_aspect("equal")


def spread_out(points: FloatArray, distance: float) -> list[int]:
    """Return indices of points that are at least `distance` apart, chosen greedily in their order.

    Examples
    --------
    >>> spread_out(np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0]]), 0.5)
    [0, 2]
    """
    chosen: list[int] = []
    for i, point in enumerate(points):
        if not chosen or (np.abs(points[chosen] - point).max(axis=1) >= distance).all():
            chosen.append(i)
    return chosen


def _tinted(image: Array, color: str, *, dark_on_light: bool) -> Array:
    """Return an image as RGBA: colored strokes, or a photograph in a colored frame."""
    gray = displayable(image if image.ndim == 2 else image.mean(axis=2))
    tint = np.array(require_matplotlib().colors.to_rgb(color))
    if dark_on_light:
        # A faint background, so that the dots below do not mix with the strokes.
        shade = gray[..., None]
        return np.concatenate([(1 - shade) + shade * 0.75 * tint, 0.35 + 0.65 * shade], axis=-1)
    framed = np.repeat(gray[..., None], 3, axis=-1)
    width = max(1, round(min(gray.shape) / 14))
    for edge in (np.s_[:width], np.s_[-width:], np.s_[:, :width], np.s_[:, -width:]):
        framed[edge] = tint
    return np.concatenate([framed, np.ones_like(framed[..., :1])], axis=-1)
