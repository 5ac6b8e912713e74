"""What is done to pictures first, and when."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans
from dikmeans.normalise import NORMALISERS, choose_normaliser, even_out_strokes, reach, take_subject

QUICK = {"landmarks": 3, "random_state": 0, "max_iter": 2, "n_swaps": 0}


@pytest.fixture
def walls(real_digits):
    """Digits drawn on walls of different brightness, with the light from one side: (40, 28, 28)."""
    X, _ = real_digits
    light = np.linspace(0.5, 1.0, 28)
    return (0.4 * X[:40] / X.max() + 0.5 * light).astype(np.float32)


@pytest.fixture
def line_and_dot():
    """A line of 48 pixels with a dot of 4 above it: (1, 1, 32, 32)."""
    picture = np.zeros((1, 1, 32, 32))
    picture[..., 14:16, 4:28] = 1
    picture[..., 6:8, 15:17] = 1
    return picture


def test_subject_is_the_middle_less_its_local_mean_at_unit_norm(walls):
    found = take_subject(walls[:, None])[3, 0]
    detail = walls[3] - ndimage.gaussian_filter(walls[3], 2.8, mode="nearest")
    rows, columns = np.mgrid[:28, :28] - 13.5
    expected = detail * np.exp(-(rows**2 + columns**2) / 2 / (28 / 6) ** 2)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


def test_a_dot_counts_for_more_among_strokes_than_in_a_sum_of_squares(line_and_dot):
    plain, even = (NORMALISERS[how](line_and_dot) for how in ("unit", "strokes"))
    weight_plain, weight_even = ((pictures[..., :12, :] ** 2).sum() for pictures in (plain, even))
    assert weight_plain == pytest.approx(4 / 52)
    assert weight_even > 1.5 * weight_plain
    # nothing appears where nothing was, and nothing goes
    np.testing.assert_array_equal(even > 0, plain > 0)


def test_strokes_are_even_however_bright_they_are():
    picture = np.zeros((1, 1, 32, 32))
    picture[0, 0, 8, 4:28], picture[0, 0, 24, 4:28] = 1.0, 0.5
    even = even_out_strokes(picture)[0, 0]
    assert even[24, 16] / even[8, 16] > 0.9
    # but what is faint stays faint
    picture[0, 0, 24, 4:28] = 0.01
    even = even_out_strokes(picture)[0, 0]
    assert even[24, 16] / even[8, 16] < 0.1


@pytest.mark.parametrize("normalise", [even_out_strokes, take_subject])
def test_a_picture_is_treated_on_its_own(normalise, walls, monkeypatch):
    together = normalise(walls[:, None])
    np.testing.assert_array_equal(together[5:6], normalise(walls[5:6, None]))
    monkeypatch.setattr("dikmeans.normalise.AT_ONCE", 3 * walls[0].size)  # 40 pictures in 14 pieces
    np.testing.assert_array_equal(normalise(walls[:, None]), together)


@pytest.mark.parametrize("normalise", [even_out_strokes, take_subject])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_colours_black_pictures_and_brightness(normalise, dtype):
    pictures = np.random.default_rng(0).random((4, 3, 16, 20)).astype(dtype)
    pictures[2] = 0
    found = normalise(pictures)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[2], 0)
    np.testing.assert_allclose(np.linalg.norm(found.reshape(4, -1), axis=1), [1, 1, 0, 1], rtol=1e-5)
    np.testing.assert_allclose(normalise(200 * pictures), found, rtol=1e-4, atol=1e-6)


def test_reach_is_the_half_width_of_the_autocorrelation():
    bars = np.zeros((2, 1, 40, 40))
    bars[:, :, 10:30, 10:18] = 1  # 20 by 8: overlaps itself by half when moved by 10 or by 4
    assert reach(bars) == pytest.approx(np.sqrt(10 / 40 * 4 / 40))
    assert reach(np.ones((1, 1, 9, 9))) == pytest.approx(0.5)


def test_background_and_thickness_tell_which(walls, real_digits):
    X, _ = real_digits
    assert choose_normaliser(X[:40, None]) == "strokes"
    thick = ndimage.grey_dilation(X[:40], (1, 9, 9))
    assert choose_normaliser(thick[:, None]) == "unit"
    assert choose_normaliser(walls[:, None]) == "subject"
    assert choose_normaliser(-walls[:, None]) == "unit"  # not a picture's intensities
    assert choose_normaliser(walls[:, None, :1]) == "unit"  # a signal
    assert choose_normaliser(np.zeros((3, 1, 16, 16))) == "unit"  # black


def test_the_choice_is_logged(walls, real_digits, caplog):
    with caplog.at_level(logging.INFO, logger="dikmeans"):
        choose_normaliser(real_digits[0][:40, None])
        choose_normaliser(walls[:, None])
    strokes, subject = caplog.messages
    assert "'strokes'" in strokes
    assert "9 % of a side" in strokes
    assert "'subject'" in subject
    assert "background" in subject


def test_the_choice_is_stored_and_used_for_new_images(walls, tmp_path):
    model = DIKMeans(3, **QUICK).fit(walls)
    assert model.normalize_ == "subject"
    plain = DIKMeans(3, normalize="subject", **QUICK).fit(walls)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(walls[:1]), model.labels_[:1])
    # more light from the same side changes nothing that matters
    np.testing.assert_allclose(model.transform(walls + 0.2), model.transform(walls), rtol=0.05, atol=1e-3)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(DIKMeans.load(tmp_path / "model.safetensors").predict(walls), model.labels_)
