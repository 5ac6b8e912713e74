"""The learned prior: typical deformations are cheap, others are not, and the balance is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dikmeans import DIKMeans
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.deformation_prior import (
    DEFORMATION_SHARE,
    RIDGE,
    SHRINKAGE,
    inverse_of,
    learn_deformation_prior,
)
from dikmeans.kmeans.schedule import PhaseKind
from tests.helpers import build_measure, quick
from tests.kmeans.problem import Problem


@pytest.fixture(scope="module")
def scene(real_digits):
    """80 digits with weights, and a clustering of them."""
    X, _ = real_digits
    images = scale_to_unit_norm(X[:80, None].astype(np.float32))
    weights = np.random.default_rng(0).uniform(0.5, 2, 80)
    problem = Problem.of(images, build_measure((28, 28), landmarks=3), weights)
    return problem, problem.lloyd(problem.assign(images[:3]), max_iter=2)[-1].clustering


def nearest_deltas(problem, clustering):
    deltas = problem.local(clustering).nearest_deltas
    return deltas.reshape(len(deltas), -1).astype(float)


def learn(problem, clustering, **options):
    return learn_deformation_prior(problem.dataset, problem.measure, clustering, **options)


def test_it_is_the_inverse_of_the_shrunken_covariance_of_the_warps(scene):
    problem, clustering = scene
    found = learn(problem, clustering)
    deltas, labels = nearest_deltas(problem, clustering), problem.labels(clustering)
    covariances = [
        np.cov(deltas[labels == k].T, aweights=problem.weights[labels == k], ddof=0)
        for k in range(3)
    ]
    totals = np.bincount(labels, weights=problem.weights)
    pooled = sum(total * cov for total, cov in zip(totals, covariances, strict=True)) / totals.sum()
    ridge = RIDGE * np.diag(pooled).mean() * np.eye(len(pooled))
    for k in range(3):
        product = found[k] @ ((1 - SHRINKAGE) * covariances[k] + SHRINKAGE * pooled + ridge)
        np.testing.assert_allclose(
            product, product[0, 0] * np.eye(len(pooled)), atol=1e-6 * product[0, 0]
        )


def test_the_inverse_is_that_of_numpy_and_a_matrix_that_has_none_is_refused():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    np.testing.assert_allclose(inverse_of(root @ root.T), np.linalg.inv(root @ root.T), rtol=1e-6)
    indefinite = np.diag([1.0, -1.0, 2.0])
    with pytest.raises(np.linalg.LinAlgError, match="covariance of the deformations"):
        inverse_of(indefinite)


@pytest.mark.parametrize("shared", [False, True])
def test_deformation_makes_up_its_share_of_the_cost(scene, shared):
    problem, clustering = scene
    found = learn(problem, clustering, shared=shared)
    assert found.shape == (3, 18, 18)
    assert shared == np.array_equal(found[0], found[2])
    deltas, labels = nearest_deltas(problem, clustering), problem.labels(clustering)
    for k in range(3):
        deltas[labels == k] -= np.average(
            deltas[labels == k], axis=0, weights=problem.weights[labels == k]
        )
    deformation = np.array([d @ found[k] @ d for d, k in zip(deltas, labels, strict=True)])
    warped = problem.measure.render(
        clustering.centroids,
        labels,
        nearest_deltas(problem, clustering).reshape(80, 2, -1).astype("f4"),
    )
    residual = ((warped - problem.images) ** 2).sum(axis=(1, 2, 3))
    assert problem.weights @ deformation == pytest.approx(
        DEFORMATION_SHARE * (problem.weights @ residual), rel=1e-3
    )


def test_what_members_do_costs_less_than_what_none_of_them_does(scene):
    problem, clustering = scene
    found = learn(problem, clustering)
    deltas = nearest_deltas(problem, clustering)[problem.labels(clustering) == 0]
    _, directions = np.linalg.eigh(np.cov(deltas.T))
    typical, untypical = directions[:, -1], directions[:, 0]
    assert typical @ found[0] @ typical < 0.5 * untypical @ found[0] @ untypical


def test_where_nothing_is_deformed_there_is_nothing_to_learn(scene):
    problem, _ = scene
    copies = np.repeat(problem.images[:2], 10, axis=0)
    still = Problem.of(copies, problem.measure)
    assert learn(still, still.assign(problem.images[:2])) is None


def test_the_measure_charges_each_centroid_its_own_penalty(scene):
    problem, clustering = scene
    precision = learn(problem, clustering)
    measure = build_measure((28, 28), landmarks=3, precision=precision)
    fits = measure.align(problem.images[:6], measure.bank(clustering.centroids))
    for i in range(6):
        for k in range(3):
            d = fits.deltas[i, k]
            warped = measure.render(clustering.centroids, np.array([k]), d[None])[0]
            expected = ((warped - problem.images[i]) ** 2).sum() + d.ravel() @ precision[
                k
            ] @ d.ravel()
            assert fits.costs[i, k] == pytest.approx(expected, rel=1e-3)
    # a bank of some of the centroids keeps their priors with them
    alone = measure.align(
        problem.images[:6], measure.bank(clustering.centroids[2:], columns=np.array([2]))
    )
    np.testing.assert_allclose(alone.costs[:, 0], fits.costs[:, 2], rtol=1e-5)


def test_a_model_keeps_what_it_has_learned(real_digits, tmp_path):
    X, _ = real_digits
    model = quick(n_clusters=3, landmarks=3, max_iter=3, search__n_swaps=0).fit(X[:60])
    assert model.deformation_precision_.shape == (3, 18, 18)
    bending = clone(model).set_params(search__deformation_prior="bending").fit(X[:60])
    assert bending.deformation_precision_ is None
    for one in (model, bending):
        one.save(tmp_path / "model.safetensors")
        copy = DIKMeans.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(copy.transform(X[:10]), one.transform(X[:10]))


@pytest.mark.parametrize("swaps", [0, 2])
def test_swaps_are_judged_under_a_prior_that_all_clusters_share(real_digits, monkeypatch, swaps):
    judged = []

    def look(dataset, measure, *_, **__):
        judged.append(measure)
        return iter(())

    monkeypatch.setattr("dikmeans.kmeans.run.swap_moves", look)
    model = quick(n_clusters=3, landmarks=3, max_iter=2, search__n_swaps=swaps)
    model.fit(real_digits[0][:60])
    assert len(judged) == (swaps > 0)
    if judged:
        delta = np.random.default_rng(0).standard_normal((1, 2, 9)).astype(np.float32)
        costs = [float(judged[0].penalty(delta, np.array([k]))[0]) for k in range(3)]
        bending = build_measure((28, 28), landmarks=3).penalty(delta, np.array([0]))
        assert costs[0] == costs[1] == costs[2]
        assert costs[0] != pytest.approx(float(bending[0]))
    # in the end each cluster has its own
    assert not np.allclose(model.deformation_precision_[0], model.deformation_precision_[1])
    phases = {record.phase for record in model.history_.iterations}
    assert (PhaseKind.SHARED_PRIOR.value in phases) == (swaps > 0)


def test_a_fit_stopped_while_clusters_share_a_prior_is_a_whole_model(real_digits):
    X = real_digits[0][:60]
    model = quick(n_clusters=3, landmarks=3, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model.fit(X, progress=lambda event: event.phase.kind is PhaseKind.SHARED_PRIOR)
    assert model.history_.iterations[-1].phase == PhaseKind.SHARED_PRIOR.value
    assert model.deformation_precision_.shape == (3, 18, 18)
    np.testing.assert_array_equal(model.deformation_precision_[0], model.deformation_precision_[2])
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_run_stopped_early_does_not_replace_one_that_has_ended(real_digits):
    """Its inertia is of another measure, and lower: without the priors of clusters."""
    X = real_digits[0][:60]
    settings = {"n_clusters": 3, "landmarks": 3, "max_iter": 2}
    model = quick(n_init=2, **settings)
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model.fit(X, progress=lambda e: e.run == 2 and e.phase.kind is PhaseKind.SEARCH)
    one = quick(**settings).fit(X)
    assert model.inertia_ == one.inertia_
    np.testing.assert_array_equal(model.deformation_precision_, one.deformation_precision_)
