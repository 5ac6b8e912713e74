"""The inverse of a warp, and images carried into the frame of their centroid by it."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from dikmeans.images import scale_to_unit_norm
from dikmeans.registration import align, make_warp
from dikmeans.registration.inverse import inverse_grid
from dikmeans.registration.result import align_to_nearest
from tests import reference
from tests.helpers import build_measure, quick

SHAPES = [(28, 28), (24, 40), (40, 24), (1, 60), (3, 40)]


def smooth_warps(warp, n, reach, seed=0):
    noise = np.random.default_rng(seed).uniform(-reach, reach, size=(n, warp.n_basis, 2))
    return warp.identity + noise


def frame_points(grid, pixels):
    """Pixel indices as frame points, along live axes."""
    scale, offset = np.array(grid.scale), np.array(grid.offset)
    return np.where(scale > 0, (pixels - offset) / np.where(scale > 0, scale, 1), 0.0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["none", "affine", "tps"])
def test_the_expansion_is_the_warp(name, shape):
    warp = make_warp(name, shape)
    parameters = smooth_warps(warp, 3, 0.1)
    centers, radial, affine = warp.expansion(parameters)
    points = warp.grid.points()
    squared = ((points[:, None] - centers) ** 2).sum(axis=-1)
    u = squared * np.log(np.where(squared > 0, squared, 1))
    polynomial = np.column_stack([np.ones(len(points)), points])
    found = (u @ radial + polynomial @ affine).reshape(3, *shape, 2)
    expected = warp.grid.to_pixels(warp.coordinates(parameters))
    np.testing.assert_allclose(warp.grid.to_pixels(found), expected, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_warp_after_its_inverse_leaves_every_pixel_where_it_was(shape):
    warp = make_warp("tps", shape)
    parameters = smooth_warps(warp, 4, 0.08)
    assert (warp.jacobian_determinant(parameters) > 0).all()
    there = inverse_grid(warp, parameters)
    live = list(warp.grid.live_axes)
    for nu, pixels in zip(parameters, there, strict=True):
        # scipy's spline through the same landmarks is the oracle of what the warp does at any point
        points = frame_points(warp.grid, pixels).reshape(-1, 2)
        spline = RBFInterpolator(
            warp.identity[:, live], nu[:, live], kernel="thin_plate_spline", degree=1
        )
        back = (
            spline(points[:, live]) * np.array(warp.grid.scale)[live]
            + np.array(warp.grid.offset)[live]
        )
        np.testing.assert_allclose(back, warp.grid.indices()[:, live], atol=1e-3)


def test_the_inverse_of_an_affine_map_is_exact():
    warp = make_warp("affine", (20, 30))
    matrix, shift = np.array([[0.8, 0.3], [-0.2, 1.1]]), np.array([0.1, -0.2])
    found = inverse_grid(warp, np.vstack([shift, matrix])[None])[0]
    expected = (warp.grid.points() - shift) @ np.linalg.inv(matrix)
    expected = warp.grid.to_pixels(expected.reshape(20, 30, 2))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_without_a_warp_every_pixel_is_its_own_place():
    warp = make_warp("none", (5, 7))
    found = inverse_grid(warp, np.zeros((2, 0, 2)))
    np.testing.assert_allclose(
        found, np.broadcast_to(warp.grid.indices().reshape(5, 7, 2), found.shape)
    )


def test_where_a_warp_folds_the_result_is_still_finite_and_close_where_something_is_there():
    warp = make_warp("tps", (28, 28))
    parameters = smooth_warps(warp, 6, 0.45, seed=3)
    assert (warp.jacobian_determinant(parameters) <= 0).any()
    there = inverse_grid(warp, parameters)
    assert np.isfinite(there).all()
    for nu, pixels in zip(parameters, there, strict=True):
        spline = RBFInterpolator(warp.identity, nu, kernel="thin_plate_spline", degree=1)
        points = warp.grid.points()
        misses = np.linalg.norm(
            spline(frame_points(warp.grid, pixels).reshape(-1, 2)) - points, axis=1
        )
        # never further off than the best pixel of the picture itself
        on_pixels = spline(points)
        best = np.linalg.norm(on_pixels[:, None] - points[None], axis=-1).min(axis=0)
        assert np.mean(misses <= best + 1e-6) > 0.97


@pytest.fixture(scope="module")
def pairs(digits_by_class):
    """Two different digits of each class, the one as image, the other as centroid, of unit norm."""
    unit = scale_to_unit_norm(digits_by_class[:, :2].reshape(-1, 1, 28, 28)).reshape(10, 2, 28, 28)
    return unit[:, 0], unit[:, 1]


def test_an_aligned_image_is_the_image_at_the_places_of_the_inverse(pairs):
    found = align(pairs[0][3], pairs[1][3])
    expected = reference.render(pairs[0][3], found.aligned_grid, "zero")
    np.testing.assert_allclose(found.aligned, expected, atol=1e-5)


def test_an_aligned_image_looks_more_like_its_centroid_than_before(pairs):
    before = [((x - mu) ** 2).sum() for x, mu in zip(*pairs, strict=True)]
    after = [((align(x, mu).aligned - mu) ** 2).sum() for x, mu in zip(*pairs, strict=True)]
    assert np.median(np.array(after) / before) < 0.5


def test_if_the_image_is_the_one_that_is_warped_it_is_aligned_by_that(pairs):
    found = align(pairs[0][5], pairs[1][5], direction="image-to-centroid")
    np.testing.assert_array_equal(found.aligned, found.warped)
    np.testing.assert_array_equal(found.aligned_grid, found.grid)


@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
def test_color_pictures_and_signals_are_aligned_too(warp, digits_by_class):
    colored = np.moveaxis(digits_by_class[:2, :3], 1, -1)
    assert align(*colored, warp=warp).aligned.shape == (28, 28, 3)
    assert align(*digits_by_class[0, :2, 14], warp=warp).aligned.shape == (1, 28)


@pytest.fixture(scope="module")
def alignments(pairs):
    """Ten digits, with the first four of the centroids."""
    return align_to_nearest(
        build_measure((28, 28)), pairs[0][:, None], pairs[1][:4, None], (28, 28)
    )


class TestOnto:
    def test_a_pair_asked_for_is_the_pair_aligned_alone(self, pairs, alignments):
        asked = np.array([3, 2, 1, 0, 0, 1, 2, 3, 3, 3])
        found = alignments.onto(asked)
        np.testing.assert_array_equal(found.labels, asked)
        for i in (0, 4, 7):
            alone = align(pairs[0][i], pairs[1][asked[i]])
            assert found[i].cost == pytest.approx(alone.cost, rel=1e-6)
            np.testing.assert_array_equal(found[i].warped, alone.warped)
            np.testing.assert_array_equal(found[i].aligned, alone.aligned)

    def test_asking_for_the_cheapest_changes_nothing(self, alignments):
        found = alignments.onto(alignments.labels)
        np.testing.assert_allclose(found.costs, alignments.costs)
        np.testing.assert_allclose(found.parameters, alignments.parameters)

    @pytest.mark.parametrize("labels", [[0, 1], np.zeros(10), [4] * 10, [-1] * 10, "ab"])
    def test_labels_that_name_no_centroid_are_refused(self, alignments, labels):
        with pytest.raises(ValueError, match="labels must"):
            alignments.onto(labels)

    def test_an_estimator_aligns_with_the_clusters_it_is_told(self, digits_by_class):
        X = digits_by_class[:2, :10].reshape(-1, 28, 28)
        model = quick(n_clusters=2, max_iter=100, search__n_swaps=0).fit(X)
        other = 1 - model.labels_
        found = model.align(X, labels=other)
        np.testing.assert_array_equal(found.labels, other)
        assert np.all(found.cost > model.align(X).cost)
