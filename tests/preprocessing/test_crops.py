"""What preprocessing says about how it has moved and scaled a picture, against the picture."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.frames import Crops
from dikmeans.preprocessing import (
    Background,
    Centering,
    Chain,
    LocalContrast,
    SizeNormalization,
    SubjectCentering,
    UnitNorm,
    choose_preprocessing,
)
from dikmeans.preprocessing.size_normalization import find_sizes


@pytest.fixture
def scattered(digits_by_class):
    """Digits somewhere in a larger dark frame, (n, 1, rows, columns)."""
    rng = np.random.default_rng(0)
    pictures = np.zeros((12, 1, 48, 52), np.float32)
    for picture, digit in zip(pictures, digits_by_class[3, :12], strict=True):
        top, left = rng.integers(0, 20), rng.integers(0, 24)
        picture[0, top : top + 28, left : left + 28] = digit
    return pictures


@pytest.fixture
def sized(digits_by_class):
    """Digits of 20 to 56 pixels, in the middle of a frame of 64 x 60, (n, 1, rows, columns)."""
    pictures = np.zeros((12, 1, 64, 60), np.float32)
    sides = np.linspace(20, 56, 12).astype(int)
    for picture, side, digit in zip(pictures, sides, digits_by_class[3, :12], strict=True):
        large = ndimage.zoom(digit, side / 28, order=1)
        top, left = (64 - len(large)) // 2, (60 - len(large)) // 2
        picture[0, top : top + len(large), left : left + len(large)] = large
    return pictures


def seen(pictures, crops, order):
    """The pictures read where the crops are."""
    middle = np.stack(np.mgrid[: pictures.shape[2], : pictures.shape[3]], axis=-1)
    points = crops.to_given(
        np.broadcast_to(middle.reshape(-1, 2), (len(pictures), middle.size // 2, 2))
    )
    return np.stack(
        [
            ndimage.map_coordinates(p[0], q.T, order=order, mode="nearest").reshape(p.shape[1:])
            for p, q in zip(pictures, points, strict=True)
        ]
    )


def unit_norm(pictures):
    return pictures / np.linalg.norm(pictures, axis=(1, 2), keepdims=True)


def test_centered_pictures_are_the_given_ones_seen_through_their_crops(scattered):
    step = Centering().learn(scattered)
    crops = step.crops(scattered)
    assert np.abs(crops.offset).max() >= 5
    np.testing.assert_array_equal(crops.scale, 1)
    expected = unit_norm(seen(scattered, crops, 0))
    np.testing.assert_allclose(step.apply(scattered)[:, 0], expected, atol=1e-5)


def test_size_normalized_pictures_are_the_given_ones_seen_through_their_crops(sized):
    step = SizeNormalization().learn(sized)
    crops = step.crops(sized)
    assert crops.scale.min() < 0.7
    assert crops.scale.max() > 1.05
    expected = unit_norm(seen(sized, crops, 1))
    found = step.apply(sized)[:, 0]
    enlarged = crops.scale <= 1
    np.testing.assert_allclose(found[enlarged], expected[enlarged], atol=1e-4)
    # what is reduced is smoothed before, but it is where it should be
    assert (np.einsum("nij,nij->n", found, expected) > 0.97).all()


def test_size_normalized_pictures_have_one_size_and_place(sized):
    noisy = sized + 0.1 * np.random.default_rng(0).random(sized.shape).astype(np.float32)
    _, before = find_sizes(noisy)
    assert np.log(before).std() > 0.25
    centers, sizes = find_sizes(SizeNormalization().learn(noisy).apply(noisy))
    assert np.log(sizes).std() < 0.02
    np.testing.assert_allclose(centers, np.tile([31.5, 29.5], (12, 1)), atol=0.5)


def test_a_bright_grain_of_dust_does_not_tell_the_size(sized):
    dusty = sized.copy()
    dusty[:, 0, 2, 3] = 3.0
    sizes = [find_sizes(pictures)[1][4:] for pictures in (dusty, sized)]  # of 30 pixels or more
    np.testing.assert_allclose(*sizes, rtol=0.2)


def test_empty_pictures_and_single_pixels_have_no_size():
    pictures = np.zeros((2, 1, 20, 20), np.float32)
    pictures[1, 0, 3, 4] = 1
    step = SizeNormalization().learn(pictures)
    crops = step.crops(pictures)
    np.testing.assert_array_equal(crops.scale, 1)
    np.testing.assert_array_equal(crops.offset, [[0, 0], [3 - 9.5, 4 - 9.5]])
    assert np.isfinite(step.apply(pictures)).all()


def test_only_pictures_of_unequal_size_are_scaled(sized, scattered):
    """By standard deviations of log size that were measured on digits, letters and hands."""
    unequal, why = choose_preprocessing(1 - sized)
    assert [step.name for step in unequal.steps] == [
        "background",
        "size-normalization",
        "local-contrast",
    ]
    assert "size" in why
    equal, _ = choose_preprocessing(scattered)
    assert [step.name for step in equal.steps] == ["centering", "local-contrast"]


def test_a_chain_composes_the_crops_of_its_steps(scattered, sized):
    light = 1 - scattered  # dark on light: only its distance from the ground can be centered
    chain = Chain((Background(), Centering(), LocalContrast())).learn(light)
    plain = Centering().learn(scattered)
    np.testing.assert_array_equal(chain.crops(light).offset, plain.crops(scattered).offset)
    twice = Chain((Centering(), SizeNormalization(), Centering())).learn(sized)
    expected = unit_norm(seen(sized, twice.crops(sized), 1))
    assert (np.einsum("nij,nij->n", twice.apply(sized)[:, 0], expected) > 0.97).all()


def test_subjects_are_in_the_middle_of_their_crops(scattered):
    noise = np.random.default_rng(1).uniform(0.2, 0.4, scattered.shape).astype(np.float32)
    pictures = noise + 0.6 * scattered
    step = SubjectCentering().learn(pictures)
    expected = seen(pictures, step.crops(pictures), 1)
    np.testing.assert_allclose(step.center(pictures)[:, 0], expected, atol=1e-4)


@pytest.mark.parametrize("step", [UnitNorm(), LocalContrast(), Chain((UnitNorm(),))])
def test_what_moves_nothing_says_so(scattered, step):
    fitted = step.learn(scattered)
    assert not fitted.moves
    for found, unchanged in zip(fitted.crops(scattered), Crops.unchanged(12), strict=True):
        np.testing.assert_array_equal(found, unchanged)
