"""Streaming fits: there is a model from the first batch on, and in the end it is nearly that of a fit."""

import numpy as np
import pytest
from sklearn.base import clone

from dikmeans import DIKMeans
from dikmeans.registration import make_measure
from dikmeans.kmeans.minibatch import absorb
from dikmeans.kmeans.task import Task
from dikmeans.kmeans.centroid_update import rule_for, standing_still
from dikmeans.images import scale_to_unit_norm

SETTINGS = {"n_clusters": 4, "search_size": 60, "n_swaps": 1, "max_iter": 4, "random_state": 2}


def batches(X, size):
    return [X[first : first + size] for first in range(0, len(X), size)]


def stream(X, size=25, **settings):
    model = DIKMeans(**{**SETTINGS, **settings})
    for batch in batches(X, size):
        model.partial_fit(batch)
    return model


@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
def test_a_stream_ends_near_the_fit_of_all(real_digits, warp, direction):
    X = real_digits[0][:200]
    unit = direction == "image-to-centroid"
    settings = {"warp": warp, "direction": direction, "unit_norm_centroids": unit}
    streamed = stream(X, **settings)
    fitted = DIKMeans(**{**SETTINGS, **settings}).fit(X)
    assert -streamed.score(X) < 1.1 * -fitted.score(X)
    assert streamed.cluster_weights_.sum() == len(X)
    assert streamed.n_steps_ == 8
    if unit:
        norms = np.linalg.norm(streamed.cluster_centers_.reshape(4, -1), axis=1)
        np.testing.assert_allclose(norms, 1, atol=1e-5)


def test_the_first_images_are_searched_as_a_fit_would(real_digits):
    X = real_digits[0][:60]
    streamed, fitted = stream(X, 30), DIKMeans(**SETTINGS).fit(X)
    np.testing.assert_array_equal(streamed.cluster_centers_, fitted.cluster_centers_)
    np.testing.assert_array_equal(streamed.labels_, fitted.labels_[30:])
    np.testing.assert_array_equal(
        streamed.cluster_weights_, np.bincount(fitted.labels_, minlength=4)
    )


def test_after_every_batch_there_is_a_model_and_the_labels_are_the_batchs(real_digits):
    model = DIKMeans(**SETTINGS)
    total = 0
    for batch in batches(real_digits[0][:110], 20):
        model.partial_fit(batch)
        total += len(batch)
        assert len(model.labels_) == len(batch)
        assert model.inertia_ > 0
        assert model.cluster_weights_.sum() == total
        assert model.predict(batch).shape == (len(batch),)


def test_a_batch_counts_as_much_as_its_weight_among_all(real_digits):
    X = scale_to_unit_norm(real_digits[0][:12].reshape(12, 1, 28, 28).astype(np.float32))
    task = Task(X.astype(float), np.ones(12), make_measure((28, 28), warp="none"))
    before = X[:2].astype(float)
    after = absorb(task, before, np.array([30.0, 0.0]))
    for k, weight in enumerate([30.0, 0.0]):
        members = X[after.labels == k]
        mean = (weight * before[k] + members.sum(axis=0)) / (weight + len(members))
        np.testing.assert_allclose(after.centroids[k], mean, atol=1e-6)
        assert after.weights[k] == weight + len(members)


@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
def test_sums_that_stand_still_do(real_digits, direction):
    measure = make_measure((28, 28), direction=direction)
    centroids = real_digits[0][:3].reshape(3, 1, 28, 28).astype(float)
    sums = standing_still(measure, centroids, np.array([1.0, 20.0, 300.0]))
    np.testing.assert_allclose(rule_for(measure).step(measure, centroids, sums, False), centroids)


def test_batches_go_on_after_a_fit_and_after_loading(real_digits, tmp_path):
    X = real_digits[0]
    model = DIKMeans(**SETTINGS).fit(X[:100])
    model.save(tmp_path / "model.safetensors")
    loaded = DIKMeans.load(tmp_path / "model.safetensors")
    for one in (model, loaded):
        one.partial_fit(X[100:130])
        assert one.cluster_weights_.sum() == 130
    np.testing.assert_array_equal(model.cluster_centers_, loaded.cluster_centers_)
    assert not np.array_equal(model.fit(X[:100]).cluster_centers_, loaded.cluster_centers_)


def test_weights_count(real_digits):
    X = real_digits[0][:140]
    twice = DIKMeans(**SETTINGS).fit(X[:100])
    weighted = clone(twice).fit(X[:100])
    twice.partial_fit(np.concatenate([X[100:], X[100:]]))
    weighted.partial_fit(X[100:], sample_weight=np.full(40, 2.0))
    np.testing.assert_allclose(weighted.cluster_centers_, twice.cluster_centers_, atol=1e-6)
    np.testing.assert_array_equal(weighted.cluster_weights_, twice.cluster_weights_)


def test_a_first_batch_that_is_too_small_is_refused_and_leaves_nothing(real_digits):
    X = real_digits[0]
    model = DIKMeans(**SETTINGS)
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4 in the first call"):
        model.partial_fit(X[:3])
    model.partial_fit(X[:30]).partial_fit(X[30:31])  # later ones may be
    with pytest.raises(ValueError, match=r"images of shape \(14, 14\)"):
        model.partial_fit(X[:30, ::2, ::2])
    assert model.n_steps_ == 2
