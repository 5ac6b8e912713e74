"""Vectors in compiled code against NumPy, with numbers that are not finite among them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from dikmeans.registration import lanes
from dikmeans.registration.lanes import N_LANES

ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -3.7, 0.4, 2.9999, 3.0, 3.1, 1e-40], np.float32)


@njit
def arithmetic(a, b, out):
    x, y, three = lanes.load(a, 0), lanes.load(b, 1), lanes.splat(np.float32(3))
    lanes.store(x + y, out, 0)
    lanes.store(x - y, out, N_LANES)
    lanes.store(x * three, out, 2 * N_LANES)
    lanes.store(lanes.fma(x, y, three), out, 3 * N_LANES)
    return lanes.total(x)


@njit
def clamped(a, top, out):
    x = lanes.clamp(lanes.load(a, 0), top)
    lanes.store(x, out, 0)
    lanes.store(lanes.truncate(x), out, N_LANES)


@njit
def bilinear_neighbors(picture, start, width, rows, columns, cells, out):
    lanes.store_cells(lanes.load(rows, 0), lanes.load(columns, 0), width, cells, 2)
    corners = lanes.gather(picture, start, width, cells, 2)
    for i in range(4):
        lanes.store(corners[i], out, i * N_LANES)


@njit
def any_nonzero(a, b):
    return lanes.any_nonzero(lanes.load(a, 0), lanes.load(b, 0))


@njit
def first_of(a):
    return lanes.total(lanes.load(a, 0))


def numbers(seed, n=N_LANES):
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def test_arithmetic_is_that_of_numpy():
    a, b, out = numbers(0), numbers(1, N_LANES + 1), np.empty((4, N_LANES), np.float32)
    total = arithmetic(a, b, out)
    b = b[1:]  # loaded from the second number on
    np.testing.assert_array_equal(out[:3], [a + b, a - b, 3 * a])
    np.testing.assert_allclose(out[3], a * b + 3, rtol=1e-6)
    assert total == pytest.approx(a.sum(dtype=float), rel=1e-5)


def test_a_total_is_added_up_by_halves():
    # the large numbers cancel first; from left to right the small one would be lost
    a = np.zeros(N_LANES, np.float32)
    a[[0, 1, N_LANES // 2]] = 1e8, 1.0, -1e8
    assert first_of(a) == 1
    assert np.cumsum(a)[-1] == 0


def test_clamped_numbers_are_safe_as_indices():
    a, out = np.resize(ODD, N_LANES), np.empty((2, N_LANES), np.float32)
    clamped(a, np.float32(3), out)
    expected = np.clip(np.nan_to_num(a, nan=0.0), 0, 3)
    np.testing.assert_array_equal(out, [expected, np.floor(expected)])


def test_gathered_are_the_four_neighbors_of_each_cell():
    n_rows, width, rng = 6, 7, np.random.default_rng(2)
    pictures = rng.normal(size=(2, n_rows, width)).astype(np.float32)
    rows, columns = rng.integers(0, (n_rows - 1, width - 1), (N_LANES, 2)).T
    out, cells = np.empty((4, N_LANES), np.float32), np.zeros(N_LANES + 2, np.uint32)
    coordinates = (axis.astype(np.float32) for axis in (rows, columns))
    bilinear_neighbors(pictures, pictures[0].size, width, *coordinates, cells, out)
    np.testing.assert_array_equal(cells[2:], rows * width + columns)
    assert not cells[:2].any()
    second = pictures[1]
    for corner, (down, right) in zip(out, [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        np.testing.assert_array_equal(corner, second[rows + down, columns + right])


@pytest.mark.parametrize("place", range(N_LANES))
def test_any_number_but_zero_counts_in_either_vector(place):
    zero, other = np.full(N_LANES, -0.0, np.float32), np.zeros(N_LANES, np.float32)
    assert any_nonzero(zero, other) == 0
    for value in (1e-30, -1, np.nan):
        other[place] = value
        assert any_nonzero(zero, other) == any_nonzero(other, zero) == 1


@pytest.mark.parametrize(
    "array", [np.zeros(N_LANES), np.zeros(2 * N_LANES, np.float32)[::2], np.zeros(16, np.int32)]
)
def test_arrays_that_cannot_be_addressed_by_an_index_are_refused(array):
    with pytest.raises((TypeError, TypingError), match="expected a C contiguous array of float32"):
        first_of(array)
