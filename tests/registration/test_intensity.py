"""Light and contrast solved for: costs do not depend on them, gains are those of the formula."""

import numpy as np
import pytest

from dikmeans.registration import align, pairwise_cost
from dikmeans.registration.intensity import GAIN_WEIGHT, AffineIntensity, Tone
from tests import reference
from tests.helpers import build_measure

DIRECTIONS = ["image-to-centroid", "centroid-to-image"]
AFFINE = AffineIntensity()
UNMATCHED = 1 + GAIN_WEIGHT


@pytest.fixture(scope="module")
def digits(real_digits):
    """Twelve digits of whole numbers from 0 to 255: whole gains and offsets lose nothing."""
    return np.rint(255 * real_digits[0][:12]).astype(np.float32)


@pytest.fixture(scope="module")
def coloured(digits):
    """The same digits, each with two others in the further channels: (12, 28, 28, 3)."""
    return np.stack([digits, np.roll(digits, 1, 0), 255 - np.roll(digits, 2, 0)], axis=-1)


def relit(pictures, seed=0):
    """Every picture, and every channel, with a gain and an offset of its own."""
    rng = np.random.default_rng(seed)
    shape = (len(pictures), 1, 1, *pictures.shape[3:])
    return rng.integers(1, 8, shape) * pictures + rng.integers(-500, 500, shape)


@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("border", ["zero", "edge"])
class TestInvariance:
    def costs(self, images, centroids, **measure):
        return pairwise_cost(images, centroids, intensity="affine", n_jobs=1, **measure)

    def test_costs_do_not_depend_on_light_and_contrast_of_either_picture(
        self, digits, warp, direction, border
    ):
        words = {"warp": warp, "direction": direction, "border": border}
        images, centroids = digits[:8], digits[8:]
        expected = self.costs(images, centroids, **words)
        found = self.costs(relit(images), relit(centroids, seed=1), **words)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_nor_on_those_of_single_channels(self, coloured, warp, direction, border):
        words = {"warp": warp, "direction": direction, "border": border}
        images, centroids = coloured[:5], coloured[8:]
        expected = self.costs(images, centroids, **words)
        found = self.costs(relit(images), relit(centroids, seed=1), **words)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_a_fixed_intensity_sees_them(self, digits, warp, direction, border):
        words = {"warp": warp, "direction": direction, "border": border}
        dark = pairwise_cost(digits[:3] / 2, digits[8:], n_jobs=1, **words)
        light = pairwise_cost(digits[:3], digits[8:], n_jobs=1, **words)
        assert np.abs(4 * dark / light - 1).max() > 0.1


@pytest.mark.parametrize("warp", ["none", "tps"])
@pytest.mark.parametrize("direction", DIRECTIONS)
class TestCosts:
    def words(self, warp, direction):
        return {"warp": warp, "direction": direction, "intensity": "affine"}

    def test_a_picture_in_another_light_costs_nothing(self, coloured, warp, direction):
        for picture, other in zip(coloured[:3], relit(coloured[:3]), strict=True):
            assert align(other, picture, **self.words(warp, direction)).cost < 1e-6

    def test_a_negative_costs_as_much_as_something_unrelated(self, digits, warp, direction):
        stiff = {**self.words(warp, direction), "smoothness": 1e6}
        cost = align(255 - digits[0], digits[0], **stiff).cost
        assert cost == pytest.approx(UNMATCHED, rel=1e-4)

    def test_only_a_blank_picture_is_like_a_blank_one(self, digits, warp, direction):
        blank, words = np.full((28, 28), 40.0), self.words(warp, direction)
        assert align(blank, blank + 5, **words).cost == 0
        for pair in ((digits[0], blank), (blank, digits[0])):
            assert align(*pair, **words).cost == pytest.approx(UNMATCHED, rel=1e-5)

    def test_costs_are_those_of_the_pictures_shown(self, coloured, warp, direction):
        # From the definition: least squares finds gain and offset of every channel.
        found = align(coloured[0], coloured[3], **self.words(warp, direction))
        pair = coloured[0], coloured[3]
        warps_image = direction == "image-to-centroid"
        template, target = pair if warps_image else pair[::-1]
        plain = (found.warped - found.offset) / found.gain
        cost = 0.0
        for channel in range(3):
            gain, offset, squares = reference.matched(
                plain[..., channel], template[..., channel], target[..., channel]
            )
            assert found.gain[channel] == pytest.approx(gain, rel=1e-4)
            assert found.offset[channel] == pytest.approx(offset, rel=1e-3, abs=0.1)
            cost += squares / 3 / target[..., channel].var() / 28**2
        assert found.cost - found.bending_cost == pytest.approx(cost, rel=1e-4)
        np.testing.assert_allclose(found.residual, found.warped - found.target, atol=1e-3)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_a_warp_the_cost_is_a_function_of_the_correlation(digits, direction):
    costs = pairwise_cost(
        digits[:8], digits[8:], warp="none", direction=direction, intensity="affine"
    )
    rho = np.corrcoef(digits.reshape(12, -1))[:8, 8:]
    expected = (1 - rho) * (1 + rho + 2 * GAIN_WEIGHT) / (1 + GAIN_WEIGHT)
    negative = rho < -GAIN_WEIGHT
    np.testing.assert_allclose(costs, np.where(negative, UNMATCHED, expected), rtol=1e-6)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_light_of_an_image_is_found(digits, direction):
    found = align(3 * digits[0] + 20, digits[0], intensity="affine", direction=direction)
    expected = (1 / 3, -20 / 3) if direction == "image-to-centroid" else (3, 20)
    assert (found.gain[0], found.offset[0]) == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(found.warped, found.target, atol=0.5)


