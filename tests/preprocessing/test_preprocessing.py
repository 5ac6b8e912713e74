"""What is done to pictures first, and when."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans
from dikmeans.preprocessing import NORMALISERS, EvenScales, EvenStrokes, Subject, choose_normaliser
from dikmeans.preprocessing.auto import reach
from dikmeans.preprocessing.whitening import fall_of_amplitude
from dikmeans.preprocessing.template import Template

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


@pytest.fixture
def wandering():
    """A face of three spots around the middle of a wall, in the light of one side: (30, 1, 40, 40)."""
    rng = np.random.default_rng(0)
    places = rng.integers(-3, 4, (30, 2))
    rows, columns = np.mgrid[:40, :40] - 19.5
    pictures = []
    for down, right in places:
        spots = [(-4, -4, 1.5), (-4, 4, 1.5), (4, 0, 2.5)]
        face = sum(
            np.exp(-((rows - down - a) ** 2 + (columns - right - b) ** 2) / 2 / s**2)
            for a, b, s in spots
        )
        pictures.append(0.6 + 0.004 * columns + 0.2 * face + 0.01 * rng.standard_normal((40, 40)))
    return np.array(pictures, np.float32)[:, None], places


def power(pictures):
    """Mean amplitude of the coarse and of the fine half of the spectrum of pictures (n, 1, rows, columns)."""
    waves = np.abs(np.fft.fft2(pictures[:, 0])).mean(axis=0)
    radius = np.hypot(*np.meshgrid(*[np.fft.fftfreq(n) for n in waves.shape], indexing="ij"))
    return waves[(radius > 0) & (radius < 0.1)].mean(), waves[radius > 0.3].mean()


def test_scales_are_filtered_by_a_power_of_the_frequency():
    rows = np.arange(64)
    # a wave of 4 and one of 16 pixels in the middle of a large empty picture, where no edge disturbs
    window = np.exp(-((rows - 31.5) ** 2) / 2 / 8**2)
    waves = [np.outer(np.sin(2 * np.pi * rows / length) * window, window) for length in (4, 16)]
    fine, coarse = (EvenScales(0.5)(wave[None, None]) for wave in waves)
    both = EvenScales(0.5)((waves[0] + waves[1])[None, None])
    # four times the frequency has twice the gain, where the exponent is a half
    shares = [float((both * part).sum()) for part in (fine, coarse)]
    assert shares[0] / shares[1] == pytest.approx(2.0, rel=0.05)
    # an exponent of zero changes nothing
    same = EvenScales(0.0)(waves[0][None, None])[0, 0]
    np.testing.assert_allclose(same, waves[0] / np.linalg.norm(waves[0]), atol=1e-12)


def test_the_exponent_follows_the_fall_of_the_amplitude(real_digits):
    noise = np.random.default_rng(0).standard_normal((40, 1, 48, 48))
    frequency = np.hypot(np.fft.fftfreq(48)[:, None], np.fft.fftfreq(48)[None])
    frequency[0, 0] = np.inf
    for fall in (0.5, 1.0, 1.5):
        coloured = np.fft.ifft2(np.fft.fft2(noise) * frequency**-fall).real
        assert fall_of_amplitude(coloured) == pytest.approx(fall, abs=0.15)
        assert EvenScales.learn(coloured).exponent == pytest.approx(0.45 * fall, abs=0.07)
    # noise of even scales is left alone, and nothing makes anything coarser than it is
    assert EvenScales.learn(noise).exponent < 0.02
    assert EvenScales.learn(np.diff(noise, axis=2)).exponent == 0
    # the fine parts of pictures gain on the coarse ones
    thick = ndimage.grey_dilation(real_digits[0][:40], (1, 9, 9))[:, None]
    before, after = power(thick), power(EvenScales.learn(thick)(thick))
    assert after[1] / after[0] > 1.5 * before[1] / before[0]


def test_a_subject_is_found_wherever_it_is(wandering):
    pictures, places = wandering
    subject = Subject.learn(pictures)
    shifts = subject.template.shifts(pictures)
    # where the middle of all is, nobody says; now and then a picture ends in another local minimum
    errors = (shifts - np.median(shifts, axis=0)) - (places - np.median(places, axis=0))
    assert (np.abs(errors).max(axis=1) < 1).mean() > 0.9
    moved = subject.bring_to_the_middle(pictures)
    assert (
        moved[:, 0, 8:32, 8:32].std(axis=0).mean()
        < 0.6 * pictures[:, 0, 8:32, 8:32].std(axis=0).mean()
    )


def test_a_subject_is_sharpened_and_fades_around_the_middle(walls):
    nothing = Template(np.zeros((1, 28, 28), np.float32))  # that fits everywhere
    np.testing.assert_array_equal(nothing.shifts(walls[:, None]), 0)
    subject = Subject(0.6, nothing)
    found = subject(walls[:, None])[3, 0]
    mirrored = np.pad(walls[3] - walls[3].mean(), 14, mode="symmetric")
    frequency = np.hypot(np.fft.fftfreq(56)[:, None], np.fft.fftfreq(56)[None])
    sharp = np.fft.ifft2(np.fft.fft2(mirrored) * frequency**subject.exponent).real[14:42, 14:42]
    rows, columns = np.mgrid[:28, :28] - 13.5
    expected = sharp * np.exp(-(rows**2 + columns**2) / 2 / (28 / 6) ** 2)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-4)


def test_a_dot_counts_for_more_among_strokes_than_in_a_sum_of_squares(line_and_dot):
    plain, even = (
        NORMALISERS[how].learn(line_and_dot)(line_and_dot) for how in ("unit", "strokes")
    )
    weight_plain, weight_even = ((pictures[..., :12, :] ** 2).sum() for pictures in (plain, even))
    assert weight_plain == pytest.approx(4 / 52)
    assert weight_even > 1.5 * weight_plain
    # nothing appears where nothing was, and nothing goes
    np.testing.assert_array_equal(even > 0, plain > 0)


def test_strokes_are_even_however_bright_they_are():
    picture = np.zeros((1, 1, 32, 32))
    picture[0, 0, 8, 4:28], picture[0, 0, 24, 4:28] = 1.0, 0.5
    even = EvenStrokes()(picture)[0, 0]
    assert even[24, 16] / even[8, 16] > 0.9
    # but what is faint stays faint
    picture[0, 0, 24, 4:28] = 0.01
    even = EvenStrokes()(picture)[0, 0]
    assert even[24, 16] / even[8, 16] < 0.1


@pytest.mark.parametrize("kind", [EvenStrokes, EvenScales, Subject])
def test_a_picture_is_treated_on_its_own(kind, walls, monkeypatch):
    normalise = kind.learn(walls[:, None])
    together = normalise(walls[:, None])
    np.testing.assert_array_equal(together[5:6], normalise(walls[5:6, None]))
    monkeypatch.setattr(kind, "at_once", 3 * walls[0].size)  # 40 pictures in 14 pieces
    np.testing.assert_array_equal(normalise(walls[:, None]), together)


@pytest.mark.parametrize("kind", [EvenStrokes, EvenScales, Subject])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_colours_black_pictures_and_brightness(kind, dtype):
    pictures = np.random.default_rng(0).random((4, 3, 16, 20)).astype(dtype)
    pictures[2] = 0
    normalise = kind.learn(pictures)
    found = normalise(pictures)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[2], 0)
    np.testing.assert_allclose(
        np.linalg.norm(found.reshape(4, -1), axis=1), [1, 1, 0, 1], rtol=1e-5
    )
    np.testing.assert_allclose(normalise(200 * pictures), found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("grey", [0.3, 1.0, 200.0])
def test_a_blank_wall_shows_nothing(grey, walls):
    subject = Subject.learn(walls[:, None])
    np.testing.assert_array_equal(subject(np.full((2, 1, 28, 28), grey, np.float32)), 0)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 30), (1, 5, 5), (1, 8, 33)])
@pytest.mark.parametrize("name", NORMALISERS)
def test_whatever_the_shape(name, shape):
    pictures = np.random.default_rng(0).random((6, *shape)).astype(np.float32)
    found = NORMALISERS[name].learn(pictures)(pictures)
    assert found.shape == pictures.shape
    assert np.isfinite(found).all()


def test_reach_is_the_half_width_of_the_autocorrelation():
    bars = np.zeros((2, 1, 40, 40))
    bars[:, :, 10:30, 10:18] = 1  # 20 by 8: overlaps itself by half when moved by 10 or by 4
    assert reach(bars) == pytest.approx(np.sqrt(10 / 40 * 4 / 40))
    assert reach(np.ones((1, 1, 9, 9))) == pytest.approx(0.5)


def test_background_and_thickness_tell_which(walls, real_digits):
    X, _ = real_digits
    assert choose_normaliser(X[:40, None]) == "strokes"
    thick = ndimage.grey_dilation(X[:40], (1, 9, 9))
    assert choose_normaliser(thick[:, None]) == "scales"
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
    # more light changes nothing that matters, but for a pair that ends in another local minimum
    in_light, before = model.transform(walls + 0.2), model.transform(walls)
    assert np.isclose(in_light, before, rtol=0.05, atol=1e-3).mean() > 0.95
    np.testing.assert_array_equal(in_light.argmin(axis=1), model.labels_)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        DIKMeans.load(tmp_path / "model.safetensors").predict(walls), model.labels_
    )


@pytest.mark.parametrize("name", NORMALISERS)
def test_what_was_learned_is_kept_with_the_model(name, walls, tmp_path):
    model = DIKMeans(3, normalize=name, **QUICK).fit(walls)
    model.save(tmp_path / "model.safetensors")
    read = DIKMeans.load(tmp_path / "model.safetensors").preprocessing_
    assert type(read) is NORMALISERS[name]
    assert read.learned.keys() == model.preprocessing_.learned.keys()
    np.testing.assert_array_equal(read(walls[:, None]), model.preprocessing_(walls[:, None]))


TEMPLATE = np.zeros((1, 8, 8), np.float32)
LEARNED = {"exponent": 0.5, "template": TEMPLATE}


@pytest.mark.parametrize(
    ("name", "learned", "complaint"),
    [
        ("unit", {"exponent": 0.5}, "unknown or missing .* exponent"),
        ("scales", {}, "unknown or missing .* exponent"),
        ("scales", {"exponent": 1}, "exponent"),
        ("scales", {"exponent": float("nan")}, "exponent"),
        ("scales", {"exponent": 7.0}, "exponent"),
        ("subject", {"exponent": 0.5}, "unknown or missing .* template"),
        ("subject", {"exponent": 0.5, "template": TEMPLATE[:, :5]}, "template"),
        ("subject", {"exponent": 0.5, "template": TEMPLATE.astype(np.float64)}, "template"),
        ("subject", {"exponent": 0.5, "template": TEMPLATE + np.inf}, "template"),
        ("subject", LEARNED | {"template_stiffness": -np.eye(6)[None]}, "positive definite"),
        ("subject", LEARNED | {"template_stiffness": np.eye(4)[None]}, "positive definite"),
        (
            "subject",
            LEARNED | {"template_stiffness": np.triu(np.ones((6, 6)))[None]},
            "positive definite",
        ),
        ("subject", LEARNED | {"template_stiffness": 1e300 * np.eye(6)[None]}, "positive definite"),
        ("subject", LEARNED | {"template": TEMPLATE + 1e38}, "template"),
    ],
)
def test_what_no_normaliser_has_learned_is_refused(name, learned, complaint):
    with pytest.raises(ValueError, match=complaint):
        NORMALISERS[name].restore(learned, (1, 8, 8))


@pytest.mark.parametrize("name", ["scales", "subject"])
def test_a_refused_refit_leaves_the_model_as_it_was(name, walls):
    model = DIKMeans(3, normalize=name, **QUICK).fit(walls)
    before = model.transform(walls)
    others = np.random.default_rng(0).random((30, 20, 20)).astype(np.float32)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(others, sample_weight=np.ones(3))
    np.testing.assert_array_equal(model.transform(walls), before)
    fresh = DIKMeans(3, normalize=name, **QUICK)
    with pytest.raises(ValueError, match="n_samples"):
        fresh.fit(walls[:2])
    assert not [attribute for attribute in vars(fresh) if attribute.endswith("_")]


@pytest.mark.parametrize("name", ["auto", "scales", "subject"])
def test_pictures_without_weight_have_no_say(name, walls):
    noise = np.random.default_rng(0).random((25, 28, 28)).astype(np.float32)
    both = np.concatenate([walls, noise])
    weights = np.r_[np.ones(len(walls)), np.zeros(len(noise))]
    found = DIKMeans(3, normalize=name, **QUICK).fit(both, sample_weight=weights).preprocessing_
    expected = DIKMeans(3, normalize=name, **QUICK).fit(walls).preprocessing_
    np.testing.assert_array_equal(found(walls[:, None]), expected(walls[:, None]))
