"""How long a swap is tried before it is given up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dikmeans.kmeans import swaps

BEFORE = SimpleNamespace(inertia=100.0, centroids=np.zeros((3, 1, 2, 2)))


@pytest.fixture
def iterations(monkeypatch):
    """Has a trial go through given inertias, one per iteration; returns how many it was given."""

    def follow(inertias):
        states = [SimpleNamespace(inertia=d, number=i) for i, d in enumerate(inertias)]

        def descend(dataset, measure, state, *, max_iter, tol):
            return states[min(state.number + max_iter, len(states) - 1)]

        monkeypatch.setattr(swaps, "descend", descend)
        dataset = SimpleNamespace(realign=lambda *_: states[0])
        halves = {1: swaps.Split(np.ones((2, 1, 2, 2)), 1.0)}
        return swaps._try_swaps(dataset, None, BEFORE, [(0, 1)], halves).number

    return follow


def test_a_trial_that_stalls_above_is_given_up_after_a_few_iterations(iterations):
    assert (
        iterations([130.0, 110.0, 105.0, 104.0, 103.9, 103.8, 103.7, 90.0])
        == swaps.TRIAL_ITERATIONS
    )


def test_a_trial_that_is_better_is_handed_on_at_once(iterations):
    assert iterations([130.0, 110.0, 101.0, 99.5, 99.0, 98.0, 97.0]) == swaps.TRIAL_ITERATIONS


def test_a_trial_goes_on_while_it_would_get_there_at_its_pace(iterations):
    assert iterations([130.0, 106.0, 103.0, 101.5, 100.8, 100.4, 100.1, 99.8, 99.0]) == 7


def test_no_trial_goes_on_for_ever(iterations):
    creeping = 100.0 + 10 * 0.7 ** np.arange(100)
    assert iterations(creeping) == swaps.MAX_TRIAL_ITERATIONS


class TestProspects:
    @staticmethod
    def splits(gains):
        return {k: swaps.Split(np.zeros((2, 1, 2, 2)), gain) for k, gain in enumerate(gains)}

    def test_with_few_clusters_the_best_balance_is_tried_alone(self):
        losses = np.array([5.0, 1.0, 3.0])
        assert swaps._best_prospects(losses, self.splits([2.0, 4.0, 6.0]), frozenset()) == [(1, 2)]

    def test_swaps_that_failed_or_are_not_worthwhile_are_not_tried(self):
        losses = np.array([5.0, 1.0, 300.0])
        splits = self.splits([0.0, 0.0, 6.0])
        assert swaps._best_prospects(losses, splits, frozenset({(1, 2)})) == [(0, 2)]
        assert swaps._best_prospects(losses, splits, frozenset({(1, 2), (0, 2)})) == []

    def test_with_many_clusters_several_are_tried_at_once_and_no_cluster_twice(self):
        rng = np.random.default_rng(0)
        losses, gains = rng.uniform(0, 1, (2, 200))
        chosen = swaps._best_prospects(losses, self.splits(gains), frozenset())
        assert len(chosen) == swaps.swaps_per_trial(200) == 20
        assert len({cluster for pair in chosen for cluster in pair}) == 40
        balances = [gains[split] - losses[drop] for drop, split in chosen]
        assert balances == sorted(balances, reverse=True)
