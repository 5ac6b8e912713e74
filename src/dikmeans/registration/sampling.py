"""Rendering: the value of a picture between its pixels, by bilinear interpolation.

A template is padded by two pixels on each side before it is sampled, with zeros, with its own edge
pixels or with their mean, and coordinates are clamped into the padded picture. Every sample then
has four neighbors and is taken without a branch, and value and slope are right outside the picture
too: a point further than one pixel away lies between two equal rows, where the slope is zero.

Rendering is linear in the picture; its adjoint (`back_project`) carries residuals back to their
origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dikmeans._typing import BoolArray, FloatArray
from dikmeans.registration.grid import MIN_LIVE_LENGTH, Grid
from dikmeans.registration.warps import Border, Warp

PADDING = 2
PAD_MODES = {"zero": "constant", "edge": "edge", "rim": "constant"}

# Reordering sums lets the compiler use vector units; NaN and infinity keep their meaning.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}
# Compiled functions that others call are inlined (`forceinline`): else a process that compiles them
# runs other code than one that finds their callers in the cache, and sums are reordered in another
# way.


class Sampler(NamedTuple):
    """What the compiled loops need to know of one warp family on one grid.

    Coordinates are pixel indices of the padded template.

    Attributes
    ----------
    phi : float32 array of shape (n_basis, n_pixels)
        Basis functions at the pixels.
    base : float32 array of shape (2, n_pixels)
        Where each pixel takes its value from under the identity.
    scale : float32 array of shape (2,)
        Pixels per unit of the frame.
    limit : float32 array of shape (2,)
        Largest coordinate whose four neighbors exist.
    width : int
        Columns of the padded template.
    """

    phi: FloatArray
    base: FloatArray
    scale: FloatArray
    limit: FloatArray
    width: int


def make_sampler(warp: Warp, grid: Grid) -> Sampler:
    """The sampler of `warp` for templates and targets on `grid`."""
    points = grid.points()
    padded = np.array(grid.shape) + 2 * PADDING
    return Sampler(
        phi=np.ascontiguousarray(warp.basis(points).T, dtype=np.float32),
        base=np.ascontiguousarray((grid.indices() + PADDING).T, dtype=np.float32),
        scale=np.array(grid.scale, dtype=np.float32),
        limit=np.nextafter((padded - 1).astype(np.float32), np.float32(0)),
        width=int(padded[1]),
    )


def pad(pictures: FloatArray, border: Border) -> FloatArray:
    """Templates ready to be sampled: (n, C, rows, columns) to (n, C, padded pixels), float32."""
    width = [(0, 0), (0, 0), (PADDING, PADDING), (PADDING, PADDING)]
    outside = outside_level(pictures, border)
    if outside is not None:
        pictures = pictures - outside
    padded = np.pad(pictures, width, mode=PAD_MODES[border])  # type: ignore[call-overload]
    if outside is not None:
        padded += outside
    return np.ascontiguousarray(padded.reshape(*pictures.shape[:2], -1), dtype=np.float32)


def outside_level(pictures: FloatArray, border: Border) -> FloatArray | None:
    """What lies outside pictures if it is the mean of their edge pixels: (n, C, 1, 1), or None."""
    if border != "rim":
        return None
    means = pictures[:, :, rim(pictures.shape[2:])].mean(axis=2, dtype=np.float64)
    return means[..., None, None].astype(pictures.dtype)


def rim(shape: tuple[int, ...]) -> BoolArray:
    """Which pixels of a picture of `shape` (rows, columns) are edge pixels.

    Those at the ends of the axes along which something can move; all, if there is no such axis.
    """
    is_edge = np.zeros(shape, bool)
    for axis, length in enumerate(shape):
        if length >= MIN_LIVE_LENGTH:
            np.moveaxis(is_edge, axis, 0)[[0, -1]] = True
    return is_edge if is_edge.any() else ~is_edge


def padded_shape(pictures: FloatArray) -> tuple[int, int]:
    """Rows and columns of pictures (n, C, rows, columns) once they are padded."""
    rows, columns = pictures.shape[2:]
    return rows + 2 * PADDING, columns + 2 * PADDING


def unpad(padded: FloatArray, border: Border) -> FloatArray:
    """The adjoint of padding: drop what fell outside, or add it to the edge pixels it came from.

    Parameters
    ----------
    padded : array of shape (n, C, padded rows, padded columns)
    border : {"zero", "edge", "rim"}
    """
    if border == "edge":
        padded = padded.copy()
        for axis in (2, 3):
            along = np.moveaxis(padded, axis, 0)  # a view
            along[PADDING] += along[:PADDING].sum(axis=0)
            along[-PADDING - 1] += along[-PADDING:].sum(axis=0)
    inner = padded[:, :, PADDING:-PADDING, PADDING:-PADDING]
    if border == "rim":
        is_edge = rim(inner.shape[2:])
        outside = padded.sum(axis=(2, 3)) - inner.sum(axis=(2, 3))
        inner = inner + (outside / is_edge.sum())[..., None, None] * is_edge
    return inner


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def locate(sampler, delta, rows, columns):
    """Coordinates of all pixels under the warp ``identity + delta``, into `rows` and `columns`."""
    phi, base, scale = sampler.phi, sampler.base, sampler.scale
    n_basis, n_pixels = phi.shape
    for p in range(n_pixels):
        rows[p] = base[0, p]
        columns[p] = base[1, p]
    j = 0
    while j + 4 <= n_basis:  # four basis functions a pass: fewer trips to memory
        y0, y1 = scale[0] * delta[0, j], scale[0] * delta[0, j + 1]
        y2, y3 = scale[0] * delta[0, j + 2], scale[0] * delta[0, j + 3]
        x0, x1 = scale[1] * delta[1, j], scale[1] * delta[1, j + 1]
        x2, x3 = scale[1] * delta[1, j + 2], scale[1] * delta[1, j + 3]
        for p in range(n_pixels):
            f0, f1, f2, f3 = phi[j, p], phi[j + 1, p], phi[j + 2, p], phi[j + 3, p]
            rows[p] += y0 * f0 + y1 * f1 + y2 * f2 + y3 * f3
            columns[p] += x0 * f0 + x1 * f1 + x2 * f2 + x3 * f3
        j += 4
    while j < n_basis:
        y0, x0 = scale[0] * delta[0, j], scale[1] * delta[1, j]
        for p in range(n_pixels):
            rows[p] += y0 * phi[j, p]
            columns[p] += x0 * phi[j, p]
        j += 1


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def split(sampler, rows, columns, cells):
    """Turn coordinates into the index of the upper left neighbor and the fractions beyond it."""
    top, left = sampler.limit[0], sampler.limit[1]
    width = np.int32(sampler.width)
    zero = np.float32(0)
    for p in range(rows.shape[0]):
        y, x = rows[p], columns[p]
        y = y if y > zero else zero  # in this form NaN becomes zero and cannot point outside
        x = x if x > zero else zero
        y = y if y < top else top
        x = x if x < left else left
        iy, ix = np.int32(y), np.int32(x)
        rows[p] = y - np.float32(iy)
        columns[p] = x - np.float32(ix)
        cells[p] = np.uint32(iy * width + ix)


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def gather(template, width, cells, corners):
    """Fetch the four neighbors of every cell of one channel, into `corners` (4, n_pixels)."""
    below = np.uint64(width)
    for p in range(cells.shape[0]):
        i = np.uint64(cells[p])
        corners[0, p] = template[i]
        corners[1, p] = template[i + np.uint64(1)]
        corners[2, p] = template[i + below]
        corners[3, p] = template[i + below + np.uint64(1)]


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def blend(corners, rows, columns, out):
    """Bilinear mean of the four neighbors, into `out` (n_pixels,)."""
    for p in range(out.shape[0]):
        upper = corners[0, p] + columns[p] * (corners[1, p] - corners[0, p])
        lower = corners[2, p] + columns[p] * (corners[3, p] - corners[2, p])
        out[p] = upper + rows[p] * (lower - upper)


@njit(fastmath=FAST, nogil=True, cache=True)
def render_pairs(sampler, templates, which, deltas, out):
    """Warp template ``which[i]`` by ``deltas[i]`` into ``out[i]`` (C, n_pixels), for every i."""
    n_pixels = sampler.base.shape[1]
    rows, columns = np.empty(n_pixels, np.float32), np.empty(n_pixels, np.float32)
    cells, corners = np.empty(n_pixels, np.uint32), np.empty((4, n_pixels), np.float32)
    for i in range(which.shape[0]):
        locate(sampler, deltas[i], rows, columns)
        split(sampler, rows, columns, cells)
        for c in range(templates.shape[1]):
            gather(templates[which[i], c], sampler.width, cells, corners)
            blend(corners, rows, columns, out[i, c])


@njit(fastmath=FAST, nogil=True, cache=True)
def render_places(sampler, templates, places, out):
    """Template i at the padded coordinates `places[i]` (2, n_pixels), into ``out[i]``."""
    n_pixels = places.shape[2]
    rows, columns = np.empty(n_pixels, np.float32), np.empty(n_pixels, np.float32)
    cells, corners = np.empty(n_pixels, np.uint32), np.empty((4, n_pixels), np.float32)
    for i in range(templates.shape[0]):
        rows[:] = places[i, 0]
        columns[:] = places[i, 1]
        split(sampler, rows, columns, cells)
        for c in range(templates.shape[1]):
            gather(templates[i, c], sampler.width, cells, corners)
            blend(corners, rows, columns, out[i, c])


@njit(fastmath=FAST, nogil=True, cache=True)
def back_project(sampler, templates, targets, members, labels, weights, deltas, push, mass):
    """The adjoint of rendering: sums of W^T (x - W mu) and of W^T 1 over `members`, per cluster.

    Parameters
    ----------
    sampler : Sampler
    templates : array of shape (K, C, padded pixels)
        The pictures mu.
    targets : array of shape (N, C, n_pixels)
        The images x.
    members : int array
        Numbers of the images that count.
    labels, weights : arrays of shape (N,)
        The cluster of each image, and its weight in the sums.
    deltas : array of shape (N, 2, n_basis)
        The warps: W renders a template under ``identity + delta``.
    push : float64 array of shape (K, C, padded pixels)
        The first of the sums is added to it.
    mass : float64 array of shape (K, padded pixels)
        The second one is added to it.
    """
    n_pixels = sampler.base.shape[1]
    rows, columns = np.empty(n_pixels, np.float32), np.empty(n_pixels, np.float32)
    cells, corners = np.empty(n_pixels, np.uint32), np.empty((4, n_pixels), np.float32)
    width = np.uint64(sampler.width)
    one = np.uint64(1)
    for i in members:
        k, weight = labels[i], weights[i]
        locate(sampler, deltas[i], rows, columns)
        split(sampler, rows, columns, cells)
        for c in range(targets.shape[1]):
            gather(templates[k, c], sampler.width, cells, corners)
            for p in range(n_pixels):
                fy, fx = rows[p], columns[p]
                upper_left, upper_right = (1 - fy) * (1 - fx), (1 - fy) * fx
                lower_left, lower_right = fy * (1 - fx), fy * fx
                value = (
                    upper_left * corners[0, p]
                    + upper_right * corners[1, p]
                    + lower_left * corners[2, p]
                    + lower_right * corners[3, p]
                )
                r = weight * (targets[i, c, p] - value)
                cell = np.uint64(cells[p])
                push[k, c, cell] += upper_left * r
                push[k, c, cell + one] += upper_right * r
                push[k, c, cell + width] += lower_left * r
                push[k, c, cell + width + one] += lower_right * r
                if c == 0:
                    mass[k, cell] += weight * upper_left
                    mass[k, cell + one] += weight * upper_right
                    mass[k, cell + width] += weight * lower_left
                    mass[k, cell + width + one] += weight * lower_right
