"""Runs that are not the best: their clusters are not divided, and nothing else changes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from dikmeans.kmeans.run import Run


@pytest.fixture(scope="module", params=["affine", "tps"])
def model(request):
    """Three runs of which not every one is better than those before it."""
    return DIKMeans(
        4, warp=request.param, n_init=3, n_prototypes=2, max_iter=3, random_state=0, n_jobs=1
    )


def test_only_runs_that_improve_on_those_before_are_divided(monkeypatch, model):
    X = load_digits().images[:60]
    divided, divide, states = [], Run._divide, Run.states

    def count(run, state):
        divided.append(state.clustering.inertia)
        return divide(run, state)

    monkeypatch.setattr(Run, "_divide", count)
    found = clone(model).fit(X)
    n_divided = len(divided)
    assert divided == sorted(divided, reverse=True)

    monkeypatch.setattr(Run, "states", lambda run, state, _: states(run, state))
    divided.clear()
    all_divided = clone(model).fit(X)
    assert len(divided) == 3 > n_divided == len({*np.minimum.accumulate(divided)})
    np.testing.assert_array_equal(found.labels_, all_divided.labels_)
    np.testing.assert_array_equal(found.prototypes_, all_divided.prototypes_)
    assert found.inertia_ == all_divided.inertia_
    assert found.n_iter_ == all_divided.n_iter_
