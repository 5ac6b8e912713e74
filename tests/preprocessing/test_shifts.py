"""What preprocessing says about how far it has moved a picture, against the picture itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.preprocessing import (
    Background,
    Centering,
    Chain,
    LocalContrast,
    SubjectCentering,
    UnitNorm,
)


@pytest.fixture
def scattered(digits_by_class):
    """Digits somewhere in a larger dark frame, (n, 1, rows, columns)."""
    rng = np.random.default_rng(0)
    pictures = np.zeros((12, 1, 48, 52), np.float32)
    for picture, digit in zip(pictures, digits_by_class[3, :12], strict=True):
        top, left = rng.integers(0, 20), rng.integers(0, 24)
        picture[0, top : top + 28, left : left + 28] = digit
    return pictures


def moved(pictures, shifts, order):
    return np.stack(
        [
            ndimage.shift(p[0], -s, order=order, mode="nearest")
            for p, s in zip(pictures, shifts, strict=True)
        ]
    )


def test_centered_pictures_are_the_given_ones_moved_by_their_shifts(scattered):
    step = Centering().learn(scattered)
    shifts = step.shifts(scattered)
    assert np.abs(shifts).max() >= 5
    expected = moved(scattered, shifts, 0)
    norms = np.linalg.norm(expected.reshape(12, -1), axis=1)
    np.testing.assert_allclose(
        step.apply(scattered)[:, 0], expected / norms[:, None, None], atol=1e-5
    )


def test_a_chain_adds_up_the_shifts_of_its_steps(scattered):
    light = 1 - scattered  # dark on light: only its distance from the ground can be centered
    chain = Chain((Background(), Centering(), LocalContrast())).learn(light)
    plain = Centering().learn(scattered)
    np.testing.assert_array_equal(chain.shifts(light), plain.shifts(scattered))
    twice = Chain((Centering(), Centering())).learn(scattered)
    np.testing.assert_array_equal(twice.shifts(scattered), plain.shifts(scattered))


def test_subjects_are_moved_to_the_middle_by_their_shifts(scattered):
    noise = np.random.default_rng(1).uniform(0.2, 0.4, scattered.shape).astype(np.float32)
    pictures = noise + 0.6 * scattered
    step = SubjectCentering().learn(pictures)
    shifts = step.shifts(pictures)
    np.testing.assert_allclose(step.center(pictures)[:, 0], moved(pictures, shifts, 1), atol=1e-4)


@pytest.mark.parametrize("step", [UnitNorm(), LocalContrast(), Chain((UnitNorm(),))])
def test_what_moves_nothing_says_so(scattered, step):
    fitted = step.learn(scattered)
    assert not fitted.moves
    np.testing.assert_array_equal(fitted.shifts(scattered), np.zeros((12, 2)))
