"""What is done to pictures first, and when."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans
from dikmeans.normalise import choose_normaliser, take_detail


@pytest.fixture
def walls(real_digits):
    """Digits drawn on walls of different brightness, with the light from one side: (40, 28, 28)."""
    X, _ = real_digits
    light = np.linspace(0.5, 1.0, 28)
    return (0.4 * X[:40] / X.max() + 0.5 * light).astype(np.float32)


def test_detail_is_the_picture_less_its_local_mean_at_unit_norm(walls):
    found = take_detail(walls[:, None])[3, 0]
    expected = walls[3] - ndimage.gaussian_filter(walls[3], 2.8, mode="nearest")
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


def test_a_picture_is_treated_on_its_own(walls):
    np.testing.assert_array_equal(take_detail(walls[:, None])[5:6], take_detail(walls[5:6, None]))


def test_a_dark_background_tells_which(walls, real_digits):
    X, _ = real_digits
    assert choose_normaliser(X[:40, None]) == "unit"
    assert choose_normaliser(walls[:, None]) == "detail"
    assert choose_normaliser(-walls[:, None]) == "unit"  # not a picture's intensities
    assert choose_normaliser(walls[:, None, :1]) == "unit"  # a signal


def test_the_choice_is_stored_and_used_for_new_images(walls, tmp_path):
    model = DIKMeans(3, landmarks=3, random_state=0, max_iter=2, n_swaps=0).fit(walls)
    assert model.normalize_ == "detail"
    plain = DIKMeans(3, landmarks=3, random_state=0, max_iter=2, n_swaps=0, normalize="detail").fit(walls)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(walls[:1]), model.labels_[:1])
    # more light from the same side changes nothing that matters
    np.testing.assert_allclose(model.transform(walls + 0.2), model.transform(walls), rtol=0.05, atol=1e-3)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(DIKMeans.load(tmp_path / "model.safetensors").predict(walls), model.labels_)
