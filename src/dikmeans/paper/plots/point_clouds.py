"""Images as points of the plane, side by side before and after alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dikmeans.images import displayable
from dikmeans.plot.pictures import grey_map, without_ticks
from dikmeans.plot.style import CLASS_COLOURS, blank_figure, class_style, in_house_style, require_matplotlib

# Thumbnails: how wide, and how far apart at least, as shares of the panel.
_THUMBNAIL, _APART = 0.062, 0.085
_MOST_IN_LEGEND = 30


@in_house_style
def embedding(
    points: Mapping[str, np.ndarray],
    labels: Any,
    *,
    class_names: Sequence[str] = (),
    pictures: Mapping[str, np.ndarray] | None = None,
    title: str | None = None,
    panel: float = 3.6,
) -> Any:
    """One panel for each embedding of the same images, coloured by their labels.

    Parameters
    ----------
    points : mapping of str to array of shape (N, 2)
        Title of each panel and where its images lie; see `dikmeans.paper.embed`.
    labels : int array of shape (N,)
        By which they are coloured: true classes, or clusters.
    class_names : sequence of str, optional
        Names of the labels 0, 1, ...; by default the numbers.
    pictures : mapping of str to array of shape (N, rows, columns[, channels]), optional
        For each panel the pictures that were embedded: some are shown, where there is room.
    title : str, optional
    panel : float
        Size of a panel in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import show
    >>> from dikmeans.paper import embed
    >>> X, y = load_digits(return_X_y=True)
    >>> points = embed({"raw": X[:60]}, seed=0)
    >>> figure = show.embedding(points, y[:60])
    >>> sum(len(cloud.get_offsets()) for cloud in figure.axes[0].collections)
    60
    """
    labels = np.asarray(labels)
    for name, where in points.items():
        if where.shape != (len(labels), 2):
            raise ValueError(
                f"points[{name!r}] has shape {where.shape}; expected ({len(labels)}, 2), a point a label."
            )
    present = np.unique(labels)
    figure = blank_figure(panel * len(points), panel + 0.3 + 0.25 * bool(title) + 0.2 * (len(present) > 15))
    (axes,) = figure.subplots(1, len(points), squeeze=False)
    # one look for all panels: aligned photographs have empty edges, too
    ink = pictures is not None and grey_map(pictures[next(iter(points))]) == "gray_r"
    for (name, where), axis in zip(points.items(), axes, strict=True):
        for label in present:
            mine = where[labels == label]
            named = class_names[label] if label < len(class_names) else f"{label}"
            axis.scatter(*mine.T, s=9, linewidths=0, alpha=0.75, label=named, **class_style(int(label)))
        axis.set_title(name)
        without_ticks(axis)
        if pictures is not None:
            _thumbnails(axis, where, labels, pictures[name], ink=ink)
    if len(present) <= _MOST_IN_LEGEND:
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


def _thumbnails(axis: Any, where: np.ndarray, labels: np.ndarray, pictures: np.ndarray, *, ink: bool) -> None:
    """Show pictures of points that keep their distance from each other, in the colour of their class."""
    low, high = where.min(axis=0), where.max(axis=0)
    side = float((high - low).max()) or 1.0
    middle = (low + high) / 2
    half = 0.5 * side * (1 + _THUMBNAIL)
    axis.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        aspect="equal",
    )
    rows, columns = pictures.shape[1:3]
    half_wide, half_high = (
        _THUMBNAIL * side * length / np.sqrt(rows * columns) / 2 for length in (columns, rows)
    )
    for i in spread_out(where, _APART * side):
        x, y = where[i]
        axis.imshow(
            _tinted(pictures[i], CLASS_COLOURS[int(labels[i]) % len(CLASS_COLOURS)], ink=ink),
            extent=(x - half_wide, x + half_wide, y - half_high, y + half_high),
            interpolation="bilinear",
            zorder=3,
            aspect="auto",
        )
    axis.set_aspect("equal")


def spread_out(points: np.ndarray, distance: float) -> list[int]:
    """Numbers of points that are at least `distance` apart, taken greedily in their order.

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


def _tinted(picture: np.ndarray, colour: str, *, ink: bool) -> np.ndarray:
    """A picture as RGBA: ink in the colour of its class on paper, or a photograph in a coloured frame."""
    grey = displayable(picture if picture.ndim == 2 else picture.mean(axis=2))
    tint = np.array(require_matplotlib().colors.to_rgb(colour))
    if ink:
        # paper stays a little visible, so that dots below do not mingle with the ink
        shade = grey[..., None]
        return np.concatenate([(1 - shade) + shade * 0.75 * tint, 0.35 + 0.65 * shade], axis=-1)
    framed = np.repeat(grey[..., None], 3, axis=-1)
    width = max(1, round(min(grey.shape) / 14))
    framed[:width], framed[-width:], framed[:, :width], framed[:, -width:] = tint, tint, tint, tint
    return np.concatenate([framed, np.ones_like(framed[..., :1])], axis=-1)
