"""Rendering: the value of a picture between its pixels, by bilinear interpolation.

A template is padded by two pixels on each side before it is sampled, with zeros, with its own edge
pixels or with their mean, and coordinates are clamped into the padded picture. Every sample then
has four neighbors and is taken without a branch, and value and slope are right outside the picture
too: a point further than one pixel away lies between two equal rows, where the slope is zero.

Rendering is linear in the picture; its adjoint (`back_project`) carries residuals back to their
origin.

The loops go through the pixels in *block order*: bands of four rows, each column by column, so that
the sixteen pixels of a vector (`dikmeans.registration.lanes`) are a block of 4 x 4. Pictures are
mostly ground, and what is only ground is skipped in blocks. The last block is filled up to
`STRIDE`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.core.cpu import CPUTargetOptions

from dikmeans._typing import BoolArray, FloatArray, IntArray
from dikmeans.registration.grid import MIN_LIVE_LENGTH, Grid
from dikmeans.registration.lanes import (
    N_LANES,
    clamp,
    fma,
    load,
    splat,
    store,
    store_cells,
    truncate,
)
from dikmeans.registration.warps import Border, Warp

PADDING = 2
# Rows of a band, and pixels whose coordinates are computed together: two vectors.
BAND, STRIDE = 4, 2 * N_LANES
# Basis functions are filled up to a multiple of this; so many gradients are computed together.
GROUP = 4
CACHE_LINE = 64
PAD_MODES = {"zero": "constant", "edge": "edge", "rim": "constant"}

# Reordering sums lets the compiler use vector units; NaN and infinity keep their meaning.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}
# Compiled loops create no arrays, so there is no need to count references to any: on small pictures
# that took half the time. numba does not document the option, but refuses to compile a loop that
# has it and creates an array. A numba without it would count, and compute the same.
NO_REFCOUNTS: dict[str, bool] = {"nogil": True, "cache": True}
if hasattr(CPUTargetOptions, "_nrt"):
    NO_REFCOUNTS["_nrt"] = False
# Compiled functions that others call are inlined: else a process that compiles them runs other code
# than one that finds their callers in the cache, and sums are reordered in another way.
# Python does not call them: what would let it takes as long to compile as they do.
INLINED = {
    **NO_REFCOUNTS,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class Sampler(NamedTuple):
    """What the compiled loops need to know of one warp family on one grid.

    Coordinates are pixel indices of the padded template. The places of the block order are the
    pixels in that order, and what fills up the last block.

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
    order : int array of shape (n_pixels,)
        The pixels in block order.
    blocks : float32 array of shape (n_places / STRIDE, n_basis filled up, STRIDE)
        `phi` at the places.
    block_base : float32 array of shape (2, n_places)
        `base` at the places.
    block_weight : float32 array of shape (n_places,)
        One at a pixel, zero at what fills up.
    """

    phi: FloatArray
    base: FloatArray
    scale: FloatArray
    limit: FloatArray
    width: int
    order: IntArray
    blocks: FloatArray
    block_base: FloatArray
    block_weight: FloatArray


def make_sampler(warp: Warp, grid: Grid) -> Sampler:
    """The sampler of `warp` for templates and targets on `grid`."""
    points = grid.points()
    padded = np.array(grid.shape) + 2 * PADDING
    phi = np.ascontiguousarray(warp.basis(points).T, dtype=np.float32)
    base = np.ascontiguousarray((grid.indices() + PADDING).T, dtype=np.float32)
    order = block_order(grid.shape)
    n_places = -(-len(order) // STRIDE) * STRIDE
    filled = np.zeros((-(-len(phi) // GROUP) * GROUP, n_places), np.float32)
    filled[: len(phi), : len(order)] = phi[:, order]
    block_base, block_weight = np.zeros((2, n_places), np.float32), np.zeros(n_places, np.float32)
    block_base[:, : len(order)] = base[:, order]
    block_weight[: len(order)] = 1
    return Sampler(
        phi=phi,
        base=base,
        scale=np.array(grid.scale, dtype=np.float32),
        limit=np.nextafter((padded - 1).astype(np.float32), np.float32(0)),
        width=int(padded[1]),
        order=order,
        blocks=_aligned(filled.reshape(len(filled), -1, STRIDE).swapaxes(0, 1)),
        block_base=block_base,
        block_weight=block_weight,
    )


def block_order(shape: tuple[int, int]) -> IntArray:
    """The pixels of a picture band by band, and in each band column by column.

    Examples
    --------
    >>> block_order((5, 2))
    array([0, 2, 4, 6, 1, 3, 5, 7, 8, 9])
    """
    rows, columns = np.indices(shape).reshape(2, -1)
    return np.lexsort((rows, columns, rows // BAND))


def _aligned(array: FloatArray) -> FloatArray:
    """A copy whose vectors do not lie across cache lines."""
    raw = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    first = -raw.ctypes.data % CACHE_LINE
    copy = raw[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


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


@njit(**INLINED)
def locate(sampler, delta, cells, rows, columns):
    """Where the places of the block order take their values from, under ``identity + delta``.

    `delta` is flat, parameters of rows before those of columns. The upper left neighbor goes into
    `cells`, the fractions beyond it into `rows` and `columns`.
    """
    blocks, base = sampler.blocks, sampler.block_base
    n_filled, n_places, n_basis = blocks.shape[1], base.shape[1], sampler.phi.shape[0]
    scale_y, scale_x = splat(sampler.scale[0]), splat(sampler.scale[1])
    top, left = sampler.limit[0], sampler.limit[1]
    for p in range(0, n_places, STRIDE):
        y0 = y1 = x0 = x1 = splat(np.float32(0))
        place = p * n_filled
        for j in range(n_basis):
            dy, dx = splat(delta[j]), splat(delta[n_basis + j])
            f0, f1 = load(blocks, place), load(blocks, place + N_LANES)
            y0, y1 = fma(dy, f0, y0), fma(dy, f1, y1)
            x0, x1 = fma(dx, f0, x0), fma(dx, f1, x1)
            place += STRIDE
        q = p + N_LANES
        y0 = clamp(fma(scale_y, y0, load(base, p)), top)
        y1 = clamp(fma(scale_y, y1, load(base, q)), top)
        x0 = clamp(fma(scale_x, x0, load(base, n_places + p)), left)
        x1 = clamp(fma(scale_x, x1, load(base, n_places + q)), left)
        row0, row1, column0, column1 = truncate(y0), truncate(y1), truncate(x0), truncate(x1)
        store_cells(row0, column0, sampler.width, cells, p)
        store_cells(row1, column1, sampler.width, cells, q)
        store(y0 - row0, rows, p)
        store(y1 - row1, rows, q)
        store(x0 - column0, columns, p)
        store(x1 - column1, columns, q)


@njit(**INLINED)
def blend(picture, width, cell, fy, fx):
    """The value of a padded picture beyond one of its pixels, by the fractions `fy` and `fx`."""
    i, below = np.uint64(cell), np.uint64(cell) + np.uint64(width)
    a, b = picture[i], picture[i + np.uint64(1)]
    c, d = picture[below], picture[below + np.uint64(1)]
    upper, lower = a + fx * (b - a), c + fx * (d - c)
    return upper + fy * (lower - upper)


def render_pairs(
    sampler: Sampler, templates: FloatArray, which: IntArray, deltas: FloatArray, out: FloatArray
) -> None:
    """Warp template ``which[i]`` by ``deltas[i]`` into ``out[i]`` (C, n_pixels), for every i."""
    _render_pairs(sampler, templates, which, _flat(deltas), out)


def _flat(deltas: FloatArray) -> FloatArray:
    """Warps (n, 2, n_basis) as the loops take them."""
    return np.ascontiguousarray(deltas.reshape(len(deltas), -1), np.float32)


@njit(nogil=True, cache=True)
def _render_pairs(sampler, templates, which, deltas, out):
    n_places = sampler.block_weight.shape[0]
    rows, columns = np.empty(n_places, np.float32), np.empty(n_places, np.float32)
    cells = np.empty(n_places, np.uint32)
    for i in range(which.shape[0]):
        locate(sampler, deltas[i], cells, rows, columns)
        for c in range(templates.shape[1]):
            template, rendered = templates[which[i], c], out[i, c]
            for p, pixel in enumerate(sampler.order):
                rendered[pixel] = blend(template, sampler.width, cells[p], rows[p], columns[p])


@njit(nogil=True, cache=True)
def render_places(sampler, templates, places, out):
    """Template i at the padded coordinates `places[i]` (2, n_pixels), into ``out[i]``."""
    zero, (top, left) = np.float32(0), sampler.limit
    for i in range(templates.shape[0]):
        for p in range(places.shape[2]):
            y, x = places[i, 0, p], places[i, 1, p]
            y = y if y > zero else zero  # in this form NaN becomes zero and cannot point outside
            x = x if x > zero else zero
            y = y if y < top else top
            x = x if x < left else left
            row, column = np.int64(y), np.int64(x)
            cell = row * sampler.width + column
            fy, fx = y - np.float32(row), x - np.float32(column)
            for c in range(templates.shape[1]):
                out[i, c, p] = blend(templates[i, c], sampler.width, cell, fy, fx)


def back_project(
    sampler: Sampler,
    templates: FloatArray,
    targets: FloatArray,
    members: IntArray,
    labels: IntArray,
    weights: FloatArray,
    deltas: FloatArray,
    push: FloatArray,
    mass: FloatArray,
) -> None:
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
    _back_project(sampler, templates, targets, members, labels, weights, _flat(deltas), push, mass)


@njit(nogil=True, cache=True)
def _back_project(sampler, templates, targets, members, labels, weights, deltas, push, mass):
    n_places = sampler.block_weight.shape[0]
    rows, columns = np.empty(n_places, np.float32), np.empty(n_places, np.float32)
    cells = np.empty(n_places, np.uint32)
    width, one = np.uint64(sampler.width), np.uint64(1)
    for i in members:
        k, weight = labels[i], weights[i]
        locate(sampler, deltas[i], cells, rows, columns)
        for c in range(targets.shape[1]):
            for p, pixel in enumerate(sampler.order):
                fy, fx = rows[p], columns[p]
                upper_left, upper_right = (1 - fy) * (1 - fx), (1 - fy) * fx
                lower_left, lower_right = fy * (1 - fx), fy * fx
                value = blend(templates[k, c], sampler.width, cells[p], fy, fx)
                r = weight * (targets[i, c, pixel] - value)
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
