"""Fits that solve for light and contrast: exposure does not show in the clusters."""

import numpy as np
import pytest

from dikmeans import DIKMeans
from tests.helpers import quick

DIRECTIONS = ["centroid-to-image", "image-to-centroid"]


@pytest.fixture(scope="module")
def digits(real_digits):
    """Eighty digits of whole numbers, which whole gains and offsets leave exact."""
    X, y = real_digits
    chosen = np.flatnonzero(np.isin(y, [0, 1, 4, 7]))[:80]
    return np.rint(255 * X[chosen])


def exposed(X, seed=0):
    """Every picture with a gain and an offset of its own."""
    rng = np.random.default_rng(seed)
    shape = (len(X), 1, 1)
    return rng.integers(1, 9, shape) * X + rng.integers(0, 2000, shape)


def fitted(X, **parameters):
    return quick(**{"preprocessing": None, "intensity": "affine", **parameters}).fit(X)


@pytest.mark.parametrize("warp", ["none", "tps"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_exposure_does_not_show_in_the_clusters(digits, warp, direction):
    words = {"warp": warp, "direction": direction}
    expected, found = fitted(digits, **words), fitted(exposed(digits), **words)
    # centroids have another tone, which single precision rounds in another way
    assert np.count_nonzero(found.labels_ != expected.labels_) <= (0 if warp == "none" else 1)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=0.05)


def test_exposure_does_show_if_it_counts(digits):
    expected, found = (fitted(X, intensity="fixed") for X in (digits, exposed(digits)))
    assert (found.labels_ != expected.labels_).any()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_centroid_has_the_mean_brightness_and_contrast_of_its_members(digits, direction):
    X = exposed(digits)
    words = {"warp": "affine", "n_clusters": 2, "n_prototypes": 1, "direction": direction}
    model = fitted(X, search__sample_size=80, **words)
    # the members are those before the last update: nearly all that there are in the end
    for k, centroid in enumerate(model.cluster_centers_):
        members = X[model.labels_ == k]
        assert centroid.mean() == pytest.approx(members.mean(), rel=0.1)
        assert centroid.std() == pytest.approx(members.std(axis=(1, 2)).mean(), rel=0.1)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_light_of_images_can_be_read_off(digits, direction):
    model = fitted(digits, direction=direction)
    plain = model.align(digits[:5])
    bright = model.align(3 * digits[:5] + 50)
    np.testing.assert_allclose(bright.cost, plain.cost, rtol=1e-4)
    factor = 3 if direction == "centroid-to-image" else 1 / 3
    np.testing.assert_allclose(bright.gain, factor * plain.gain, rtol=1e-3)
    assert bright.gain.shape == bright.offset.shape == (5, 1)


def test_a_loaded_model_solves_for_light_too(digits, tmp_path):
    model = fitted(digits)
    model.save(tmp_path / "model")
    copy = DIKMeans.load(tmp_path / "model")
    assert copy.measure_ == model.measure_
    assert copy.measure_.intensity == "affine"
    np.testing.assert_array_equal(copy.predict(exposed(digits)), model.labels_)


def test_blank_pictures_do_no_harm(digits):
    X = np.concatenate([digits, np.full((5, 28, 28), 30.0)])
    for direction in DIRECTIONS:
        model = fitted(X, direction=direction)
        assert np.isfinite(model.prototypes_).all()
        assert len(np.unique(model.labels_[:80])) >= 3
