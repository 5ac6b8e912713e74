"""What a warp does to a picture: the result above, below it the grid along which the original was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dikmeans.registration.measure import make_measure
from dikmeans.images import as_pictures, from_channels_first
from dikmeans.plot.pictures import draw_picture, grey_map, without_ticks
from dikmeans.plot.style import BLUE, blank_figure, in_house_style

N_LINES = 13
"""Lines of a grid in each direction, at most."""

# An example that can be told from the identity at a glance, and still has the digit in it.
_TURN, _SHEAR, _SHRINK, _BEND = np.deg2rad(20.0), 0.25, 1.1, 0.2
_LARGEST_FOLD = 0.25


def example_warps(
    shape: tuple[int, ...], *, landmarks: Any = "auto", seed: int = 0
) -> dict[str, tuple[str, np.ndarray]]:
    """The identity, an affine map, and a spline that does not fold: family and parameters of each.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the picture.
    landmarks : "auto", int or (int, int)
        Landmark grid of the spline.
    seed : int
        Of the spline's landmarks, which are moved at random.

    Returns
    -------
    dict of str to (str, array of shape (n_basis, 2))
    """
    matrix = (
        _SHRINK
        * np.array([[np.cos(_TURN), -np.sin(_TURN)], [np.sin(_TURN), np.cos(_TURN)]])
        @ np.array([[1.0, 0.0], [_SHEAR, 1.0]])
    )
    affine = make_measure(shape, warp="affine").warp
    rows = [matrix[axis] for axis in affine.grid.live_axes]
    spline = make_measure(shape, warp="tps", landmarks=landmarks).warp
    bend = np.random.default_rng(seed).uniform(-_BEND, _BEND, spline.identity.shape)
    while spline.jacobian_determinant(spline.identity + bend).min() < _LARGEST_FOLD:
        bend = 0.9 * bend
    return {
        "identity": ("none", np.zeros((0, 2))),
        "affine map": ("affine", np.vstack([np.zeros(2), *rows])),
        "thin-plate spline": ("tps", spline.identity + bend),
    }


@in_house_style
def transformations(
    image: Any,
    warps: Mapping[str, tuple[str, np.ndarray]] | None = None,
    *,
    landmarks: Any = "auto",
    seed: int = 0,
    title: str | None = None,
) -> Any:
    """A picture under several warps, each over its grid: the paper's first figure.

    The pixel of a warped picture at ``p`` has the value of the original at ``F(p)``. The lines below are
    ``F`` of the rows and columns of pixels, drawn over the original: the warped picture is the original, read
    along these lines.

    Parameters
    ----------
    image : array of shape (rows, columns[, channels])
    warps : mapping of str to (family, parameters), optional
        Title of each column, name of the warp family ("none", "affine", "tps") and its parameters nu; by
        default `example_warps`.
    landmarks : "auto", int or (int, int)
        Landmark grid of the splines.
    seed : int
        Of the example.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure
        The first row of axes has the pictures, the second the grids.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import show
    >>> figure = show.transformations(load_digits().images[0])
    >>> [axis.get_title() for axis in figure.axes[:3]]
    ['identity', 'affine map', 'thin-plate spline']
    """
    pictures, shape = as_pictures(np.asarray(image)[None], name="image")
    if warps is None:
        warps = example_warps(shape, landmarks=landmarks, seed=seed)
    figure = blank_figure(2.1 * len(warps) + 0.3, 2 * 2.1 * shape[0] / shape[1] + (0.7 if title else 0.4))
    above, below = figure.subplots(2, len(warps), squeeze=False)
    original = from_channels_first(pictures, shape)[0]
    cmap = grey_map(original[None])
    grids: list[np.ndarray] = []
    for column, (name, (family, parameters)) in enumerate(warps.items()):
        measure = make_measure(shape, warp=family, landmarks=landmarks)
        deltas = np.swapaxes(parameters - measure.warp.identity, 0, 1)[None].astype(np.float32)
        warped = measure.render(pictures.astype(np.float32), np.zeros(1, int), deltas)
        draw_picture(above[column], from_channels_first(warped, shape)[0], cmap=cmap)
        above[column].set_title(name)
        grids.append(measure.warp.grid.to_pixels(measure.warp.coordinates(parameters)))
        draw_grid(below[column], grids[-1], original, cmap=cmap)
    for axis in below:
        show_whole(axis, grids)  # one scale for all
    above[0].set_ylabel("picture")
    below[0].set_ylabel("original, and where\nits pixels are read")
    if title:
        figure.suptitle(title)
    return figure


def draw_grid(axis: Any, grid: np.ndarray, under: np.ndarray, *, cmap: str, colour: str = BLUE) -> None:
    """Draw the lines of a deformed grid over the faint picture they read.

    Parameters
    ----------
    axis : matplotlib axes
    grid : array of shape (rows, columns, 2)
        For each pixel of the warped picture its place, as (row, column), in the picture `under`.
    under : array of shape (rows, columns[, channels])
    cmap : str
    colour : str
    """
    draw_picture(axis, under, cmap=cmap, alpha=0.35)
    for lines in (_spread(grid), _spread(np.swapaxes(grid, 0, 1))):
        for line in lines:
            axis.plot(line[:, 1], line[:, 0], color=colour, linewidth=0.8)
    show_whole(axis, [grid])
    without_ticks(axis)


def show_whole(axis: Any, grids: Sequence[np.ndarray]) -> None:
    """Set the limits so that all of the grids, which may leave the picture, and all of the picture fit in."""
    last = np.array(grids[0].shape[:2]) - 1
    corners = np.concatenate([np.zeros((1, 2)), last[None], *(grid.reshape(-1, 2) for grid in grids)])
    low, high = corners.min(axis=0) - 0.5, corners.max(axis=0) + 0.5
    axis.set(xlim=(low[1], high[1]), ylim=(high[0], low[0]), aspect="equal")


def _spread(grid: np.ndarray) -> np.ndarray:
    """Lines along the second axis at equal distances on the first; between two rows of pixels by the mean."""
    position = np.linspace(0, len(grid) - 1, min(len(grid), N_LINES))
    above = np.floor(position).astype(int)
    below = np.minimum(above + 1, len(grid) - 1)
    share = (position - above)[:, None, None]
    return (1 - share) * grid[above] + share * grid[below]
