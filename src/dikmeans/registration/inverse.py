r"""The inverse of a warp: from a centroid's frame back to the picture's.

A warp :math:`F` of the centroid tells for each pixel of the image where in the centroid it lies. To
carry the image into the frame of the centroid one needs, for each pixel :math:`q` there, the point
:math:`p` with :math:`F(p) = q`. The inverse of a spline is no spline, so each point is found by
Newton's method,

.. math::
    p \leftarrow p - J(p)^{-1} (F(p) - q),

damped (Levenberg and Marquardt) until the residual falls, from the best of a lattice of starts.
Where the warp folds, or does not reach :math:`q`, the result is the point that came closest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray
from dikmeans.registration.warps import Warp

# Starts: a lattice of this many points a side, over this many times the picture.
LATTICE_SIDE, LATTICE_REACH = 21, 1.5
MAX_STEPS, MAX_TRIALS = 25, 6
# In units of half the picture's longer side: less than a thousandth of a pixel on any picture we
# handle.
TOLERANCE = 1e-7


def inverse_grid(warp: Warp, parameters: FloatArray) -> FloatArray:
    """Where the pixels of each warp's source frame lie in its target frame.

    Parameters
    ----------
    warp : Warp
    parameters : array of shape (n, n_basis, 2)

    Returns
    -------
    pixels : array of shape (n, rows, columns, 2)
        As (row, column) in pixels: `Alignments.grid` of the inverse warps.

    Examples
    --------
    A shift by two pixels, undone:

    >>> from dikmeans.registration import make_warp
    >>> warp = make_warp("affine", (8, 8))
    >>> shifted = warp.identity + [[0.5, 0], [0, 0], [0, 0]]
    >>> inverse_grid(warp, shifted[None])[0, 5, 3].tolist()
    [3.0, 3.0]
    """
    points = inverse_points(warp, parameters, warp.grid.points())
    return warp.grid.to_pixels(points.reshape(len(parameters), *warp.grid.shape, 2))


def inverse_points(warp: Warp, parameters: FloatArray, points: FloatArray) -> FloatArray:
    """The points that warps send to given ones, or closest to them, all in the frame.

    Parameters
    ----------
    warp : Warp
    parameters : array of shape (n, n_basis, 2)
    points : array of shape (m, 2)

    Returns
    -------
    array of shape (n, m, 2)
    """
    centers, radial, affine = warp.expansion(parameters)
    out = np.empty((len(parameters), len(points), 2))
    _invert(
        np.ascontiguousarray(centers),
        np.ascontiguousarray(radial),
        np.ascontiguousarray(affine),
        np.ascontiguousarray(points),
        _lattice(warp),
        out,
    )
    return out


def _lattice(warp: Warp) -> FloatArray:
    """Starting points all over the picture and somewhat beyond."""
    rows, columns = warp.grid.shape
    sides = []
    for axis, n in enumerate((rows, columns)):
        half = LATTICE_REACH * n / max(rows, columns)
        live = axis in warp.grid.live_axes
        sides.append(np.linspace(-half, half, LATTICE_SIDE) if live else np.zeros(1))
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)


@njit(nogil=True, cache=True, forceinline=True)
def _evaluate(centers, radial, affine, y, x, value, slope):
    """F at (y, x) into `value` (2,), its derivative dF_a / dp_b into `slope` (2, 2)."""
    for a in range(2):
        value[a] = affine[0, a] + affine[1, a] * y + affine[2, a] * x
        slope[a, 0], slope[a, 1] = affine[1, a], affine[2, a]
    for j in range(centers.shape[0]):
        dy, dx = y - centers[j, 0], x - centers[j, 1]
        squared = dy * dy + dx * dx
        if squared > 0:
            log = np.log(squared)
            for a in range(2):
                weight = radial[j, a]
                value[a] += weight * squared * log
                slope[a, 0] += 2 * weight * dy * (log + 1)
                slope[a, 1] += 2 * weight * dx * (log + 1)


@njit(nogil=True, cache=True)
def _invert(centers, radial, affine, queries, lattice, out):
    """``out[i, q]`` is the point that warp i sends to ``queries[q]``, or closest to it."""
    value, slope = np.empty(2), np.empty((2, 2))
    new_value, new_slope = np.empty(2), np.empty((2, 2))
    reached = np.empty((len(lattice), 2))
    for i in range(len(out)):
        for s in range(len(lattice)):
            _evaluate(centers, radial[i], affine[i], lattice[s, 0], lattice[s, 1], value, slope)
            reached[s] = value
        for q in range(len(queries)):
            gy, gx = queries[q]
            nearest, best = 0, np.inf
            for s in range(len(lattice)):
                miss = (reached[s, 0] - gy) ** 2 + (reached[s, 1] - gx) ** 2
                if miss < best:
                    nearest, best = s, miss
            y, x = lattice[nearest]
            _evaluate(centers, radial[i], affine[i], y, x, value, slope)
            for _ in range(MAX_STEPS):
                if best <= TOLERANCE**2:
                    break
                ry, rx = value[0] - gy, value[1] - gx
                # normal equations: their matrix (a, b; b, c) and the gradient of half the squared
                # miss
                a = slope[0, 0] ** 2 + slope[1, 0] ** 2
                b = slope[0, 0] * slope[0, 1] + slope[1, 0] * slope[1, 1]
                c = slope[0, 1] ** 2 + slope[1, 1] ** 2
                gradient_y = slope[0, 0] * ry + slope[1, 0] * rx
                gradient_x = slope[0, 1] * ry + slope[1, 1] * rx
                better, damping = False, 0.0
                for _ in range(MAX_TRIALS):
                    determinant = (a + damping) * (c + damping) - b * b
                    if determinant > 0:
                        new_y = y - ((c + damping) * gradient_y - b * gradient_x) / determinant
                        new_x = x - ((a + damping) * gradient_x - b * gradient_y) / determinant
                        _evaluate(centers, radial[i], affine[i], new_y, new_x, new_value, new_slope)
                        miss = (new_value[0] - gy) ** 2 + (new_value[1] - gx) ** 2
                        if miss < best:
                            better = True
                            break
                    damping = max(10 * damping, 1e-3 * (a + c))
                if not better:
                    break
                y, x, best = new_y, new_x, miss
                value[:] = new_value
                slope[:] = new_slope
            out[i, q, 0], out[i, q, 1] = y, x
