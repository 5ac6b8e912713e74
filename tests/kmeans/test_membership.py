"""Temperature and memberships."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from dikmeans.kmeans.membership import confidence, learn_temperature, membership


@pytest.mark.parametrize("shape", [0.8, 3.0, 20.0])
def test_the_temperature_is_the_scale_of_the_gamma_law(shape):
    costs = np.random.default_rng(0).gamma(shape, 0.03, size=5_000)
    _, _, scale = stats.gamma.fit(costs, floc=0)
    assert learn_temperature(costs) == pytest.approx(scale, rel=0.02)


def test_memberships_are_the_softmax_of_minus_the_costs():
    costs = np.random.default_rng(0).random((7, 4)) * 100
    np.testing.assert_allclose(membership(costs, 3.0), softmax(-costs / 3.0, axis=1))


def test_with_two_clusters_confidence_is_membership():
    costs = np.random.default_rng(0).random((9, 2))
    margins = np.abs(costs[:, 0] - costs[:, 1])
    np.testing.assert_allclose(confidence(margins, 0.2), membership(costs, 0.2).max(axis=1))


def test_costs_that_are_all_alike_make_certain_memberships():
    assert learn_temperature(np.full(5, 0.3)) == 0.0
    assert learn_temperature(np.zeros(3)) == 0.0
    np.testing.assert_array_equal(membership(np.array([[1.0, 2.0]]), 0.0), [[1.0, 0.0]])
    np.testing.assert_array_equal(membership(np.array([[1.0, 1.0]]), 0.0), [[0.5, 0.5]])
    assert confidence(np.array([np.nan]), 0.1) == 1.0