def test_with_a_fixed_intensity_gains_are_one_and_offsets_zero(coloured):
    found = align(coloured[0], coloured[1])
    np.testing.assert_array_equal(found.gain, 1)
    np.testing.assert_array_equal(found.offset, 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_aligned_image_keeps_its_own_light(digits, direction):
    found = align(3 * digits[0] + 20, digits[1], intensity="affine", direction=direction)
    assert found.aligned.min() >= 20 - 1e-3
    assert found.aligned.max() > 255


def test_what_is_left_of_a_template_is_not_blown_up(digits):
    # All but a fringe of the digit is moved out of the frame, and the target is just this fringe.
    measure = build_measure((28, 28), warp="affine", intensity="affine")
    basis = measure.warp.basis(measure.warp.grid.points())
    deltas = np.zeros((1, 2, 3), np.float32)
    deltas[0, 1] = np.linalg.lstsq(basis, np.full(28**2, 1.3))[0]
    template = digits[:1, None]
    fringe = measure.render(template, np.zeros(1, int), deltas)
    ratio = Tone.of(fringe).contrasts / Tone.of(template).contrasts
    assert 2.5 * ratio < 1  # the gain that would fit it exactly, beside that of equal contrasts
    assert AFFINE.match(fringe, template, fringe).gains < 2 * ratio


def test_standardized_pictures_have_no_mean_and_equal_channels(coloured):
    pictures = np.moveaxis(coloured, -1, 1)
    found = AFFINE.prepare(pictures)
    np.testing.assert_allclose(found, reference.standardized(pictures), atol=1e-6)
    np.testing.assert_allclose(AFFINE.prepare(found), found, atol=1e-6)


def test_a_faint_channel_does_not_count(coloured):
    pictures = np.moveaxis(coloured, -1, 1).copy()
    noise = np.random.default_rng(0).normal(size=pictures[:, 1].shape)
    pictures[:, 1] = 100 + 0.1 * noise
    pictures[:, 2] = 7
    found = AFFINE.prepare(pictures)
    assert not found[:, 1:].any()
    np.testing.assert_allclose((found[:, 0] ** 2).sum(axis=(1, 2)), 1, rtol=1e-5)


def test_pictures_are_given_a_tone(coloured):
    pictures = np.moveaxis(coloured, -1, 1)
    tone = Tone(np.full((12, 3), 5.0), np.full((12, 3), 2.0))
    for wanted, found in zip(tone, Tone.of(tone.give(pictures)), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_an_unknown_intensity_is_refused(digits):
    with pytest.raises(ValueError, match="intensity='bright': expected fixed, affine"):
        pairwise_cost(digits, digits, intensity="bright")
