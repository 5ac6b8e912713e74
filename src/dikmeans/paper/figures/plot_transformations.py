"""What a warp does to an image: the result, and the grid along which the original was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import ArrayLike, FloatArray, ImageShape
from dikmeans.images import as_pictures, from_channels_first
from dikmeans.plot.pictures import draw_picture, gray_map
from dikmeans.plot.style import blank_figure, use_style
from dikmeans.plot.warp_pictures import draw_grid, show_whole
from dikmeans.registration import MeasureSpec, make_warp
from dikmeans.registration.specification import Landmarks
from dikmeans.registration.warps import WarpName

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Examples that differ clearly from the identity, and keep the image recognizable.
_TURN, _SHEAR, _SHRINK, _BEND = np.deg2rad(20.0), 0.25, 1.1, 0.2
_SMALLEST_DETERMINANT = 0.25


def example_warps(
    shape: ImageShape, *, landmarks: Landmarks = "auto", seed: int = 0
) -> dict[str, tuple[WarpName, FloatArray]]:
    """Return the identity, an affine map, and a spline: family and parameters of each.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the image.
    landmarks : "auto", int or (int, int)
        Landmark grid of the spline.
    seed : int
        Of the random positions of the spline's landmarks.

    Returns
    -------
    dict of str to (str, array of shape (n_basis, 2))
    """
    matrix = (
        _SHRINK
        * np.array([[np.cos(_TURN), -np.sin(_TURN)], [np.sin(_TURN), np.cos(_TURN)]])
        @ np.array([[1.0, 0.0], [_SHEAR, 1.0]])
    )
    affine = make_warp("affine", (shape[0], shape[1]))
    rows = [matrix[axis] for axis in affine.grid.live_axes]
    spline = make_warp("tps", (shape[0], shape[1]), landmarks)
    bend = np.random.default_rng(seed).uniform(-_BEND, _BEND, spline.identity.shape)
    while spline.jacobian_determinant(spline.identity + bend).min() < _SMALLEST_DETERMINANT:
        bend = 0.9 * bend
    return {
        "identity": ("none", np.zeros((0, 2))),
        "affine map": ("affine", np.vstack([np.zeros(2), *rows])),
        "thin-plate spline": ("tps", spline.identity + bend),
    }


@use_style
def transformations(
    image: ArrayLike,
    warps: Mapping[str, tuple[WarpName, FloatArray]] | None = None,
    *,
    landmarks: Landmarks = "auto",
    seed: int = 0,
    title: str | None = None,
) -> Figure:
    """Draw an image under several warps, each above its grid: the paper's first figure.

    The pixel of a warped image at ``p`` has the value of the original at ``F(p)``. The lines in the
    second row are ``F`` of the rows and columns of pixels, drawn over the original: the warped
    image is the original, read along these lines.

    Parameters
    ----------
    image : array of shape (rows, columns[, channels])
    warps : mapping of str to (family, parameters), optional
        Title of each column, name of the warp family ("none", "affine", "tps") and its parameters
        nu; by default `example_warps`.
    landmarks : "auto", int or (int, int)
        Landmark grid of the splines.
    seed : int
        Of the examples.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure
        The first row of axes has the images, the second the grids.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> figure = transformations(load_digits().images[0])
    >>> [axis.get_title() for axis in figure.axes[:3]]
    ['identity', 'affine map', 'thin-plate spline']
    """
    pictures, shape = as_pictures(np.asarray(image)[None], name="image")
    if warps is None:
        warps = example_warps(shape, landmarks=landmarks, seed=seed)
    height = 2 * 2.1 * shape[0] / shape[1] + (0.7 if title else 0.4)
    figure: Figure = blank_figure(2.1 * len(warps) + 0.3, height)
    above, below = figure.subplots(2, len(warps), squeeze=False)
    original = from_channels_first(pictures, shape)[0]
    cmap = gray_map(original[None])
    grids: list[FloatArray] = []
    for column, (name, (family, parameters)) in enumerate(warps.items()):
        measure = MeasureSpec(warp=family, landmarks=landmarks).build(shape)
        deltas = np.swapaxes(parameters - measure.warp.identity, 0, 1)[None].astype(np.float32)
        warped = measure.render(pictures.astype(np.float32), np.zeros(1, int), deltas)
        draw_picture(above[column], from_channels_first(warped, shape)[0], cmap=cmap)
        above[column].set_title(name)
        grids.append(measure.warp.grid.to_pixels(measure.warp.coordinates(parameters)))
        draw_grid(below[column], grids[-1], original, cmap=cmap)
    for axis in below:
        show_whole(axis, grids)  # the same scale for all
    above[0].set_ylabel("image")
    below[0].set_ylabel("original, and where\nits pixels are read")
    if title:
        figure.suptitle(title)
    return figure
