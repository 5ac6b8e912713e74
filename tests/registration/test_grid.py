"""The frame: where pixels lie, on every level and for every shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.registration.grid import Grid

SHAPES = [(28, 28), (24, 64), (64, 24), (1, 50), (50, 1), (2, 30), (300, 400), (4, 4), (3, 3)]
sides = st.integers(1, 200)


@given(sides, sides)
def test_pixel_centers_lie_where_the_convention_says(rows, columns):
    longest = max(rows, columns)
    points = Grid.of((rows, columns)).points().reshape(rows, columns, 2)
    for axis, n in enumerate((rows, columns)):
        along = np.moveaxis(points[..., axis], axis, 0)
        expected = (np.arange(n) + 0.5 - n / 2) / (longest / 2) if n >= 4 else np.zeros(n)
        np.testing.assert_allclose(along, expected[:, None] * np.ones_like(along), atol=1e-12)


def test_the_longer_side_runs_from_minus_one_to_one_between_pixel_edges():
    grid = Grid.of((24, 64))
    half_a_pixel = np.array([0.5, 0.5]) / 32
    corners = grid.points()[[0, -1]] + [-half_a_pixel, half_a_pixel]
    np.testing.assert_allclose(corners, [[-24 / 64, -1], [24 / 64, 1]])


def test_a_unit_of_the_frame_is_as_many_pixels_along_rows_as_along_columns():
    assert Grid.of((24, 64)).scale == (32.0, 32.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_in_pixels_every_pixel_is_where_its_indices_say_on_flat_axes_too(shape):
    grid = Grid.of(shape)
    pixels = grid.to_pixels(grid.points().reshape(*shape, 2))
    np.testing.assert_allclose(pixels, np.stack(np.indices(shape), axis=-1), atol=1e-9)
    np.testing.assert_array_equal(
        grid.indices(), np.stack(np.indices(shape), axis=-1).reshape(-1, 2)
    )


@pytest.mark.parametrize(
    ("shape", "live"),
    [((28, 28), (0, 1)), ((1, 50), (1,)), ((50, 3), (0,)), ((3, 3), ()), ((4, 4), (0, 1))],
)
def test_axes_of_fewer_than_four_pixels_are_flat(shape, live):
    assert Grid.of(shape).live_axes == live


@given(st.integers(16, 200), st.integers(16, 200))
def test_a_coarse_pixel_lies_in_the_middle_of_the_fine_pixels_it_stands_for(rows, columns):
    fine = Grid.of((rows, columns))
    coarse = fine.coarser()
    assert coarse.shape == ((rows + 1) // 2, (columns + 1) // 2)
    in_fine_pixels = (coarse.points() * fine.scale + fine.offset).reshape(*coarse.shape, 2)
    np.testing.assert_allclose(in_fine_pixels[:, 0, 0], 2 * np.arange(coarse.shape[0]) + 0.5)
    np.testing.assert_allclose(in_fine_pixels[0, :, 1], 2 * np.arange(coarse.shape[1]) + 0.5)


def test_short_and_flat_axes_are_not_halved():
    assert Grid.of((1, 64)).coarser().shape == (1, 32)
    assert Grid.of((15, 64)).coarser().shape == (15, 32)
    assert Grid.of((15, 15)).coarser() == Grid.of((15, 15))
