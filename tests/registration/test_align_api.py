"""`align` and `pairwise_cost`: shapes, fields that agree, and errors that name the culprit."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from dikmeans.images import scale_to_unit_norm
from dikmeans.registration import Adam, Alignment, Status, align, pairwise_cost
from dikmeans.registration.result import align_to_nearest
from tests import reference
from tests.helpers import build_measure

WARPS = ["none", "affine", "tps"]


@pytest.fixture(scope="module")
def digits(digits_by_class):
    return digits_by_class[:, 0]


@pytest.fixture(scope="module")
def unit(digits):
    """Digits of unit norm, (10, 28, 28)."""
    return scale_to_unit_norm(digits[:, None])[:, 0]


class TestPairwiseCost:
    @pytest.mark.parametrize("warp", WARPS)
    def test_there_is_a_cost_for_each_image_and_each_centroid(self, digits, warp):
        costs = pairwise_cost(digits[:4], digits[4:7], warp=warp)
        assert costs.shape == (4, 3)
        assert costs.dtype == np.float64
        assert np.all(costs >= 0)

    def test_without_a_warp_it_is_the_squared_euclidean_distance(self, digits):
        flat = digits.reshape(10, -1).astype(float)
        expected = euclidean_distances(flat[:4], flat[4:], squared=True)
        np.testing.assert_allclose(
            pairwise_cost(digits[:4], digits[4:], warp="none"), expected, rtol=1e-6
        )

    @pytest.mark.parametrize("warp", WARPS)
    def test_flat_rows_with_their_shape_cost_what_the_pictures_cost(self, digits, warp):
        pictures = digits[:, :, 3:-3]  # not square: a wrong order of the sides would show
        flat = pictures.reshape(10, -1)
        expected = pairwise_cost(pictures[:4], pictures[4:6], warp=warp)
        found = pairwise_cost(flat[:4], flat[4:6], warp=warp, image_shape=(28, 22))
        np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("warp", WARPS)
    def test_bytes_cost_what_the_same_floats_cost(self, digits, warp):
        as_bytes = np.round(255 * digits).astype(np.uint8)
        expected = pairwise_cost(as_bytes[:4].astype(float), as_bytes[4:6].astype(float), warp=warp)
        np.testing.assert_array_equal(
            pairwise_cost(as_bytes[:4], as_bytes[4:6], warp=warp), expected
        )

    @pytest.mark.parametrize("warp", WARPS)
    def test_lists_of_pictures_are_stacked(self, digits, warp):
        expected = pairwise_cost(digits[:2], digits[4:6], warp=warp)
        np.testing.assert_array_equal(
            pairwise_cost(list(digits[:2]), digits[4:6].tolist(), warp=warp), expected
        )

    # Two channels, because sums of two do not depend on the order and doubling is exact: there is
    # no rounding that could send a descent another way.

    @pytest.mark.parametrize("warp", WARPS)
    def test_two_equal_channels_cost_twice_as_much_as_one(self, digits, warp):
        doubled = np.repeat(digits[..., None], 2, axis=-1)
        gray = pairwise_cost(digits[:3], digits[4:6], warp=warp, solver="adam")
        found = pairwise_cost(doubled[:3], doubled[4:6], warp=warp, solver="adam")
        np.testing.assert_allclose(found, 2 * gray, rtol=1e-5)

    @pytest.mark.parametrize("warp", WARPS)
    def test_the_order_of_the_channels_does_not_matter(self, digits, warp):
        colored = np.stack([digits[:4], digits[4:8]], axis=-1)
        costs = [
            pairwise_cost(c[:2], c[2:], warp=warp, solver="adam")
            for c in (colored, colored[..., ::-1])
        ]
        np.testing.assert_allclose(costs[0], costs[1], rtol=1e-5)

    @pytest.mark.parametrize("warp", ["affine", "tps"])
    def test_all_channels_are_warped_by_one_warp(self, digits, warp):
        # If a channel could move alone, both would be aligned as well as they are alone.
        colored = np.stack([digits[:4], digits[4:8]], axis=-1)
        together = pairwise_cost(colored[:2], colored[2:], warp=warp)
        alone = sum(
            pairwise_cost(c[:2], c[2:], warp=warp) for c in (colored[..., 0], colored[..., 1])
        )
        assert np.all(together > 1.02 * alone)

    @pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
    def test_the_number_of_threads_does_not_show(self, digits, n_jobs):
        expected = pairwise_cost(digits, digits[:2], n_jobs=1)
        np.testing.assert_array_equal(pairwise_cost(digits, digits[:2], n_jobs=n_jobs), expected)

    def test_signals_are_aligned_along_their_length(self):
        time = np.linspace(0, 1, 80)
        bump, later = (np.exp(-(((time - t) / 0.05) ** 2)) for t in (0.4, 0.55))
        cost = pairwise_cost(bump[None], later[None])[0, 0]
        assert cost < 0.01 * ((bump - later) ** 2).sum()

    def test_all_black_and_constant_images_work(self, digits):
        odd = np.stack([np.zeros((28, 28)), np.ones((28, 28)), digits[3]])
        for warp in WARPS:
            costs = pairwise_cost(odd, odd, warp=warp)
            assert np.all(np.isfinite(costs))
            np.testing.assert_allclose(np.diag(costs), 0, atol=1e-4)

    def test_an_image_that_is_almost_black_costs_what_a_black_one_costs(self, digits):
        # What filters leave of an empty picture is not zero but 1e-20 or so.
        almost = np.stack([np.zeros((28, 28)), np.full((28, 28), 1e-22)])
        black, nearly = pairwise_cost(almost, digits[:3])
        np.testing.assert_allclose(nearly, black, rtol=1e-6)


class TestAlign:
    @pytest.mark.parametrize("border", ["zero", "edge"])
    def test_cost_is_squared_residual_plus_bending(self, measure, unit, border):
        for image, centroid in zip(unit[:5], unit[5:], strict=True):
            found = align(image, centroid, **measure, border=border)
            squares = (found.residual.astype(float) ** 2).sum()
            assert found.cost == pytest.approx(squares + found.bending_cost, rel=1e-4)
            assert found.bending_cost > 0

    def test_cost_is_squared_residual_plus_bending_whatever_the_scale(self, measure, digits):
        found = align(255 * digits[3], 255 * digits[8], **measure)
        squares = (found.residual.astype(float) ** 2).sum()
        assert found.cost == pytest.approx(squares + found.bending_cost, rel=1e-4)

    def test_cost_is_squared_residual_plus_bending_of_black_images_too(self, measure, digits):
        found = align(np.zeros((28, 28)), digits[8], **measure)
        squares = (found.residual.astype(float) ** 2).sum()
        assert found.cost == pytest.approx(squares + found.bending_cost, rel=1e-4)

    def test_fields_agree_with_each_other(self, measure, unit):
        found = align(unit[4], unit[9], **measure)
        assert isinstance(found, Alignment)
        image_warped = measure["direction"] == "image-to-centroid"
        np.testing.assert_array_equal(found.target, unit[9] if image_warped else unit[4])
        np.testing.assert_array_equal(found.residual, found.warped - found.target)
        assert found.grid.shape == (28, 28, 2)
        assert 0 <= found.folded <= 1
        assert found.status in (Status.CONVERGED, Status.BUDGET, Status.STALLED)
        assert found.label == 0
        np.testing.assert_array_equal(found.costs, [found.cost])
        assert found.cost == pairwise_cost(unit[4:5], unit[9:], **measure)[0, 0]

    def test_the_warped_picture_is_the_original_at_the_places_of_the_grid(self, measure, unit):
        found = align(unit[4], unit[9], **measure)
        original = unit[4] if measure["direction"] == "image-to-centroid" else unit[9]
        expected = reference.render(original, found.grid, "zero")
        np.testing.assert_allclose(found.warped, expected, atol=1e-5)

    def test_a_picture_aligned_with_itself_stays_as_it_is(self, measure, unit):
        found = align(unit[2], unit[2], **measure)
        assert found.cost == pytest.approx(0, abs=1e-6)
        assert found.folded == 0
        np.testing.assert_allclose(found.warped, unit[2], atol=2e-3)

    def test_without_a_warp_the_residual_is_the_difference(self, digits):
        found = align(digits[0], digits[1], warp="none", direction="image-to-centroid")
        np.testing.assert_allclose(found.residual, digits[0].astype(float) - digits[1])
        assert found.bending_cost == 0
        assert found.folded == 0
        assert found.parameters.shape == (0, 2)
        assert found.cost == pytest.approx((found.residual**2).sum())

    def test_channels_come_last_as_the_user_has_them(self, measure, digits):
        colored = np.moveaxis(digits[:6].reshape(2, 3, 28, 28), 1, -1)[:, :, :20]
        found = align(*colored, **measure)
        assert found.warped.shape == found.target.shape == found.residual.shape == (28, 20, 3)
        assert found.grid.shape == (28, 20, 2)

    def test_a_signal_may_be_one_dimensional(self, measure):
        time = np.linspace(0, 1, 80)
        bump, later = (np.exp(-(((time - t) / 0.1) ** 2)) for t in (0.4, 0.5))
        found = align(bump, later, **measure)
        assert found.warped.shape == (1, 80)
        assert found.cost < 0.3 * ((bump - later) ** 2).sum()
        np.testing.assert_array_equal(found.grid[..., 0], 0)

    def test_a_large_picture_works(self):
        rows, columns = np.mgrid[:300, :400] / 100.0
        blob, moved = (
            np.exp(-((rows - r) ** 2) - (columns - c) ** 2) for r, c in ((1.4, 1.8), (1.7, 2.2))
        )
        found = align(blob, moved)
        assert found.grid.shape == (300, 400, 2)
        assert found.cost < 0.02 * ((blob - moved) ** 2).sum()

    def test_a_warp_that_turns_the_picture_over_is_reported_as_folded(self, unit):
        measure = build_measure((28, 28), warp="affine")
        alignments = align_to_nearest(measure, unit[:2, None], unit[5:7, None], (28, 28))
        alignments.parameters[1] = [[0, 0], [1, 0], [0, -1]]
        assert alignments.folded.tolist() == [0, 1]

    def test_each_image_goes_to_its_cheapest_centroid(self, measure, unit):
        measure = build_measure((28, 28), **measure)
        alignments = align_to_nearest(measure, unit[:6, None], unit[[7, 2, 4], None], (28, 28))
        assert len(alignments) == len(list(alignments)) == 6
        np.testing.assert_array_equal(alignments.labels, alignments.costs.argmin(axis=1))
        assert alignments.labels[2] == 1
        assert alignments.labels[4] == 2
        np.testing.assert_array_equal(alignments.cost, alignments.costs.min(axis=1))
        squares = (alignments.residual.astype(float) ** 2).sum(axis=(1, 2))
        np.testing.assert_allclose(
            alignments.cost, squares + alignments.bending_cost, rtol=1e-4, atol=1e-6
        )
        one = alignments[3]
        assert one.label == alignments.labels[3]
        np.testing.assert_array_equal(one.warped, alignments.warped[3])
        np.testing.assert_array_equal(one.target, alignments.target[3])


class TestErrors:
    @pytest.mark.parametrize(
        ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
    )
    @pytest.mark.parametrize("warp", WARPS)
    def test_a_picture_that_is_not_finite_is_named(self, digits, value, word, warp):
        broken = digits[:5].copy()
        broken[3, 4, 5] = value
        with pytest.raises(ValueError, match=rf"X contains {word}: image 3 .*1 such .*among 5"):
            pairwise_cost(broken, digits[:2], warp=warp)
        with pytest.raises(ValueError, match=rf"centroids contains {word}: image 3 "):
            pairwise_cost(digits[:2], broken, warp=warp)
        with pytest.raises(ValueError, match=word):
            align(broken[3], digits[0], warp=warp)

    def test_different_sizes_are_named(self, digits):
        with pytest.raises(ValueError, match=r"image 0 is \(28, 28\), image 1 is \(28, 20\)"):
            pairwise_cost([digits[0], digits[1][:, :20]], digits[:2])
        with pytest.raises(ValueError, match=r"\(28, 28\).*\(28, 20\)"):
            pairwise_cost(digits[:2], digits[:2, :, :20])
        with pytest.raises(ValueError, match=r"\(28, 28\).*\(20, 28\)"):
            align(digits[0], digits[1][:20])

    @pytest.mark.parametrize(
        "shape", [(28, 27), (784,), (28, 28, 1, 1), (0, 784), (28.5, 28), "28x28", 28]
    )
    def test_a_shape_that_does_not_fit_is_named(self, digits, shape):
        with pytest.raises(ValueError, match="image_shape="):
            pairwise_cost(digits.reshape(10, 784), digits.reshape(10, 784), image_shape=shape)

    @pytest.mark.parametrize("landmarks", [0, 1, 13, 3.5, (2,), (2, 29), "many", [[2, 2]], None])
    def test_landmarks_that_do_not_fit_are_named(self, digits, landmarks):
        with pytest.raises(ValueError, match="landmarks="):
            pairwise_cost(digits[:1], digits[:1], landmarks=landmarks)

    def test_more_landmarks_than_pixels_are_refused(self, digits):
        with pytest.raises(
            ValueError, match=r"landmarks=8: expected rows from 2 to 6 on .* 6 x 28 pixels"
        ):
            align(digits[0][:6], digits[1][:6], landmarks=8)

    @pytest.mark.parametrize("smoothness", [-0.1, np.nan, np.inf, 1j, "high", None, [0.1]])
    def test_a_smoothness_that_is_no_number_from_zero_up_is_named(self, digits, smoothness):
        with pytest.raises(ValueError, match="smoothness="):
            align(digits[0], digits[1], smoothness=smoothness)

    @pytest.mark.parametrize("name", ["direction", "border", "solver", "warp"])
    @pytest.mark.parametrize("value", ["sideways", "", None, 3, ["zero"]])
    def test_an_unknown_choice_is_named_together_with_what_there_is(self, digits, name, value):
        known = {
            "direction": "image-to-centroid",
            "border": "zero",
            "solver": "adam",
            "warp": "tps",
        }[name]
        with pytest.raises(ValueError, match=f"{name}=.*{known}"):
            align(digits[0], digits[1], **{name: value})

    def test_a_solver_is_checked_even_where_none_is_needed(self, digits):
        with pytest.raises(ValueError, match="solver="):
            align(digits[0], digits[1], warp="none", solver="newton")

    @pytest.mark.parametrize("smoothness", [0, 1, np.float32(0.5), np.int64(2)])
    def test_numbers_of_all_kinds_are_a_smoothness(self, smoothness):
        assert build_measure((28, 28), smoothness=smoothness).smoothness == float(smoothness)

    def test_a_solver_with_its_own_parameters_is_accepted(self, digits):
        hasty = align(digits[0], digits[1], solver=Adam(steps=1))
        patient = align(digits[0], digits[1], solver=Adam(steps=100))
        assert patient.cost < hasty.cost
