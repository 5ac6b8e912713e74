"""The pyramid: its grids, and that a coarse picture lies where the fine one does."""

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.registration.pyramid import build_pyramid, pyramid_grids

SHAPES = [(28, 28), (27, 29), (25, 64), (1, 65), (1, 64), (100, 75), (16, 16), (5, 40), (33, 3)]


@pytest.mark.parametrize(
    ("shape", "levels"),
    [
        ((28, 28), [(28, 28), (14, 14)]),
        ((27, 29), [(27, 29), (14, 15)]),
        ((1, 65), [(1, 65), (1, 33), (1, 17)]),
        ((5, 40), [(5, 40), (5, 20)]),
        ((100, 75), [(100, 75), (50, 38), (25, 19), (13, 10)]),
        ((16, 16), [(16, 16), (16, 16)]),
        ((1, 1), [(1, 1), (1, 1)]),
    ],
)
def test_sides_are_halved_rounding_up_while_the_longer_has_24_pixels(shape, levels):
    assert [grid.shape for grid in pyramid_grids(shape)] == levels


@pytest.mark.parametrize("border", ["zero", "edge", "rim"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_level_has_the_shape_of_its_grid_and_the_first_is_the_picture(shape, border):
    pictures = np.random.default_rng(0).random((2, 3, *shape)).astype(np.float32)
    grids = pyramid_grids(shape)
    levels = build_pyramid(pictures, grids, border)
    assert levels[0] is pictures
    assert [level.shape for level in levels] == [(2, 3, *grid.shape) for grid in grids]
    assert all(level.dtype == np.float32 for level in levels)


@pytest.mark.parametrize("shape", [(64, 64), (63, 65), (48, 97), (1, 81), (40, 13)])
def test_a_blob_stays_where_it_is_in_the_frame_on_all_levels(shape):
    # The center of mass of a blob away from the border is not moved by smoothing or by averaging;
    # half a pixel's error would be 1 / 64 and more.
    grids = pyramid_grids(shape)
    points = grids[0].points()
    center = np.array([0.15 * shape[0] / max(shape), -0.2]) * (np.array(grids[0].scale) > 0)
    width = 0.06 if min(shape) > 20 else 0.03
    blob = np.exp(-((points - center) ** 2).sum(axis=1) / (2 * width**2)).reshape(1, 1, *shape)
    for grid, level in zip(grids, build_pyramid(blob, grids, "zero"), strict=True):
        mass = level.ravel() / level.sum()
        np.testing.assert_allclose(mass @ grid.points(), center, atol=1e-3)


@pytest.mark.parametrize("shape", [(64, 64), (63, 65), (1, 81)])
def test_a_linear_picture_is_the_same_function_of_the_frame_on_all_levels(shape):
    # Smoothing and averaging keep linear functions, away from the border.
    grids = pyramid_grids(shape)

    def ramp(grid):
        return (grid.points() @ [0.7, -0.4] + 2).reshape(1, 1, *grid.shape)

    for grid, level in zip(grids, build_pyramid(ramp(grids[0]), grids, "edge"), strict=True):
        inner = tuple(slice(n // 3, n - n // 3) if n > 3 else slice(None) for n in grid.shape)
        np.testing.assert_allclose(level[0, 0][inner], ramp(grid)[0, 0][inner], atol=2e-3)


def test_with_zeros_outside_a_coarse_level_equals_the_one_of_a_larger_empty_picture():
    # What "zero" means: as if the picture lay on a black table. The sides are odd: the last row and
    # the last column are left out, as smoothing spills a little light on the part of the table they
    # are averaged with.
    picture = np.random.default_rng(1).random((1, 1, 31, 45))
    table = np.zeros((1, 1, 31 + 64, 45 + 64))
    table[:, :, 32:63, 32:77] = picture
    (_, level, *_), (_, wide, *_) = (
        build_pyramid(p, pyramid_grids(p.shape[2:]), "zero") for p in (picture, table)
    )
    smoothed = ndimage.gaussian_filter(table, (0, 0, 1.5, 1.5))
    blocks = smoothed[:, :, :94, :108].reshape(1, 1, 47, 2, 54, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(wide[:, :, 8:39, 8:46], blocks[:, :, 8:39, 8:46], atol=1e-9)
    np.testing.assert_allclose(level[:, :, :15, :22], wide[:, :, 16:31, 16:38], atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_constant_picture_with_continued_edges_stays_constant(shape):
    pictures = np.full((1, 1, *shape), 0.7)
    for level in build_pyramid(pictures, pyramid_grids(shape), "edge"):
        np.testing.assert_allclose(level, 0.7, atol=1e-9)


def test_with_zeros_outside_a_constant_picture_darkens_towards_its_border_only():
    level = build_pyramid(np.ones((1, 1, 64, 64)), pyramid_grids((64, 64))[:2], "zero")[1][0, 0]
    assert level[16, 16] == pytest.approx(1)
    assert level[0, 16] < 0.9


def test_an_unhalved_picture_still_gets_a_smoother_level():
    picture = np.zeros((1, 1, 16, 16))
    picture[0, 0, 8, 8] = 1
    level = build_pyramid(picture, pyramid_grids((16, 16)), "zero")[1]
    np.testing.assert_allclose(level[0, 0], ndimage.gaussian_filter(picture[0, 0], 0.75), atol=1e-9)


@pytest.mark.parametrize("border", ["zero", "edge"])
def test_without_a_filter_a_coarse_level_is_the_mean_of_blocks(border):
    pictures = np.random.default_rng(0).random((2, 1, 28, 28))
    level = build_pyramid(pictures, pyramid_grids((28, 28)), border, low_pass=0)[1]
    np.testing.assert_allclose(level, pictures.reshape(2, 1, 14, 2, 14, 2).mean(axis=(3, 5)))
    small = pictures[:, :, :16, :16]  # too small to be halved: it stays as it is
    np.testing.assert_array_equal(
        build_pyramid(small, pyramid_grids((16, 16)), border, low_pass=0)[1], small
    )


def test_rows_of_a_signal_are_not_smoothed_into_nothing():
    signal = np.ones((1, 1, 1, 64))
    level = build_pyramid(signal, pyramid_grids((1, 64)), "zero")[1]
    assert level[0, 0, 0, 16] == pytest.approx(1)
