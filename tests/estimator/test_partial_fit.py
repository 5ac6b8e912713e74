"""Streaming fits: a model from the first batch on, in the end nearly that of a fit."""

import numpy as np
import pytest
from sklearn.base import clone

from dikmeans import DIKMeans
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.centroid_update import unmoving_sums, update_step
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.outliers import OutlierRule
from dikmeans.outofcore.minibatch import absorb
from tests.helpers import build_measure, quick

SETTINGS = {"search__sample_size": 60, "search__n_swaps": 1, "random_state": 2}


def batches(X, size):
    return [X[first : first + size] for first in range(0, len(X), size)]


def stream(X, size=25, **settings):
    model = quick(**{**SETTINGS, **settings})
    for batch in batches(X, size):
        model.partial_fit(batch)
    return model


@pytest.mark.parametrize("intensity", ["fixed", "affine"])
@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
def test_a_stream_ends_near_the_fit_of_all(real_digits, warp, direction, intensity):
    X = real_digits[0][:200]
    unit = direction == "image-to-centroid" and intensity == "fixed"
    settings = {"warp": warp, "direction": direction, "intensity": intensity}
    streamed = stream(X, **settings)
    fitted = quick(**{**SETTINGS, **settings}).fit(X)
    assert -streamed.score(X) < 1.1 * -fitted.score(X)
    assert streamed.cluster_weights_.sum() == len(X)
    if unit:
        norms = np.linalg.norm(streamed.cluster_centers_.reshape(4, -1), axis=1)
        np.testing.assert_allclose(norms, 1, atol=1e-5)


def test_the_first_images_are_searched_as_a_fit_would(real_digits):
    X = real_digits[0][:60]
    streamed, fitted = stream(X, 30), quick(**SETTINGS).fit(X)
    np.testing.assert_array_equal(streamed.cluster_centers_, fitted.cluster_centers_)
    np.testing.assert_array_equal(streamed.labels_, fitted.labels_[30:])
    np.testing.assert_array_equal(
        streamed.cluster_weights_, np.bincount(fitted.labels_, minlength=4)
    )


def test_after_every_batch_there_is_a_model_and_the_labels_are_the_batchs(real_digits):
    model = quick(**SETTINGS)
    total = 0
    for batch in batches(real_digits[0][:110], 20):
        model.partial_fit(batch)
        total += len(batch)
        assert len(model.labels_) == len(batch)
        assert model.inertia_ > 0
        assert model.cluster_weights_.sum() == total
        assert len(model.assignment_.costs) == len(batch)
        np.testing.assert_array_equal(model.assignment_.labels, model.labels_)
        # a batch moves the prototypes a little after it was assigned
        assert (model.predict(batch) == model.labels_).mean() > 0.8


def test_a_batch_counts_as_much_as_its_weight_among_all(real_digits):
    X = scale_to_unit_norm(real_digits[0][:12].reshape(12, 1, 28, 28).astype(np.float32))
    batch = Dataset.in_memory(X.astype(float))
    before = X[:2].astype(float)
    measure = build_measure((28, 28), warp="none")
    no_outliers = OutlierRule(np.zeros(2), np.ones(2), np.inf)
    after = absorb(batch, measure, before, np.arange(2), np.array([30.0, 0.0]), no_outliers)
    for k, weight in enumerate([30.0, 0.0]):
        members = X[after.assignment.labels == k]
        mean = (weight * before[k] + members.sum(axis=0)) / (weight + len(members))
        np.testing.assert_allclose(after.prototypes[k], mean, atol=1e-6)
        assert after.weights[k] == weight + len(members)


@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
def test_unmoving_sums_leave_the_centroids_where_they_are(real_digits, direction):
    measure = build_measure((28, 28), direction=direction)
    centroids = real_digits[0][:3].reshape(3, 1, 28, 28).astype(float)
    sums = unmoving_sums(measure, centroids, np.array([1.0, 20.0, 300.0]))
    np.testing.assert_allclose(update_step(measure, centroids, sums), centroids)


def test_batches_go_on_after_a_fit_and_after_loading(real_digits, tmp_path):
    X = real_digits[0]
    model = quick(**SETTINGS).fit(X[:100])
    model.save(tmp_path / "model.safetensors")
    loaded = DIKMeans.load(tmp_path / "model.safetensors")
    for one in (model, loaded):
        one.partial_fit(X[100:130])
        assert one.cluster_weights_.sum() == 130
    np.testing.assert_array_equal(model.cluster_centers_, loaded.cluster_centers_)
    assert not np.array_equal(model.fit(X[:100]).cluster_centers_, loaded.cluster_centers_)


def test_weights_count(real_digits):
    X = real_digits[0][:140]
    twice = quick(**SETTINGS).fit(X[:100])
    weighted = clone(twice).fit(X[:100])
    twice.partial_fit(np.concatenate([X[100:], X[100:]]))
    weighted.partial_fit(X[100:], sample_weight=np.full(40, 2.0))
    np.testing.assert_allclose(weighted.cluster_centers_, twice.cluster_centers_, atol=1e-6)
    np.testing.assert_array_equal(weighted.cluster_weights_, twice.cluster_weights_)


def test_a_first_batch_that_is_too_small_is_refused_and_leaves_nothing(real_digits):
    X = real_digits[0]
    model = quick(**SETTINGS)
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4 in the first call"):
        model.partial_fit(X[:3])
    model.partial_fit(X[:30]).partial_fit(X[30:31])  # later ones may be
    with pytest.raises(ValueError, match=r"images of shape \(14, 14\)"):
        model.partial_fit(X[:30, ::2, ::2])
