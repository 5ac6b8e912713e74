"""Learned stiffness: the usual is cheap, the unusual dear, and the balance is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from dikmeans import DIKMeans
from dikmeans.registration import make_measure
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.monitoring.progress import FitListener, listening
from dikmeans.kmeans.run import StopRequested
from dikmeans.kmeans.deformation_prior import (
    DEFORMATION_SHARE,
    RIDGE,
    SHRINKAGE,
    learn_deformation_prior,
)
from dikmeans.kmeans.task import Task
from dikmeans.images import scale_to_unit_norm


@pytest.fixture(scope="module")
def scene(real_digits):
    """A task of 80 digits with weights, and a clustering of it."""
    X, _ = real_digits
    images = scale_to_unit_norm(X[:80, None].astype(np.float32))
    weights = np.random.default_rng(0).uniform(0.5, 2, 80)
    task = Task(images, weights, make_measure((28, 28), landmarks=3), n_jobs=1)
    clustering, _ = lloyd(task, task.assign(images[:3]), max_iter=2, tol=0.0)
    return task, clustering


def own_deltas(clustering):
    labels = clustering.labels
    return (
        clustering.fits.deltas[np.arange(len(labels)), labels]
        .reshape(len(labels), -1)
        .astype(float)
    )


def test_it_is_the_inverse_of_the_shrunken_covariance_of_the_warps(scene):
    task, clustering = scene
    found = learn_deformation_prior(task, clustering)
    deltas, labels = own_deltas(clustering), clustering.labels
    own = [
        np.cov(deltas[labels == k].T, aweights=task.weights[labels == k], ddof=0) for k in range(3)
    ]
    totals = np.bincount(labels, weights=task.weights)
    pooled = sum(total * cov for total, cov in zip(totals, own, strict=True)) / totals.sum()
    ridge = RIDGE * np.diag(pooled).mean() * np.eye(len(pooled))
    for k in range(3):
        product = found[k] @ ((1 - SHRINKAGE) * own[k] + SHRINKAGE * pooled + ridge)
        np.testing.assert_allclose(
            product, product[0, 0] * np.eye(len(pooled)), atol=1e-6 * product[0, 0]
        )


@pytest.mark.parametrize("shared", [False, True])
def test_deformation_makes_up_its_share_of_the_cost(scene, shared):
    task, clustering = scene
    found = learn_deformation_prior(task, clustering, shared=shared)
    assert found.shape == (3, 18, 18)
    assert shared == np.array_equal(found[0], found[2])
    deltas, labels = own_deltas(clustering), clustering.labels
    for k in range(3):
        deltas[labels == k] -= np.average(
            deltas[labels == k], axis=0, weights=task.weights[labels == k]
        )
    deformation = np.array([d @ found[k] @ d for d, k in zip(deltas, labels, strict=True)])
    warped = task.measure.render(
        clustering.centroids, labels, own_deltas(clustering).reshape(80, 2, -1).astype("f4")
    )
    residual = ((warped - task.images) ** 2).sum(axis=(1, 2, 3))
    assert task.weights @ deformation == pytest.approx(
        DEFORMATION_SHARE * (task.weights @ residual), rel=1e-3
    )


def test_what_members_do_costs_less_than_what_none_of_them_does(scene):
    task, clustering = scene
    found = learn_deformation_prior(task, clustering)
    deltas = own_deltas(clustering)[clustering.labels == 0]
    _, directions = np.linalg.eigh(np.cov(deltas.T))
    usual, unusual = directions[:, -1], directions[:, 0]
    assert usual @ found[0] @ usual < 0.5 * unusual @ found[0] @ unusual


def test_where_nothing_is_deformed_there_is_nothing_to_learn(scene):
    task, _ = scene
    copies = np.repeat(task.images[:2], 10, axis=0)
    still = replace(task, images=copies, weights=np.ones(20))
    assert learn_deformation_prior(still, still.assign(task.images[:2])) is None


def test_the_aligner_charges_each_centroid_its_own_penalty(scene):
    task, clustering = scene
    stiffness = learn_deformation_prior(task, clustering)
    measure = make_measure((28, 28), landmarks=3, stiffness=stiffness)
    fits = measure.fit(task.images[:6], measure.bank(clustering.centroids))
    for i in range(6):
        for k in range(3):
            d = fits.deltas[i, k]
            warped = measure.render(clustering.centroids, np.array([k]), d[None])[0]
            expected = ((warped - task.images[i]) ** 2).sum() + d.ravel() @ stiffness[k] @ d.ravel()
            assert fits.costs[i, k] == pytest.approx(expected, rel=1e-3)
    # a bank of some of the centroids keeps their stiffness with them
    alone = measure.fit(
        task.images[:6], measure.bank(clustering.centroids[2:], numbers=np.array([2]))
    )
    np.testing.assert_allclose(alone.costs[:, 0], fits.costs[:, 2], rtol=1e-5)


def test_a_model_keeps_what_it_has_learned(real_digits, tmp_path):
    X, _ = real_digits
    model = DIKMeans(3, landmarks=3, random_state=0, max_iter=3, n_swaps=0).fit(X[:60])
    assert model.deformation_precision_.shape == (3, 18, 18)
    uniform = DIKMeans(
        3, landmarks=3, stiffness="uniform", random_state=0, max_iter=3, n_swaps=0
    ).fit(X[:60])
    assert uniform.deformation_precision_ is None
    for one in (model, uniform):
        one.save(tmp_path / "model.safetensors")
        copy = DIKMeans.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(copy.transform(X[:10]), one.transform(X[:10]))


@pytest.mark.parametrize("swaps", [0, 2])
def test_swaps_are_judged_under_a_stiffness_that_all_clusters_share(
    real_digits, monkeypatch, swaps
):
    judged = []

    def look(task, here, **_):
        judged.append(task.measure)
        return here

    monkeypatch.setattr("dikmeans.kmeans.run.swap_moves", look)
    model = DIKMeans(3, landmarks=3, max_iter=2, n_swaps=swaps, random_state=0).fit(
        real_digits[0][:60]
    )
    (measure,) = judged
    delta = np.random.default_rng(0).standard_normal((1, 2, 9)).astype(np.float32)
    costs = [float(measure.penalty(delta, np.array([k]))[0]) for k in range(3)]
    bending = make_measure((28, 28), landmarks=3).penalty(delta, np.array([0]))
    assert costs[0] == costs[1] == costs[2]
    assert (costs[0] == pytest.approx(float(bending[0]))) == (swaps == 0)
    # in the end each cluster has its own
    assert not np.allclose(model.deformation_precision_[0], model.deformation_precision_[1])
    assert ("usual deformations" in {line.phase for line in model.history_.iterations}) == (
        swaps > 0
    )


def test_a_fit_stopped_while_clusters_share_a_stiffness_is_a_whole_model(real_digits):
    X = real_digits[0][:60]

    class Enough(FitListener):
        def iteration(self, iteration):
            if iteration.phase == "usual deformations":
                raise StopRequested

    model = DIKMeans(3, landmarks=3, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped"), listening(model, Enough()):
        model.fit(X)
    assert model.deformation_precision_.shape == (3, 18, 18)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_run_stopped_early_does_not_replace_one_that_has_ended(real_digits):
    """Its distortion is of another measure, and lower: without the stiffness of clusters."""
    X = real_digits[0][:60]
    settings = {"landmarks": 3, "max_iter": 2, "n_swaps": 2, "random_state": 0}

    class EnoughInTheSecond(FitListener):
        ended = False

        def iteration(self, iteration):
            self.ended |= iteration.phase == "all images"
            if self.ended and iteration.phase == "search":
                raise StopRequested

    model = DIKMeans(3, n_init=2, **settings)
    with pytest.warns(ConvergenceWarning, match="stopped"), listening(model, EnoughInTheSecond()):
        model.fit(X)
    one = DIKMeans(3, **settings).fit(X)
    assert model.inertia_ == one.inertia_
    np.testing.assert_array_equal(model.deformation_precision_, one.deformation_precision_)
