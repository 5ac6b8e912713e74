r"""What a prototype looks like: the mean of its members' originals, carried into its frame.

Warps are found on small preprocessed pictures, but they are maps of the frame: they apply at any
resolution, to colors, to another channel, to a mask. For a point :math:`q` in the frame of the
prototype, the original is read at

.. math:: P(V(F^{-1}(q)))

where :math:`F^{-1}` leads into the preprocessed picture (:math:`F` itself, if pictures are warped
onto prototypes), :math:`V` leads from there into the given one, which preprocessing may have moved
and scaled, and :math:`P` is its placement in the frame (`dikmeans.frames`). Nothing is assumed of
the map but that it is smooth: it is computed at knots, and linear between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from dikmeans._typing import Array, FloatArray, IntArray
from dikmeans.frames import FRAMES, Crops, Frame, place
from dikmeans.parallel.threads import run_threads
from dikmeans.parameters import InvalidParameterError
from dikmeans.registration.inverse import inverse_points
from dikmeans.registration.measure import Direction
from dikmeans.registration.warps import Warp

# Knots along the longer side: between them a spline of a dozen landmarks is all but linear.
N_KNOTS = 33
# So many members, those that fit best, make a mean; more would not change what one sees.
MAX_MEMBERS = 60
LARGEST_SIDE = 512
N_REWEIGHTINGS = 3
# The contrast of single members is measured on every so many rows and columns.
THINNED = 3
# Bytes of the members of one prototype that are held at once.
MAX_BYTES = 200_000_000


class CarriedMaps(NamedTuple):
    """Where images are read to bring them into the frames of their prototypes.

    Attributes
    ----------
    knots : array of shape (n, knot rows, knot columns, 2)
        For knots from edge to edge of a prototype's frame, (row, column) pixel indices of the
        image before preprocessing.
    shape : (int, int)
        Rows and columns of the images.
    """

    knots: FloatArray
    shape: tuple[int, int]

    def carry(self, number: int, picture: FloatArray, size: tuple[int, int], frame: Frame) -> Array:
        """A picture (H, W, C) registered with image `number`, in its prototype's frame.

        Beyond its edge a picture continues as it ends.

        Parameters
        ----------
        number : int
        picture : array of shape (H, W, C)
            Of any resolution and number of channels.
        size : (int, int)
            Rows and columns of the result.
        frame : {"stretch", "fit"}
            How the image was made from the picture.
        """
        placement = place((picture.shape[0], picture.shape[1]), self.shape, frame)
        knots = placement.to_original(self.knots[number])
        out = np.empty((*size, picture.shape[2]), np.float32)
        _carry(np.ascontiguousarray(picture, dtype=np.float32), knots.astype(np.float32), out)
        return out


def carried_maps(
    warp: Warp,
    parameters: FloatArray,
    direction: Direction,
    crops: Crops,
    orientation: FloatArray | None = None,
) -> CarriedMaps:
    """The maps of images with these warps.

    Parameters
    ----------
    warp : Warp
    parameters : array of shape (n, n_basis, 2)
    direction : {"centroid-to-image", "image-to-centroid"}
    crops : Crops
        The parts of the given images that the preprocessed ones show; see `Preprocessor.crops`.
    orientation : array of shape (n, 2, 2), optional
        In which each image was compared; see `dikmeans.registration.orientation`.
    """
    grid, unit = warp.grid, max(warp.grid.shape) / 2
    sides = []
    for n in grid.shape:
        half, n_knots = n / (2 * unit), max(2, round(N_KNOTS * n / (2 * unit)))
        sides.append(np.linspace(-half, half, n_knots))
    knots = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    points = knots.reshape(-1, 2)
    moved: FloatArray
    if direction == "image-to-centroid":
        moved = points + warp.basis(points) @ (parameters - warp.identity)
    else:
        moved = inverse_points(warp, parameters, points)
    if orientation is not None:
        moved = moved @ np.swapaxes(orientation, 1, 2)
    for axis in {0, 1}.difference(grid.live_axes):
        moved[..., axis] = points[:, axis]
    pixels = crops.to_given(moved * unit + grid.offset)
    rows, columns = grid.shape
    return CarriedMaps(pixels.reshape(len(parameters), *knots.shape), (rows, columns))


class Averages(NamedTuple):
    """What prototypes look like in originals of their members.

    Attributes
    ----------
    mean : array of shape (M, H, W[, C])
        Robust mean of the members of each prototype, in its frame; NaN if it has none.
    spread : array of shape (M, H, W[, C])
        Standard deviation of the members: what varies.
    typical : array of shape (M, H, W[, C])
        The member that fits best, in the same frame.
    contrast : array of shape (M,)
        Contrast of the mean beside that of a single member: near 0 where members have nothing in
        common, such as random colors, and `typical` shows more than the mean does.
    counts : int array of shape (M,)
        How many members were averaged.
    """

    mean: FloatArray
    spread: FloatArray
    typical: FloatArray
    contrast: FloatArray
    counts: IntArray


def best_members(
    prototypes: IntArray, costs: FloatArray, n_prototypes: int, most: int | None
) -> list[IntArray]:
    """Numbers of the members of each prototype, best fit first, at most so many."""
    order = np.argsort(costs, kind="stable")
    return [order[prototypes[order] == m][:most] for m in range(n_prototypes)]


def average_members(
    members: Sequence[IntArray],
    maps: Callable[[IntArray], CarriedMaps],
    read: Callable[[int], FloatArray],
    size: tuple[int, int] | None,
    frame: Frame,
    n_jobs: int | None,
) -> Averages:
    """Averages of originals, prototype by prototype.

    Parameters
    ----------
    members : sequence of int arrays
        Of each prototype.
    maps : callable
        From the numbers of images to their maps.
    read : callable
        From the number of an image to its original (H, W[, C]).
    size : (int, int), optional
        Of the result; by default as large as the first original, up to 512 pixels.
    frame : {"stretch", "fit"}
    n_jobs : int or None
    """
    first = next((int(numbers[0]) for numbers in members if len(numbers)), None)
    if first is None:
        raise ValueError("No prototype has members: there is nothing to average.")
    shape = np.shape(read(first))
    if len(shape) not in (2, 3):
        raise ValueError(f"Original {first} has shape {shape}; expected (H, W) or (H, W, C).")
    if frame not in FRAMES:
        raise InvalidParameterError("frame", frame, " or ".join(map(repr, FRAMES)))
    if size is not None and not (len(size) == 2 and min(size) > 0):
        raise InvalidParameterError("size", size, "(rows, columns), positive whole numbers")
    size = size or default_size((shape[0], shape[1]), maps(np.array([first])).shape, frame)
    channels = shape[2:]
    n_values = int(np.prod((*size, *channels)))
    most = max(8, MAX_BYTES // (4 * n_values))
    mean, spread, typical = np.full((3, len(members), *size, *channels), np.nan, np.float32)
    contrast, counts = np.full(len(members), np.nan), np.zeros(len(members), int)
    result = Averages(mean, spread, typical, contrast, counts)
    for m, numbers in enumerate(members):
        chosen = numbers[:most]
        if len(chosen) == 0:
            continue
        stack = np.empty((len(chosen), *size, n_values // (size[0] * size[1])), np.float32)
        _carry_all(maps(chosen), chosen, read, stack, frame, n_jobs)
        shape = result.mean.shape[1:]
        result.mean[m], result.spread[m] = (
            picture.reshape(shape) for picture in mean_and_spread(stack)
        )
        result.typical[m] = stack[0].reshape(shape)
        single = stack[:, ::THINNED, ::THINNED].std(axis=(1, 2)).mean()
        result.contrast[m] = result.mean[m].std(axis=(0, 1)).mean() / single if single else 1.0
        result.counts[m] = len(chosen)
    return result


def default_size(
    original: tuple[int, int], framed: tuple[int, int], frame: Frame, most: int = LARGEST_SIDE
) -> tuple[int, int]:
    """Rows and columns of a frame that has the resolution of an original, up to `most`.

    Examples
    --------
    >>> default_size((600, 300), (64, 64), "stretch"), default_size((90, 120), (48, 64), "fit")
    ((512, 512), (90, 120))
    """
    scale = max(place(original, framed, frame).scale)
    scale = min(scale, most / max(framed))
    return max(1, round(framed[0] * scale)), max(1, round(framed[1] * scale))


def _carry_all(
    maps: CarriedMaps,
    numbers: IntArray,
    read: Callable[[int], FloatArray],
    stack: FloatArray,
    frame: Frame,
    n_jobs: int | None,
) -> None:
    """Originals of some images in their prototype's frame, into `stack` (n, rows, columns, C)."""
    _, rows, columns, n_channels = stack.shape

    def carry(place: int) -> None:
        original = np.asarray(read(int(numbers[place])), np.float32)
        picture = original.reshape(*original.shape[:2], -1)
        if picture.shape[2] != n_channels:
            raise ValueError(
                f"Original {numbers[place]} has {picture.shape[2]} channels, others have "
                f"{n_channels}; all must have the same."
            )
        stack[place] = maps.carry(place, picture, (rows, columns), frame)

    run_threads(carry, list(range(len(numbers))), n_jobs)


