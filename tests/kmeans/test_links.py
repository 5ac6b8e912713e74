"""Links between images: joint assignment at the least cost, against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dikmeans.kmeans.guidance import Guidance
from dikmeans.kmeans.links import LinkError, Links
from dikmeans.registration.measure import PairFits, all_centroids


def drawn_pairs(rng, n_images, most):
    return [tuple(rng.choice(n_images, 2, replace=False)) for _ in range(rng.integers(0, most))]


def least_total(links, costs):
    """By trying every assignment of groups; None if none is allowed."""
    groups = range(len(links.groups))
    totals = [
        sum(costs[g, clusters[g]] for g in groups)
        for clusters in product(range(costs.shape[1]), repeat=len(groups))
        if all(clusters[g] != clusters[other] for g in groups for other in links.apart[g])
    ]
    finite = [total for total in totals if np.isfinite(total)]
    return min(finite) if finite else None


@pytest.mark.parametrize("seed", range(40))
def test_the_assignment_is_the_cheapest_that_the_links_allow(seed):
    rng = np.random.default_rng(seed)
    together, apart = drawn_pairs(rng, 7, 3), drawn_pairs(rng, 7, 6)
    try:
        links = Links.build(together, apart)
    except LinkError:
        links = None
    if links is None:
        return
    costs = rng.random((len(links.groups), rng.integers(2, 5)))
    costs[rng.random(costs.shape) < 0.15] = np.inf
    expected = least_total(links, costs)
    if expected is None:
        with pytest.raises(LinkError):
            links.assign(costs)
        return
    clusters = links.assign(costs)
    assert costs[np.arange(len(clusters)), clusters].sum() == pytest.approx(expected)
    assert all(clusters[g] != clusters[o] for g, others in enumerate(links.apart) for o in others)


def test_many_images_apart_are_placed_without_trying_everything():
    rng = np.random.default_rng(0)
    chain = [(i, i + 1) for i in range(2999)]
    links = Links.build([], chain)
    clusters = links.assign(rng.random((3000, 4)))
    assert (clusters[:-1] != clusters[1:]).all()


def test_images_that_are_to_be_together_by_way_of_others_cannot_be_apart():
    with pytest.raises(LinkError, match="Images 1, 4 are to be both together and apart"):
        Links.build([(1, 2), (2, 3), (3, 4)], [(4, 1)])


def test_more_images_apart_than_clusters_are_named():
    links = Links.build([], [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(LinkError, match="Images 0, 1, 2 cannot be kept apart in 2 clusters"):
        links.assign(np.zeros((3, 2)))


def test_a_search_that_gave_up_does_not_call_it_impossible(monkeypatch):
    monkeypatch.setattr("dikmeans.kmeans.links.MAX_STEPS", 2)
    links = Links.build([], [(0, 1), (1, 2)])
    with pytest.raises(
        LinkError, match=r"no way .* in 2 clusters was found in 2 steps; link fewer"
    ):
        links.assign(np.zeros((3, 2)))


def test_linked_images_see_one_cluster_only_and_all_its_columns():
    """Costs of two images to two columns of cluster 0 and one of cluster 1."""
    costs = np.array([[5.0, 1.0, 2.0], [9.0, 6.0, 4.0], [0.0, 9.0, 9.0]])
    together = Guidance.build(2, {}, links=Links.build([(0, 1)], []))
    together = together._replace(columns=np.array([0, 0, 1]))
    status = orientations = np.zeros((3, 3))
    fits = PairFits(costs, np.zeros((3, 3, 2, 1)), status, orientations, all_centroids(3, 3))
    charged = together.charge(fits).costs  # 2 + 4 in cluster 1, 1 + 6 in cluster 0
    assert charged[:2].argmin(axis=1).tolist() == [2, 2]
    assert np.isinf(charged[:2, :2]).all()
    np.testing.assert_array_equal(charged[2], costs[2])


def test_what_a_cluster_costs_all_images_is_added_to_its_columns():
    guidance = Guidance.build(2, {1: 1}, of_clusters=np.array([0.5, 0.0]))
    costs = status = orientations = np.zeros((2, 2))
    fits = PairFits(costs, np.zeros((2, 2, 2, 1)), status, orientations, all_centroids(2, 2))
    np.testing.assert_array_equal(guidance.charge(fits).costs, [[0.5, 0], [np.inf, 0]])
    part = guidance.take(np.array([0]))
    assert not len(part.numbers)
    np.testing.assert_array_equal(part.of_clusters, guidance.of_clusters)
