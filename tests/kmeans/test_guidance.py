"""Surcharges: where images that a person has placed may be, and what they do to a clustering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.kmeans.guidance import Guidance
from dikmeans.kmeans.lloyd import descend, lloyd
from tests.helpers import build_measure
from tests.kmeans.problem import Problem


@pytest.fixture(scope="module", params=["none", "tps"])
def problem(request, digits_by_class):
    """Thirty digits 0, 1 and 2."""
    images = digits_by_class[:3, :10].reshape(30, 1, 28, 28)
    return Problem.of(images, build_measure((28, 28), warp=request.param))


def guided(problem, guidance):
    return Problem(problem.dataset.guided(guidance), problem.measure)


def test_pinned_images_stay_and_the_inertia_falls_in_every_iteration(problem):
    pinned = {0: 1, 5: 2, 29: 0}
    constrained = guided(problem, Guidance.build(3, pinned))
    start = constrained.assign(problem.images[[1, 11, 21]])
    inertias = [start.inertia]
    for step in lloyd(constrained.dataset, problem.measure, start, max_iter=5, tol=0.0):
        labels = constrained.labels(step.clustering)
        assert {image: labels[image] for image in pinned} == pinned
        inertias.append(step.clustering.inertia)
    assert all(np.diff(inertias) <= 1e-6 * inertias[0])


def test_the_cost_of_a_pinned_image_is_that_of_the_measure(problem):
    """The image lies where it is hopeless: the pair is refined nevertheless."""
    constrained = guided(problem, Guidance.build(3, {0: 1}))
    centroids = problem.images[[1, 11, 21]]
    cost = constrained.fits(constrained.assign(centroids)).costs[0]
    alone = problem.measure.align(problem.images[:1], problem.measure.bank(centroids)).costs[0]
    assert cost[1] == pytest.approx(alone[1])
    assert np.isinf(cost[[0, 2]]).all()
    assigned = constrained.dataset.evaluate(problem.measure, centroids, np.arange(3))
    assert assigned.labels[0] == 1
    assert assigned.costs[0] == pytest.approx(alone[1])
    assert assigned.margins[0] == pytest.approx(alone[[0, 2]].min() - alone[1])


def test_forbidden_clusters_are_left(problem):
    free = problem.assign(problem.images[[1, 11, 21]])
    away = {i: frozenset({int(label)}) for i, label in enumerate(problem.labels(free)[:4])}
    constrained = guided(problem, Guidance.build(3, {}, away))
    labels = constrained.labels(constrained.assign(problem.images[[1, 11, 21]]))
    assert all(labels[i] not in clusters for i, clusters in away.items())


def test_a_weak_surcharge_is_paid_where_another_cluster_saves_more(problem):
    centroids = problem.images[[1, 11, 21]]
    costs = problem.fits(problem.assign(centroids)).costs[0]
    cheapest, pinned = int(costs.argmin()), int(costs.argmax())
    for strength, expected in ((1e-6, cheapest), (1e6, pinned)):
        soft = guided(problem, Guidance.build(3, {0: pinned}, strength=strength))
        assert soft.labels(soft.assign(centroids))[0] == expected


def test_an_image_pulls_the_centroid_it_is_pinned_to(digits_by_class):
    """Without a warp the centroid is the mean of the members, wherever they come from."""
    images = digits_by_class[:2, :6].reshape(12, 1, 28, 28)
    problem = Problem.of(images, build_measure((28, 28), warp="none"))
    constrained = guided(problem, Guidance.build(2, {0: 1}))
    start = constrained.assign(problem.images[[1, 7]])
    ended = descend(constrained.dataset, problem.measure, start, max_iter=20, tol=0.0)
    labels = constrained.labels(ended)
    assert labels[0] == 1
    for k in range(2):
        mean = problem.images[labels == k].mean(axis=0)
        np.testing.assert_allclose(ended.centroids[k], mean, atol=1e-6)


@given(st.data())
def test_a_part_of_the_images_takes_its_surcharges_along(data):
    pinned = data.draw(st.dictionaries(st.integers(0, 19), st.integers(0, 2), min_size=1))
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, 19), min_size=1))))
    guidance = Guidance.build(3, pinned)
    part = guidance.take(chosen)
    expected = {int(np.flatnonzero(chosen == i)[0]): k for i, k in pinned.items() if i in chosen}
    if part is None:
        assert not expected
    else:
        rows = zip(part.numbers, part.surcharges, strict=True)
        found = {int(i): int(row.argmin()) for i, row in rows}
        assert found == expected
