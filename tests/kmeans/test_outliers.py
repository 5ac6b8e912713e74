"""The rule for outliers, and that they pull no centroid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dikmeans.kmeans.lloyd import descend, lloyd
from dikmeans.kmeans.outliers import AUTO_THRESHOLD, cutoff_for, learn_rule
from tests.helpers import build_measure
from tests.kmeans.problem import Problem


def lognormal_costs(n, seed=0, spread=0.4):
    return np.exp(np.random.default_rng(seed).normal(-2, spread, n))


def test_scores_of_lognormal_costs_are_normal_quantiles():
    costs = lognormal_costs(20_000)
    rule = learn_rule(None, costs, np.zeros(20_000, int), None, 1)
    share = (rule.scores(costs, np.zeros(20_000, int)) > 2).mean()
    assert share == pytest.approx(stats.norm.sf(2), rel=0.15)
    assert rule.centers[0] == pytest.approx(-2, abs=0.02)
    assert rule.spreads[0] == pytest.approx(0.4, rel=0.05)
    assert not rule.are_outliers(costs, np.zeros(20_000, int)).any()  # none were asked for


def test_each_cluster_is_judged_by_its_own_costs():
    tight, wide = lognormal_costs(500, 1, 0.1), 3 * lognormal_costs(500, 2, 0.6)
    costs, clusters = np.concatenate([tight, wide]), np.repeat([0, 1], 500)
    rule = learn_rule("auto", costs, clusters, None, 2)
    assert rule.spreads[0] < rule.spreads[1]
    odd = np.array([0.3])
    assert rule.are_outliers(odd, np.array([0])).all()
    assert not rule.are_outliers(odd, np.array([1])).any()


@given(st.floats(0.01, 0.5), st.integers(0, 100))
def test_a_share_is_that_share_of_the_images(share, seed):
    costs = lognormal_costs(400, seed)
    clusters = np.random.default_rng(seed).integers(0, 3, 400)
    rule = learn_rule(share, costs, clusters, None, 3)
    assert rule.are_outliers(costs, clusters).mean() == pytest.approx(share, abs=0.003)


def test_images_far_off_hardly_change_the_rule():
    costs = lognormal_costs(1000)
    spoiled = np.concatenate([costs, np.full(100, 50.0)])
    clean = learn_rule("auto", costs, np.zeros(1000, int), None, 1)
    rule = learn_rule("auto", spoiled, np.zeros(1100, int), None, 1)
    assert rule.threshold == AUTO_THRESHOLD
    assert rule.centers[0] == pytest.approx(clean.centers[0], abs=0.06)
    assert rule.are_outliers(spoiled, np.zeros(1100, int))[1000:].all()


def test_outliers_that_form_a_cluster_do_not_excuse_each_other():
    costs = np.concatenate([lognormal_costs(1000), np.full(60, 1.0)])
    clusters = np.repeat([0, 1], [1000, 60])
    assert learn_rule("auto", costs, clusters, None, 2).are_outliers(costs, clusters)[1000:].all()


@pytest.mark.parametrize("costs", [np.zeros(9), np.full(9, 0.3), np.array([0.0] * 5 + [1.0] * 4)])
def test_costs_without_a_spread_do_no_harm(costs):
    rule = learn_rule("auto", costs, np.zeros(9, int), None, 1)
    assert np.isfinite(rule.centers).all()
    assert (rule.spreads > 0).all()


def test_without_the_wish_for_outliers_there_is_no_cutoff():
    assert cutoff_for(None, lognormal_costs(50), None) == np.inf


@pytest.fixture(scope="module", params=["none", "tps"])
def spoiled(request, digits_by_class):
    """Twenty zeros and ones, and one picture of noise."""
    images = digits_by_class[:2, :10].reshape(20, 1, 28, 28)
    noise = np.random.default_rng(0).random((1, 1, 28, 28)).astype(np.float32) * 5
    return Problem.of(np.concatenate([images, noise]), build_measure((28, 28), warp=request.param))


def test_an_outlier_pulls_no_centroid(spoiled):
    clean = Problem.of(spoiled.images[:20], spoiled.measure)
    start = clean.assign(clean.images[[0, 10]])
    without = descend(clean.dataset, clean.measure, start, max_iter=4, tol=0.0)
    cutoff = 2 * clean.local(start).nearest_costs.max()
    trimmed = Problem(spoiled.dataset.trimmed(cutoff), spoiled.measure)
    begun = trimmed.assign(clean.images[[0, 10]])
    ended = descend(trimmed.dataset, trimmed.measure, begun, max_iter=4, tol=0.0)
    np.testing.assert_allclose(ended.centroids, without.centroids, atol=1e-6)
    assert ended.inertia == pytest.approx(without.inertia + cutoff)
    assert ended.sizes.sum() == 20


def test_the_inertia_with_a_cutoff_falls_in_every_iteration(spoiled):
    trimmed = Problem(spoiled.dataset.trimmed(25.0), spoiled.measure)
    start = trimmed.assign(spoiled.images[[0, 20]])
    steps = lloyd(trimmed.dataset, trimmed.measure, start, max_iter=6, tol=0.0)
    inertias = [start.inertia, *(step.clustering.inertia for step in steps)]
    assert all(np.diff(inertias) <= 1e-6 * inertias[0])
