"""What is done to pictures first, and when."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans
from dikmeans.preprocessing import (
    PREPROCESSORS,
    Chain,
    Identity,
    LocalContrast,
    SubjectCentering,
    UnitNorm,
    Whitening,
    choose_preprocessing,
    resolve_preprocessing,
)
from dikmeans.preprocessing.auto import correlation_length
from dikmeans.preprocessing.chain import steps_of
from dikmeans.preprocessing.template import Template
from dikmeans.preprocessing.whitening import spectral_slope
from tests import helpers

KINDS = [LocalContrast, Whitening, SubjectCentering]


def quick(**parameters):
    """Three clusters of few landmarks, found without swaps."""
    settings = {"n_clusters": 3, "landmarks": 3, "max_iter": 2, "search__n_swaps": 0}
    return helpers.quick(**settings, **parameters)


def learned(kind, pictures):
    """A preprocessor that has learned from pictures."""
    return kind().learn(pictures)


@pytest.fixture
def walls(real_digits):
    """Digits drawn on walls of different brightness, with the light from one side: (40, 28, 28)."""
    X, _ = real_digits
    light = np.linspace(0.5, 1.0, 28)
    return (0.4 * X[:40] / X.max() + 0.5 * light).astype(np.float32)


@pytest.fixture
def rough_walls(real_digits):
    """The same on rough walls, as in photographs: nothing about them is plain."""
    X, _ = real_digits
    rng = np.random.default_rng(0)
    stones = ndimage.zoom(rng.uniform(0.2, 0.8, (40, 7, 7)), (1, 4, 4), order=0)
    return (0.3 * X[:40] / X.max() + stones).astype(np.float32)


@pytest.fixture
def line_and_dot():
    """A line of 48 pixels with a dot of 4 above it: (1, 1, 32, 32)."""
    picture = np.zeros((1, 1, 32, 32))
    picture[..., 14:16, 4:28] = 1
    picture[..., 6:8, 15:17] = 1
    return picture


@pytest.fixture
def wandering():
    """A face of three spots around the middle of a wall, lit from a side: (30, 1, 40, 40)."""
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
    """Mean amplitude of the coarse and of the fine half of the spectrum of pictures."""
    waves = np.abs(np.fft.fft2(pictures[:, 0])).mean(axis=0)
    radius = np.hypot(*np.meshgrid(*[np.fft.fftfreq(n) for n in waves.shape], indexing="ij"))
    return waves[(radius > 0) & (radius < 0.1)].mean(), waves[radius > 0.3].mean()


def test_whitening_filters_by_a_power_of_the_frequency():
    rows = np.arange(64)
    # a wave of 4 and one of 16 pixels in the middle of a large empty picture, where no edge
    # disturbs
    window = np.exp(-((rows - 31.5) ** 2) / 2 / 8**2)
    waves = [np.outer(np.sin(2 * np.pi * rows / length) * window, window) for length in (4, 16)]
    half = Whitening().restore({"exponent": 0.5}, (64, 64))
    fine, coarse = (half.apply(wave[None, None]) for wave in waves)
    both = half.apply((waves[0] + waves[1])[None, None])
    # four times the frequency has twice the gain, where the exponent is a half
    shares = [float((both * part).sum()) for part in (fine, coarse)]
    assert shares[0] / shares[1] == pytest.approx(2.0, rel=0.05)
    # an exponent of zero changes nothing
    same = Whitening().restore({"exponent": 0.0}, (64, 64)).apply(waves[0][None, None])[0, 0]
    np.testing.assert_allclose(same, waves[0] / np.linalg.norm(waves[0]), atol=1e-12)


def test_the_exponent_follows_the_spectral_slope(real_digits):
    noise = np.random.default_rng(0).standard_normal((40, 1, 48, 48))
    frequency = np.hypot(np.fft.fftfreq(48)[:, None], np.fft.fftfreq(48)[None])
    frequency[0, 0] = np.inf
    for slope in (0.5, 1.0, 1.5):
        colored = np.fft.ifft2(np.fft.fft2(noise) * frequency**-slope).real
        assert spectral_slope(colored) == pytest.approx(slope, abs=0.15)
        assert learned(Whitening, colored).exponent_ == pytest.approx(0.45 * slope, abs=0.07)
    # noise of even scales is left alone, and nothing makes anything coarser than it is
    assert learned(Whitening, noise).exponent_ < 0.02
    assert learned(Whitening, np.diff(noise, axis=2)).exponent_ == 0
    # the fine parts of pictures gain on the coarse ones
    thick = ndimage.grey_dilation(real_digits[0][:40], (1, 9, 9))[:, None]
    before, after = power(thick), power(learned(Whitening, thick).apply(thick))
    assert after[1] / after[0] > 1.5 * before[1] / before[0]


def test_a_subject_is_found_wherever_it_is(wandering):
    pictures, places = wandering
    subject = learned(SubjectCentering, pictures)
    shifts = subject.template_.shifts(pictures)
    # where the middle of all is, nobody says; now and then a picture ends in another local minimum
    errors = (shifts - np.median(shifts, axis=0)) - (places - np.median(places, axis=0))
    assert (np.abs(errors).max(axis=1) < 1).mean() > 0.9
    moved = subject.center(pictures)
    assert (
        moved[:, 0, 8:32, 8:32].std(axis=0).mean()
        < 0.6 * pictures[:, 0, 8:32, 8:32].std(axis=0).mean()
    )


def test_a_subject_is_sharpened_and_fades_around_the_middle(walls):
    nothing = Template(np.zeros((1, 28, 28), np.float32))  # that fits everywhere
    np.testing.assert_array_equal(nothing.shifts(walls[:, None]), 0)
    subject = SubjectCentering()
    subject.exponent_, subject.template_ = 0.6, nothing
    found = subject.apply(walls[:, None])[3, 0]
    mirrored = np.pad(walls[3] - walls[3].mean(), 14, mode="symmetric")
    frequency = np.hypot(np.fft.fftfreq(56)[:, None], np.fft.fftfreq(56)[None])
    sharp = np.fft.ifft2(np.fft.fft2(mirrored) * frequency**subject.exponent_).real[14:42, 14:42]
    rows, columns = np.mgrid[:28, :28] - 13.5
    expected = sharp * np.exp(-(rows**2 + columns**2) / 2 / (28 / 6) ** 2)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-4)


def test_a_dot_counts_for_more_after_local_contrast_than_in_a_sum_of_squares(line_and_dot):
    plain, even = (
        learned(kind, line_and_dot).apply(line_and_dot) for kind in (UnitNorm, LocalContrast)
    )
    weight_plain, weight_even = ((pictures[..., :12, :] ** 2).sum() for pictures in (plain, even))
    assert weight_plain == pytest.approx(4 / 52)
    assert weight_even > 1.5 * weight_plain
    # nothing appears where nothing was, and nothing goes
    np.testing.assert_array_equal(even > 0, plain > 0)


def test_strokes_are_even_however_bright_they_are():
    picture = np.zeros((1, 1, 32, 32))
    picture[0, 0, 8, 4:28], picture[0, 0, 24, 4:28] = 1.0, 0.5
    even = LocalContrast().apply(picture)[0, 0]
    assert even[24, 16] / even[8, 16] > 0.9
    # but what is faint stays faint
    picture[0, 0, 24, 4:28] = 0.01
    even = LocalContrast().apply(picture)[0, 0]
    assert even[24, 16] / even[8, 16] < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_treated_on_its_own(kind, walls, monkeypatch):
    preprocessing = learned(kind, walls[:, None])
    together = preprocessing.apply(walls[:, None])
    np.testing.assert_array_equal(together[5:6], preprocessing.apply(walls[5:6, None]))
    monkeypatch.setattr(kind, "batch_pixels", 3 * walls[0].size)  # 40 pictures in 14 pieces
    np.testing.assert_array_equal(preprocessing.apply(walls[:, None]), together)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_colors_black_pictures_and_brightness(kind, dtype):
    pictures = np.random.default_rng(0).random((4, 3, 16, 20)).astype(dtype)
    pictures[2] = 0
    preprocessing = learned(kind, pictures)
    found = preprocessing.apply(pictures)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[2], 0)
    np.testing.assert_allclose(
        np.linalg.norm(found.reshape(4, -1), axis=1), [1, 1, 0, 1], rtol=1e-5
    )
    np.testing.assert_allclose(preprocessing.apply(200 * pictures), found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gray", [0.3, 1.0, 200.0])
def test_a_blank_wall_shows_nothing(gray, walls):
    subject = learned(SubjectCentering, walls[:, None])
    np.testing.assert_array_equal(subject.apply(np.full((2, 1, 28, 28), gray, np.float32)), 0)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 30), (1, 5, 5), (1, 8, 33)])
@pytest.mark.parametrize("kind", PREPROCESSORS.values())
def test_whatever_the_shape(kind, shape):
    pictures = np.random.default_rng(0).random((6, *shape)).astype(np.float32)
    fitted = learned(kind, pictures)
    found = fitted.apply(pictures)
    rows_columns_channels = (*shape[1:], shape[0]) if shape[0] > 1 else shape[1:]
    expected = fitted.output_shape(rows_columns_channels)
    assert found.shape == (6, *(expected[2:] or (1,)), *expected[:2])
    assert np.isfinite(found).all()
    # alone and in company, and at unit norm if it says so
    np.testing.assert_array_equal(learned(kind, pictures).apply(pictures[2:3]), found[2:3])
    norms = np.linalg.norm(found.reshape(6, -1).astype(float), axis=1)
    if kind.unit_norm:
        assert np.all(np.isclose(norms, 1, atol=1e-4) | (norms == 0))
    else:
        np.testing.assert_array_equal(found, pictures)


def test_the_correlation_length_is_the_half_width_of_the_autocorrelation():
    bars = np.zeros((2, 1, 40, 40))
    bars[:, :, 10:30, 10:18] = 1  # 20 by 8: overlaps itself by half when moved by 10 or by 4
    assert correlation_length(bars) == pytest.approx(np.sqrt(10 / 40 * 4 / 40))
    assert correlation_length(np.ones((1, 1, 9, 9))) == pytest.approx(0.5)


def test_background_and_thickness_tell_which(walls, rough_walls, real_digits):
    X, _ = real_digits
    thick = ndimage.grey_dilation(X[:40], (1, 9, 9))

    def chosen(pictures):
        preprocessing, reason = choose_preprocessing(pictures)
        assert reason
        return " + ".join(str(step.name) for step in steps_of(preprocessing))

    assert chosen(X[:40, None]) == "local-contrast"
    assert chosen(thick[:, None]) == "whitening"
    assert chosen(rough_walls[:, None]) == "subject-centering"
    assert chosen(walls[:, None]) == "background + local-contrast"
    assert chosen(1 - thick[:, None]) == "background + whitening"
    assert chosen(-rough_walls[:, None]) == "unit-norm"  # not a picture's intensities
    # a plain ground is found whatever the sign: noise around 0, and standardized pictures
    noise = np.random.default_rng(0).normal(scale=0.016, size=X[:40].shape)
    assert chosen((X[:40] + noise)[:, None]) == "background + local-contrast"
    assert chosen(((X[:40] - X.mean()) / X.std())[:, None]) == "background + local-contrast"
    assert chosen(walls[:, None, :1]) == "unit-norm"  # a signal
    assert chosen(np.zeros((3, 1, 16, 16))) == "unit-norm"  # black


def test_the_choice_is_logged(rough_walls, real_digits, caplog):
    with caplog.at_level(logging.INFO, logger="dikmeans.estimator"):
        quick().fit(real_digits[0][:40])
        quick().fit(rough_walls)
    thin, photographs = (
        message for message in caplog.messages if message.startswith("preprocessing='auto'")
    )
    assert "'local-contrast'" in thin
    assert "9 % of a side" in thin
    assert "'subject-centering'" in photographs
    assert "no plain ground" in photographs


@pytest.mark.parametrize("name", PREPROCESSORS)
def test_a_preprocessing_is_found_by_name_or_taken_as_it_is(name, walls):
    by_name, why = resolve_preprocessing(name, walls[:, None])
    assert type(by_name) is PREPROCESSORS[name]
    assert why is None
    as_object, why = resolve_preprocessing(PREPROCESSORS[name](border="edge"), walls[:, None])
    assert as_object.border == "edge"
    assert why is None
    expected = by_name.apply(walls[:, None])
    np.testing.assert_array_equal(as_object.apply(walls[:, None]), expected)


def test_auto_says_why(walls, rough_walls):
    preprocessing, why = resolve_preprocessing("auto", rough_walls[:, None])
    assert isinstance(preprocessing, SubjectCentering)
    assert "no plain ground" in why
    preprocessing, why = resolve_preprocessing("auto", walls[:, None])
    assert isinstance(preprocessing, Chain)
    assert "a plain ground that is not black" in why


@pytest.mark.parametrize("kind", PREPROCESSORS.values())
def test_the_text_of_one_is_a_sentence(kind, walls):
    text = str(learned(kind, walls[:, None]))
    assert text[0].isupper()
    assert text.endswith(".")
    assert "object at" not in text


def test_none_compares_pictures_as_they_are(walls):
    pictures = walls[:, None]
    assert Identity().apply(pictures) is pictures
    assert not Identity().unit_norm


def test_the_choice_is_stored_and_used_for_new_images(rough_walls, tmp_path):
    model = quick().fit(rough_walls)
    assert model.preprocessing_.name == "subject-centering"
    assert model.choices_["preprocessing"].value == "subject-centering"
    plain = quick(preprocessing="subject-centering").fit(rough_walls)
    assert "preprocessing" not in plain.choices_
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(rough_walls[:1]), model.labels_[:1])
    # more light changes nothing that matters, but for a pair that ends in another local minimum
    in_light, before = model.transform(rough_walls + 0.2), model.transform(rough_walls)
    assert np.isclose(in_light, before, rtol=0.05, atol=1e-3).mean() > 0.95
    np.testing.assert_array_equal(in_light.argmin(axis=1), model.labels_)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        DIKMeans.load(tmp_path / "model.safetensors").predict(rough_walls), model.labels_
    )


@pytest.mark.parametrize("name", PREPROCESSORS)
def test_what_was_learned_is_kept_with_the_model(name, walls, tmp_path):
    model = quick(preprocessing=name).fit(walls)
    model.save(tmp_path / "model.safetensors")
    read = DIKMeans.load(tmp_path / "model.safetensors").preprocessing_
    assert type(read) is PREPROCESSORS[name]
    assert read.learned.keys() == model.preprocessing_.learned.keys()
    expected = model.preprocessing_.apply(walls[:, None])
    np.testing.assert_array_equal(read.apply(walls[:, None]), expected)


TEMPLATE = np.zeros((1, 8, 8), np.float32)
LEARNED = {"exponent": 0.5, "template": TEMPLATE}


@pytest.mark.parametrize(
    ("name", "values", "complaint"),
    [
        ("unit-norm", {"exponent": 0.5}, "unknown or missing .* exponent"),
        ("whitening", {}, "unknown or missing .* exponent"),
        ("whitening", {"exponent": 1}, "exponent"),
        ("whitening", {"exponent": float("nan")}, "exponent"),
        ("whitening", {"exponent": 7.0}, "exponent"),
        ("subject-centering", {"exponent": 0.5}, "unknown or missing .* template"),
        ("subject-centering", {"exponent": 0.5, "template": TEMPLATE[:, :5]}, "template"),
        (
            "subject-centering",
            {"exponent": 0.5, "template": TEMPLATE.astype(np.float64)},
            "template",
        ),
        ("subject-centering", {"exponent": 0.5, "template": TEMPLATE + np.inf}, "template"),
        (
            "subject-centering",
            LEARNED | {"template_precision": -np.eye(6)[None]},
            "positive definite",
        ),
        (
            "subject-centering",
            LEARNED | {"template_precision": np.eye(4)[None]},
            "positive definite",
        ),
        (
            "subject-centering",
            LEARNED | {"template_precision": np.triu(np.ones((6, 6)))[None]},
            "positive definite",
        ),
        (
            "subject-centering",
            LEARNED | {"template_precision": 1e300 * np.eye(6)[None]},
            "positive definite",
        ),
        ("subject-centering", LEARNED | {"template": TEMPLATE + 1e38}, "template"),
    ],
)
def test_what_no_preprocessor_has_learned_is_refused(name, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        PREPROCESSORS[name]().restore(values, (8, 8))


@pytest.mark.parametrize("name", ["whitening", "subject-centering"])
def test_a_refused_refit_leaves_the_model_as_it_was(name, walls):
    model = quick(preprocessing=name).fit(walls)
    before = model.transform(walls)
    others = np.random.default_rng(0).random((30, 20, 20)).astype(np.float32)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(others, sample_weight=np.ones(3))
    np.testing.assert_array_equal(model.transform(walls), before)
    fresh = quick(preprocessing=name)
    with pytest.raises(ValueError, match="n_samples"):
        fresh.fit(walls[:2])
    assert not [attribute for attribute in vars(fresh) if attribute.endswith("_")]


@pytest.mark.parametrize("name", ["auto", "whitening", "subject-centering"])
def test_pictures_without_weight_have_no_say(name, walls):
    noise = np.random.default_rng(0).random((25, 28, 28)).astype(np.float32)
    both = np.concatenate([walls, noise])
    weights = np.r_[np.ones(len(walls)), np.zeros(len(noise))]
    found = quick(preprocessing=name).fit(both, sample_weight=weights).preprocessing_
    expected = quick(preprocessing=name).fit(walls).preprocessing_
    np.testing.assert_array_equal(found.apply(walls[:, None]), expected.apply(walls[:, None]))
