"""The number of clusters: the one on which two halves of the images agree."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from dikmeans.evaluation import NClustersScore, choose_n_clusters, score_n_clusters


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    """Three groups of 40 points, far apart."""
    rng = np.random.default_rng(0)
    return np.repeat([[0.0, 0], [20, 0], [0, 20]], 40, axis=0) + rng.normal(size=(120, 2))


KM = KMeans(n_init=3)


def test_three_groups_are_recommended_as_three_clusters(blobs):
    scores = list(score_n_clusters(KM, blobs, range(2, 7), n_splits=3))
    assert [score.n_clusters for score in scores] == [2, 3, 4, 5, 6]
    assert scores[1].stability == (1.0, 1.0, 1.0)
    assert all(score.mean_stability < 0.95 for score in scores if score.n_clusters != 3)
    assert choose_n_clusters(scores).n_clusters == 3


def test_the_mean_cost_is_that_of_the_halves_and_falls_with_every_cluster(blobs):
    one, *more = score_n_clusters(KM, blobs, [1, 2, 3, 6])
    expected = []
    for seed in (0, 1):
        order = np.random.RandomState(seed).permutation(len(blobs))
        halves = (blobs[order[::2]], blobs[order[1::2]])
        expected.append(sum(((half - half.mean(0)) ** 2).sum() for half in halves) / len(blobs))
    assert one.cost == pytest.approx(np.mean(expected))
    costs = [one.cost, *(score.cost for score in more)]
    assert costs == sorted(costs, reverse=True)
    assert one.stability == (1.0, 1.0)  # a single cluster is always stable


def test_the_same_seed_gives_the_same_scores_and_the_estimator_is_not_changed(blobs):
    first, again, other = (
        [score[:3] for score in score_n_clusters(KM, blobs, [4, 5], random_state=seed)]
        for seed in (3, 3, 8)
    )
    assert first == again
    assert first != other
    assert KM.get_params() == KMeans(n_init=3).get_params()


def test_a_model_with_prototypes_gets_one_per_cluster(blobs):
    seen = []

    class WithPrototypes(KMeans):
        def __init__(self, n_clusters=8, n_prototypes="auto", random_state=None):
            super().__init__(n_clusters, n_init=1, random_state=random_state)
            self.n_prototypes = n_prototypes

        def fit(self, X):
            seen.append(self.n_prototypes)
            return super().fit(X)

    list(score_n_clusters(WithPrototypes(), blobs, [2]))
    assert seen == [1, 1, 1, 1]


def score(n_clusters: int, *stability: float) -> NClustersScore:
    return NClustersScore(n_clusters, stability, cost=1.0, seconds=1.0)


def test_of_equally_stable_numbers_the_largest_is_recommended():
    choice = choose_n_clusters([score(2, 0.9, 0.9), score(5, 0.9, 0.9), score(7, 0.4, 0.4)])
    assert (choice.n_clusters, choice.alternatives, choice.standard_error) == (5, (2,), 0.0)


def test_numbers_within_two_standard_errors_of_the_difference_are_alternatives():
    # variances 0.02, 0.02, 0.02: standard error of a mean 0.1, two of a difference 0.283
    scores = [score(2, 0.9, 0.7), score(3, 0.65, 0.45), score(4, 0.6, 0.4)]
    choice = choose_n_clusters(scores)
    assert choice.standard_error == pytest.approx(0.1)
    assert (choice.n_clusters, choice.alternatives) == (2, (3,))


def test_one_split_has_no_standard_error():
    choice = choose_n_clusters([score(2, 0.5), score(3, 0.6)])
    assert (choice.n_clusters, choice.alternatives, choice.standard_error) == (3, (), 0.0)
