"""A run is a sequence of states: continued from any of them it ends with the same result."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dikmeans.kmeans import swaps
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.run import Run
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.preprocessing import UnitNorm
from tests.helpers import quick

FITS = {
    "tps": {"landmarks": 3, "search__sample_size": 70, "n_prototypes": 2, "search__n_swaps": 4},
    "image to centroid": {"warp": "affine", "direction": "image-to-centroid"},
    "none": {"warp": "none", "search__n_swaps": 3},
    "without search": {
        "search__deformation_prior": "bending",
        "search__warm_up": False,
        "search__n_swaps": 0,
        "landmarks": 2,
    },
    "given centroids": {"init": "given", "warp": "affine", "n_prototypes": 2},
    "one cluster": {"n_clusters": 1, "landmarks": 2},
}


@pytest.fixture(params=FITS)
def make_run(request, tiny_digits, monkeypatch):
    """Makes the same run again and again."""
    monkeypatch.setattr(swaps, "TRIAL_ITERATIONS", 1)  # more is left to settle after a swap
    parameters = {"n_clusters": 5, "init": "random", **FITS[request.param]}
    given = parameters["init"] == "given"
    model = quick(**{**parameters, "init": "random"})
    preprocessing = UnitNorm().fit(tiny_digits[0][:90])
    images = preprocessing.apply(tiny_digits[0][:90, None])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    schedule = model.schedule_for(90, (8, 8))
    if given:
        model.set_params(init=tiny_digits[0][:5])
        schedule = model.schedule_for(90, (8, 8))

    def make():
        dataset = Dataset.in_memory(images, weights, n_jobs=1)
        init = images[:5] if given else "random"
        return Run(dataset, (8, 8), model.measure_for(preprocessing), schedule, init, seed=5)

    return make


def same(one, other):
    """Whether two results are the same to the last bit, but for seconds."""
    arrays = [
        (result.prototypes.pictures, result.prototypes.clusters, result.prototype_weights)
        + (result.init_centroids, *result.assignment)
        + (() if result.precision is None else (result.precision,))
        for result in (one, other)
    ]
    histories = [
        [(r.phase, r.inertia, r.n_images, r.moved) for r in result.history.iterations]
        for result in (one, other)
    ]
    return (
        len(arrays[0]) == len(arrays[1])
        and all(a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True))
        and histories[0] == histories[1]
        and (one.inertia, one.history.stopped) == (other.inertia, other.history.stopped)
    )


def test_a_run_continued_from_any_of_its_states_ends_with_the_same_result(make_run):
    run = make_run()
    states = list(run.states())
    expected = run.result(states[-1])
    assert len(states) > 2
    for number, state in enumerate(states):
        again = make_run()
        following = list(again.states(state))
        assert len(following) == len(states) - 1 - number
        assert same(again.result(following[-1] if following else state), expected)


def test_states_are_values_that_later_ones_leave_as_they_are(make_run):
    run = make_run()
    kept = []
    for state in run.states():
        centroids = state.clustering.centroids
        kept.append((state, centroids.copy(), [a.copy() for a in state.clustering.fits[0]]))
    for state, centroids, fits in kept:
        np.testing.assert_array_equal(state.clustering.centroids, centroids)
        for array, copy in zip(state.clustering.fits[0], fits, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_states_count_iterations_and_trials_phase_by_phase(make_run):
    run = make_run()
    states = list(run.states())
    phases = run.schedule.phases
    assert phases[states[-1].phase].kind is PhaseKind.ASSIGNMENT
    for before, after in pairwise(states):
        assert after.phase >= before.phase
        grown = len(after.history) - len(before.history)
        kind = phases[after.phase].kind
        if kind is PhaseKind.ASSIGNMENT:
            assert (grown, after.phase > before.phase) == (0, True)
        elif kind is PhaseKind.SWAPS:
            tried = after.iteration - (before.iteration if after.phase == before.phase else 0)
            assert (grown, tried) in {(0, 1), (1, 0)}  # a trial, or an iteration after one
        else:
            assert grown == 1
            first = after.phase > before.phase
            assert after.iteration == (1 if first else before.iteration + 1)
            assert after.iteration <= phases[after.phase].max_iter
        if grown:
            assert after.history[-1].phase == phases[after.phase].name
            assert after.history[-1].inertia == after.clustering.inertia


def test_an_unfinished_run_has_a_result_too(make_run):
    run = make_run()
    state = next(run.states())
    result = run.result(state, "interrupted")
    assert result.history.stopped == "interrupted"
    assert len(result.prototypes.pictures) == run.schedule.n_clusters
    assert len(result.assignment.labels) == 90
