"""Outliers of a fit: labels, thresholds, new images, files."""

from __future__ import annotations

import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.parameters import InvalidParameterError
from tests.helpers import quick


@pytest.fixture(scope="module")
def pictures(digits_by_class):
    """Fifty zeros and ones, and five pictures of noise."""
    digits = digits_by_class[:2, :25].reshape(50, 28, 28)
    noise = np.random.default_rng(0).random((5, 28, 28)).astype(np.float32) ** 3
    return np.concatenate([digits, noise])


@pytest.fixture(scope="module")
def model(pictures):
    return quick(n_clusters=2, outliers="auto").fit(pictures)


def test_noise_belongs_to_no_cluster(model):
    assert (model.labels_[50:] == -1).all()
    assert (model.labels_[:50] >= 0).mean() > 0.85
    assert model.cluster_weights_.sum() == (model.labels_ >= 0).sum()


def test_new_images_are_judged_by_the_same_rule(model, pictures):
    np.testing.assert_array_equal(model.predict(pictures), model.labels_)
    np.testing.assert_array_equal(
        model.labels_ == -1, model.outlier_scores_ > model.outlier_threshold_
    )


def test_outliers_pull_no_centroid(model, pictures):
    """A centroid that noise had pulled would have its ground; this one has that of the digits."""
    clean = quick(n_clusters=2).fit(pictures[:50])
    order = [0, 1] if model.labels_[0] == clean.labels_[0] else [1, 0]
    corners = np.s_[:, :4, :4]
    assert np.abs(model.cluster_centers_[order][corners]).max() <= 1.5 * max(
        np.abs(clean.cluster_centers_[corners]).max(), 0.01
    )


def test_without_the_wish_there_are_none_but_scores(pictures):
    plain = quick(n_clusters=2).fit(pictures)
    assert (plain.labels_ >= 0).all()
    assert plain.outlier_threshold_ == np.inf
    assert plain.outlier_scores_.shape == (55,)


def test_a_share_is_kept(pictures):
    model = quick(n_clusters=2, outliers=0.2).fit(pictures)
    assert (model.labels_ == -1).sum() == 11
    np.testing.assert_array_equal(model.predict(pictures), model.labels_)


def test_a_threshold_can_be_moved_and_survives_a_file(model, pictures, tmp_path):
    model.save(tmp_path / "model")
    moved = DIKMeans.load(tmp_path / "model")
    np.testing.assert_array_equal(moved.labels_, model.labels_)
    moved.set_outlier_threshold(0.5)
    assert (moved.labels_ == -1).sum() > (model.labels_ == -1).sum()
    np.testing.assert_array_equal(moved.predict(pictures), moved.labels_)
    moved.save(tmp_path / "moved")
    again = DIKMeans.load(tmp_path / "moved")
    assert again.outlier_threshold_ == 0.5
    np.testing.assert_array_equal(again.predict(pictures), moved.labels_)
    moved.set_outlier_threshold(np.inf)
    assert (moved.labels_ >= 0).all()
    with pytest.raises(InvalidParameterError, match="threshold"):
        moved.set_outlier_threshold(np.nan)


@pytest.mark.parametrize("outliers", [0, 0.6, -0.1, "many", True])
def test_other_values_are_refused(pictures, outliers):
    with pytest.raises(InvalidParameterError, match="outliers"):
        quick(n_clusters=2, outliers=outliers).fit(pictures)


def test_membership_and_confidence_are_probabilities(model, pictures):
    soft = model.membership(pictures)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    assert ((model.confidence_ >= 0.5) & (model.confidence_ <= 1)).all()
    inside = model.labels_ >= 0
    np.testing.assert_array_equal(soft.argmax(axis=1)[inside], model.labels_[inside])


def test_a_checkpointed_fit_with_outliers_ends_as_without(model, pictures, tmp_path):
    events = []

    def stop(event):
        events.append(event)
        return len(events) == 14

    with pytest.warns(UserWarning, match="stopped by a callback"):
        quick(n_clusters=2, outliers="auto").fit(pictures, checkpoint=tmp_path / "f", progress=stop)
    again = quick(n_clusters=2, outliers="auto").fit(pictures, checkpoint=tmp_path / "f")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)


def test_a_stream_leaves_outliers_out(model, pictures, tmp_path):
    model.save(tmp_path / "model")
    stream = DIKMeans.load(tmp_path / "model")
    before = stream.prototypes_.copy()
    stream.partial_fit(pictures[50:])
    assert (stream.labels_ == -1).all()
    np.testing.assert_allclose(stream.prototypes_, before, atol=1e-5)
