"""Random smooth deformations of an image: affine maps, with or without a thin-plate spline.

Every deformation is a backward map ``F``: the deformed image at pixel ``q`` is the original at
``F(q)`` (linear interpolation, 0 outside). With ``c`` the center of the image, ``t`` the shift and
``u`` the offsets of the spline,

    F(q) = c + A^-1 (q + u(q) - c - t),     A = rotation . shear . scale

The spline interpolates the offsets of a regular grid of landmarks; it is linear in them, so one
matrix serves all draws. Draws that fold the plane or push ink to the edge are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.ndimage import map_coordinates

from dikmeans._typing import FloatArray

_LARGEST_INK_AT_EDGE = 0.1
_SMALLEST_AREA_CHANGE = 0.2
_DRAWS_PER_STRENGTH = 10


@dataclass(frozen=True)
class DeformationRange:
    """How far a random deformation may go: each quantity is uniform between -limit and limit.

    Attributes
    ----------
    rotation : float
        Degrees.
    log_scale : float
        Natural logarithm of the magnification, drawn for each axis.
    shear : float
        Tangent of the shear angle.
    shift : float
        Fraction of the image's side.
    bend : float
        Offset of a landmark, as a fraction of the image's side; 0 leaves the map affine.
    landmarks : int
        Landmarks along each side.
    """

    rotation: float
    log_scale: float
    shear: float
    shift: float
    bend: float = 0.0
    landmarks: int = 4


def deform(image: FloatArray, limits: DeformationRange, rng: np.random.Generator) -> FloatArray:
    """A random deformation of an image (H, W) that stays in the frame and does not fold.

    Examples
    --------
    >>> dot = np.zeros((9, 9), np.float32)
    >>> dot[4, 4] = 1
    >>> nothing = DeformationRange(rotation=0, log_scale=0, shear=0, shift=0)
    >>> bool((deform(dot, nothing, np.random.default_rng(0)) == dot).all())
    True
    """
    allowed_at_edge = max(_LARGEST_INK_AT_EDGE, float(ink_at_edge(image)))
    strength = 1.0
    while True:
        for _ in range(_DRAWS_PER_STRENGTH):
            coordinates = random_map(image.shape, limits, rng, strength)
            deformed = map_coordinates(image, coordinates, order=1, mode="constant")
            if (
                smallest_area_change(coordinates) > _SMALLEST_AREA_CHANGE
                and ink_at_edge(deformed) <= allowed_at_edge
            ):
                return np.asarray(deformed, np.float32)
        # An image that fills its frame has little room: deform less, down to not at all.
        strength = strength / 2 if strength > 1e-3 else 0.0


def random_map(
    shape: tuple[int, ...],
    limits: DeformationRange,
    rng: np.random.Generator,
    strength: float = 1.0,
) -> FloatArray:
    """The backward map of one random draw, shape (2, H, W); `strength` scales all limits.

    It holds the row and column of the original from which each pixel is taken.
    """
    height, width = shape
    side = np.array([height, width])
    angle = np.deg2rad(limits.rotation) * strength * rng.uniform(-1, 1)
    scale = np.exp(limits.log_scale * strength * rng.uniform(-1, 1, 2))
    shear = limits.shear * strength * rng.uniform(-1, 1)
    shift = limits.shift * strength * rng.uniform(-1, 1, 2) * side
    bend = limits.bend * strength * rng.uniform(-1, 1, (limits.landmarks**2, 2)) * side

    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    forward = rotation @ np.array([[1, shear], [0, 1]]) @ np.diag(scale)
    pixels = np.indices((height, width)).reshape(2, -1).T.astype(float)
    if limits.bend:
        pixels += _spline_matrix(height, width, limits.landmarks) @ bend
    center = (side - 1) / 2
    source: FloatArray = center + (pixels - center - shift) @ np.linalg.inv(forward).T
    return source.T.reshape(2, height, width)


def smallest_area_change(coordinates: FloatArray) -> float:
    """The smallest Jacobian determinant of a map over the pixels; positive if it does not fold.

    Examples
    --------
    >>> smallest_area_change(np.indices((4, 5)).astype(float))
    1.0
    """
    (row_by_row, row_by_column), (column_by_row, column_by_column) = (
        np.gradient(component) for component in coordinates
    )
    return float((row_by_row * column_by_column - row_by_column * column_by_row).min())


@lru_cache(maxsize=8)
def _spline_matrix(height: int, width: int, landmarks: int) -> FloatArray:
    """The matrix from offsets at the landmarks to offsets at the pixels, (H*W, landmarks**2)."""
    grid = np.stack(
        np.meshgrid(
            np.linspace(0, height - 1, landmarks),
            np.linspace(0, width - 1, landmarks),
            indexing="ij",
        ),
        axis=-1,
    ).reshape(-1, 2)
    pixels = np.indices((height, width)).reshape(2, -1).T
    spline = RBFInterpolator(grid, np.eye(len(grid)), kernel="thin_plate_spline")
    return np.asarray(spline(pixels))


def ink_at_edge(images: FloatArray) -> FloatArray:
    """The largest value on the outermost pixels of one image, or of each of many.

    Examples
    --------
    >>> float(ink_at_edge(np.eye(3)))
    1.0
    """
    rows = images[..., [0, -1], :].max(axis=(-2, -1))
    return np.asarray(np.maximum(rows, images[..., :, [0, -1]].max(axis=(-2, -1))))