def mean_and_spread(stack: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Robust mean and standard deviation over the first axis.

    The mean has weights of Geman and McClure, under which outliers hardly count:
    :math:`(1 + (x - m)^2 / \sigma^2)^{-2}` with the standard deviation :math:`\sigma`.

    Examples
    --------
    >>> mean, spread = mean_and_spread(np.array([[1.0], [1.1], [0.9], [1.0], [9.0]]))
    >>> mean.round(1), spread.round(1)
    (array([1.], dtype=float32), array([3.2], dtype=float32))
    """
    table = np.ascontiguousarray(stack.reshape(len(stack), -1), dtype=np.float32)
    mean, spread = np.empty((2, table.shape[1]), np.float32)
    _mean_and_spread(table, N_REWEIGHTINGS, mean, spread)
    return mean.reshape(stack.shape[1:]), spread.reshape(stack.shape[1:])


@njit(nogil=True, cache=True)
def _mean_and_spread(table, n_reweightings, means, spreads):
    """Robust mean and standard deviation of each column of a table (n, m)."""
    n = len(table)
    for p in range(table.shape[1]):
        mean = 0.0
        for i in range(n):
            mean += table[i, p]
        mean /= n
        variance = 0.0
        for i in range(n):
            variance += (table[i, p] - mean) ** 2
        spreads[p] = np.sqrt(variance / n)
        variance = max(variance / n, 1e-30)
        for _ in range(n_reweightings):
            total = 0.0
            weight_sum = 0.0
            for i in range(n):
                weight = 1 / (1 + (table[i, p] - mean) ** 2 / variance)
                weight *= weight
                total += weight * table[i, p]
                weight_sum += weight
            mean = total / weight_sum
        means[p] = mean


@njit(nogil=True, cache=True)
def _carry(picture, knots, out):
    """``out`` (rows, columns, C): `picture` at the places that `knots` name, bilinearly."""
    height, width, channels = picture.shape
    rows, columns = out.shape[:2]
    n_down, n_across = knots.shape[:2]
    for r in range(rows):
        v = (r + 0.5) / rows * (n_down - 1)
        i = min(int(v), n_down - 2)
        v -= i
        for c in range(columns):
            u = (c + 0.5) / columns * (n_across - 1)
            j = min(int(u), n_across - 2)
            u -= j
            y = (1 - v) * ((1 - u) * knots[i, j, 0] + u * knots[i, j + 1, 0]) + v * (
                (1 - u) * knots[i + 1, j, 0] + u * knots[i + 1, j + 1, 0]
            )
            x = (1 - v) * ((1 - u) * knots[i, j, 1] + u * knots[i, j + 1, 1]) + v * (
                (1 - u) * knots[i + 1, j, 1] + u * knots[i + 1, j + 1, 1]
            )
            y = min(max(y, 0.0), height - 1.0)
            x = min(max(x, 0.0), width - 1.0)
            top, left = int(y), int(x)
            below, right = min(top + 1, height - 1), min(left + 1, width - 1)
            fy, fx = y - top, x - left
            for k in range(channels):
                upper = (1 - fx) * picture[top, left, k] + fx * picture[top, right, k]
                lower = (1 - fx) * picture[below, left, k] + fx * picture[below, right, k]
                out[r, c, k] = (1 - fy) * upper + fy * lower
