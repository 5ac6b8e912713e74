"""Rendering: compiled loops against NumPy versions, the whole against scipy's interpolation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.registration import make_warp
from dikmeans.registration.sampling import (
    PADDING,
    blend,
    gather,
    locate,
    make_sampler,
    pad,
    render_pairs,
    split,
)
from dikmeans.registration.solvers import QuasiNewton
from dikmeans.registration.warped_measure import WarpedMeasure
from tests import reference

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


@pytest.mark.parametrize("shape", SHAPES)
def test_locate_equals_its_plain_version(family, shape):
    warp = make_warp(family, shape)
    sampler = make_sampler(warp, warp.grid)
    delta = random_delta(warp, 0)
    rows, columns = np.empty((2, warp.grid.n_pixels), np.float32)
    locate(sampler, delta, rows, columns)
    expected = reference.locate(sampler, delta)
    np.testing.assert_allclose([rows, columns], expected, rtol=1e-5, atol=1e-4)
    # and this is where the warp says it is, seen from the padded picture
    in_picture = source_pixels(warp, delta).reshape(-1, 2).T + PADDING
    np.testing.assert_allclose(expected, in_picture, atol=1e-4)


@given(reach=st.floats(0, 1e6), seed=seeds)
def test_split_and_gather_equal_their_plain_versions_wherever_the_points_lie(reach, seed):
    warp = make_warp("affine", (6, 9))
    sampler = make_sampler(warp, warp.grid)
    rng = np.random.default_rng(seed)
    rows, columns = rng.normal(scale=reach, size=(2, warp.grid.n_pixels)).astype(np.float32)
    expected_cells, expected_fractions = reference.split(sampler, np.stack([rows, columns]))
    cells = np.empty(warp.grid.n_pixels, np.uint32)
    split(sampler, rows, columns, cells)
    np.testing.assert_array_equal(cells, expected_cells)
    np.testing.assert_allclose([rows, columns], expected_fractions, atol=1e-6)
    template = rng.normal(size=np.prod(reference.pad_sides((6, 9)))).astype(np.float32)
    corners = np.empty((4, warp.grid.n_pixels), np.float32)
    gather(template, sampler.width, cells, corners)
    np.testing.assert_array_equal(
        corners, reference.gather(template, sampler.width, expected_cells)
    )


@given(seed=seeds)
def test_blend_equals_its_plain_version(seed):
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(4, 50)).astype(np.float32)
    rows, columns = rng.random((2, 50)).astype(np.float32)
    out = np.empty(50, np.float32)
    blend(corners, rows, columns, out)
    np.testing.assert_allclose(out, reference.blend(corners, (rows, columns)), atol=1e-5)


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
    rows, columns = np.empty((2, measure.warp.grid.n_pixels), np.float32)
    locate(measure.sampler, delta, rows, columns)
    pixels = np.stack([rows, columns], axis=-1).reshape(*shape, 2).astype(float) - PADDING
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
