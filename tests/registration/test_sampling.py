"""Rendering: compiled loops against NumPy versions, the whole against scipy's interpolation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.registration import make_warp
from dikmeans.registration.sampling import (
    PADDING,
    block_order,
    locate,
    make_sampler,
    pad,
    render_pairs,
)
from dikmeans.registration.solvers import QuasiNewton
from dikmeans.registration.warped_measure import WarpedMeasure
from tests import reference
from tests.registration.inlined import from_python

call_locate = from_python(locate)

SHAPES = [(28, 28), (9, 20), (20, 9), (1, 40), (3, 17), (4, 4)]
BORDERS = ["zero", "edge", "rim"]

# How far a pixel is thrown, in units of the frame: within the picture, over its border, far beyond.
reaches = st.sampled_from([0.05, 0.5, 3.0, 100.0])
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(params=["affine", "tps"])
def family(request):
    return request.param


def random_delta(warp, seed, reach=0.2):
    return (
        np.random.default_rng(seed).normal(scale=reach, size=(2, warp.n_basis)).astype(np.float32)
    )


def a_measure(family, shape, border="zero"):
    return WarpedMeasure(
        make_warp(family, shape),
        smoothness=0.1,
        direction="image-to-centroid",
        border=border,
        solver=QuasiNewton(),
    )


def source_pixels(warp, delta):
    """Where pixels come from, in double precision, as fractional indices of the picture."""
    return warp.grid.to_pixels(warp.coordinates(warp.identity + delta.astype(float).T))


def located(sampler, delta):
    """Cells and fractions of all pixels by the compiled loop, row by row."""
    n_places = len(sampler.block_weight)
    cells, fractions = np.empty(n_places, np.uint32), np.empty((2, n_places), np.float32)
    call_locate(sampler, delta.ravel(), cells, *fractions)
    n_pixels, order = len(sampler.order), sampler.order
    in_order = np.empty(n_pixels, np.uint32), np.empty((2, n_pixels), np.float32)
    in_order[0][order], in_order[1][:, order] = cells[:n_pixels], fractions[:, :n_pixels]
    return in_order


@pytest.mark.parametrize("shape", SHAPES)
def test_locate_equals_its_plain_version(family, shape):
    warp = make_warp(family, shape)
    sampler = make_sampler(warp, warp.grid)
    delta = random_delta(warp, 0)
    cells, (rows, columns) = located(sampler, delta)
    expected = reference.locate(sampler, delta)
    clamped = np.clip(expected, 0, sampler.limit[:, None])
    found = np.stack([cells // sampler.width + rows, cells % sampler.width + columns])
    np.testing.assert_allclose(found, clamped, rtol=1e-5, atol=1e-4)
    # and this is where the warp says it is, seen from the padded picture
    in_picture = source_pixels(warp, delta).reshape(-1, 2).T + PADDING
    np.testing.assert_allclose(expected, in_picture, atol=1e-4)


@given(reach=st.floats(0, 1e6), seed=seeds)
def test_wherever_the_points_lie_they_have_four_neighbors(reach, seed):
    warp = make_warp("affine", (6, 9))
    sampler = make_sampler(warp, warp.grid)
    cells, fractions = located(sampler, random_delta(warp, seed, reach))
    n_rows, n_columns = reference.pad_sides((6, 9))
    assert (cells // n_columns < n_rows - 1).all()
    assert (cells % n_columns < n_columns - 1).all()
    assert ((fractions >= 0) & (fractions < 1)).all()


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e30])
def test_parameters_that_are_no_numbers_lead_into_the_picture(wild):
    warp = make_warp("tps", (28, 28))
    sampler = make_sampler(warp, warp.grid)
    cells, _ = located(sampler, np.full((2, 16), wild, np.float32))
    assert (cells < np.prod(reference.pad_sides((28, 28)))).all()


@pytest.mark.parametrize("shape", [*SHAPES, (300, 400)])
def test_block_order_has_every_pixel_once_and_blocks_of_four_by_four(shape):
    order = block_order(shape)
    np.testing.assert_array_equal(np.sort(order), np.arange(np.prod(shape)))
    rows, columns = np.divmod(order[:16], shape[1])
    if min(shape) >= 4:
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == {
            (row, column) for row in range(4) for column in range(4)
        }


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", SHAPES)
@given(seed=seeds, reach=reaches)
def test_rendering_equals_scipys_interpolation_inside_over_the_border_and_far_outside(
    shape, border, seed, reach
):
    measure = a_measure("tps", shape, border)
    picture = np.random.default_rng(seed).random((1, 1, *shape)).astype(np.float32)
    delta = random_delta(measure.warp, seed, reach)
    found = measure.render(picture, np.zeros(1, int), delta[None])[0, 0]
    # Coordinates in single precision, as the loops see them: a point a hundred pictures away is
    # known to a thousandth of a pixel, and what is tested here is the interpolation.
    width = measure.sampler.width
    cells, (rows, columns) = located(measure.sampler, delta)
    places = cells // width + rows.astype(float), cells % width + columns.astype(float)
    pixels = np.stack(places, axis=-1).reshape(*shape, 2) - PADDING
    np.testing.assert_allclose(found, reference.render(picture[0, 0], pixels, border), atol=1e-5)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(28, 28), (24, 64), (1, 50), (300, 400)])
def test_rendering_equals_scipys_interpolation_at_the_coordinates_of_the_warp(
    family, shape, border
):
    # A smooth picture, so that the rounding of coordinates (1e-7 of the picture's side) does not
    # show.
    measure = a_measure(family, shape, border)
    points = measure.warp.grid.points().reshape(*shape, 2)
    picture = (1 + np.sin(3 * points[..., 0] + 1) * np.cos(4 * points[..., 1])) / 2
    delta = random_delta(measure.warp, 1, 0.1)
    found = measure.render(picture[None, None].astype(np.float32), np.zeros(1, int), delta[None])
    expected = reference.render(picture, source_pixels(measure.warp, delta), border)
    assert found.shape == (1, 1, *shape)
    assert np.abs(expected - picture).max() > 0.05  # it did move
    # next to a border of zeros the picture falls by one within a pixel: single precision shows
    # there
    limit = 1e-5 * max(1, max(shape) / 28)
    np.testing.assert_allclose(found[0, 0], expected, atol=limit)


def test_every_channel_is_rendered_as_if_it_were_alone(family):
    measure = a_measure(family, (9, 20))
    pictures = np.random.default_rng(2).random((2, 3, 9, 20)).astype(np.float32)
    deltas = np.stack([random_delta(measure.warp, seed) for seed in range(4)])
    which = np.array([1, 0, 0, 1])
    together = measure.render(pictures, which, deltas)
    for c in range(3):
        alone = measure.render(pictures[:, c : c + 1], which, deltas)
        np.testing.assert_array_equal(together[:, c : c + 1], alone)


def test_render_pairs_takes_the_template_it_is_told_and_the_plain_version_agrees(family):
    warp = make_warp(family, (9, 20))
    sampler = make_sampler(warp, warp.grid)
    templates = pad(np.random.default_rng(3).random((3, 2, 9, 20)), "zero")
    which = np.array([2, 0, 2, 1])
    deltas = np.stack([random_delta(warp, seed) for seed in range(4)])
    out = np.empty((4, 2, 180), np.float32)
    render_pairs(sampler, templates, which, deltas, out)
    for i, k in enumerate(which):
        cells, fractions = reference.split(sampler, reference.locate(sampler, deltas[i]))
        for c in range(2):
            corners = reference.gather(templates[k, c], sampler.width, cells)
            np.testing.assert_allclose(out[i, c], reference.blend(corners, fractions), atol=1e-4)


def test_the_identity_renders_the_picture_itself(family):
    measure = a_measure(family, (28, 28))
    picture = np.random.default_rng(4).random((1, 1, 28, 28)).astype(np.float32)
    still = np.zeros((1, 2, measure.n_basis), np.float32)
    np.testing.assert_allclose(measure.render(picture, np.zeros(1, int), still), picture, atol=2e-6)


def test_warping_is_backward_and_points_are_row_then_column():
    # F(p) = p + (3 pixels down, 5 pixels right) takes the pixel at (r, c) from (r + 3, c + 5): a
    # dot at (12, 17) must land at (9, 12).
    measure = a_measure("affine", (20, 30))
    dot = np.zeros((1, 1, 20, 30), np.float32)
    dot[0, 0, 12, 17] = 1
    delta = np.zeros((1, 2, 3), np.float32)
    delta[0, :, 0] = np.array([3, 5]) / 15  # a unit of the frame is 15 pixels
    landed = measure.render(dot, np.zeros(1, int), delta)[0, 0]
    assert landed[9, 12] == pytest.approx(1, abs=1e-5)
    assert np.abs(landed).sum() == pytest.approx(1, abs=1e-4)


def test_a_rotation_stays_a_rotation_on_a_picture_that_is_not_square():
    # F(p) turns the frame by a right angle: row' = -column, column' = row. The dot five pixels
    # above the center of the picture is seen five pixels to one side of it, not more, not fewer.
    measure = a_measure("affine", (21, 41))
    dot = np.zeros((1, 1, 21, 41), np.float32)
    dot[0, 0, 5, 20] = 1
    turned = np.array([[0, 0], [0, 1], [-1, 0]])
    delta = (turned - measure.warp.identity).T[None].astype(np.float32)
    landed = measure.render(dot, np.zeros(1, int), delta)[0, 0]
    assert landed[10, 25] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("border", "outside"), [("zero", 0.0), ("edge", 0.7), ("rim", 0.7)])
def test_beyond_its_border_a_picture_is_zero_or_goes_on(border, outside):
    measure = a_measure("affine", (8, 8), border)
    picture = np.full((1, 1, 8, 8), 0.7, np.float32)
    delta = np.zeros((1, 2, 3), np.float32)
    delta[0, 0, 0] = 50.0
    np.testing.assert_allclose(measure.render(picture, np.zeros(1, int), delta), outside, atol=1e-6)


@pytest.mark.parametrize("border", BORDERS)
def test_padding_adds_two_pixels_of_the_outside_on_every_side(border):
    picture = np.arange(1.0, 13).reshape(1, 1, 3, 4)
    padded = pad(picture, border).reshape(7, 8)
    assert padded.dtype == np.float32
    rows, columns = np.meshgrid(np.arange(-2, 5), np.arange(-2, 6), indexing="ij")
    expected = reference.render(picture[0, 0], np.stack([rows, columns], axis=-1), border)
    np.testing.assert_array_equal(padded, expected)
