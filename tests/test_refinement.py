"""Refinement: a person's word holds, the rest follows the data."""

from __future__ import annotations

import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.kmeans.guidance import FREE
from dikmeans.parallel.cancel import Cancelled
from dikmeans.refinement import (
    Corrections,
    RefinementError,
    find_resistance,
    refine,
)
from tests.helpers import quick


@pytest.fixture(scope="module")
def pictures(digits_by_class):
    """Eighty digits 0, 1, 4 and 7."""
    return digits_by_class[[0, 1, 4, 7], :20].reshape(80, 28, 28)


@pytest.fixture(scope="module")
def model(pictures):
    return quick(n_clusters=4, n_prototypes=2).fit(pictures)


def own_prototypes(model):
    return Corrections.none(model).clusters


def test_without_corrections_few_images_move_and_the_old_model_stays(model, pictures):
    before = model.prototypes_.copy()
    refined = refine(model, pictures, Corrections.none(model))
    assert (refined.labels_ == model.labels_).mean() > 0.9
    assert refined.inertia_ <= model.inertia_ * 1.001
    np.testing.assert_array_equal(model.prototypes_, before)
    np.testing.assert_array_equal(refined.predict(pictures), refined.labels_)


def test_pinned_and_rejected_images_are_where_they_were_put(model, pictures):
    pinned = {3: 1, 40: 2, 77: 0}
    corrections = Corrections(own_prototypes(model), pinned=pinned, rejected=frozenset({5, 6}))
    refined = refine(model, pictures, corrections)
    assert {image: refined.labels_[image] for image in pinned} == pinned
    assert (refined.labels_[[5, 6]] == -1).all()
    free = refined.decided_ == FREE
    assert free.sum() == 75
    np.testing.assert_array_equal(refined.predict(pictures)[free], refined.labels_[free])


def test_forbidden_clusters_are_left(model, pictures):
    away = {i: frozenset({int(model.labels_[i])}) for i in (0, 25)}
    refined = refine(model, pictures, Corrections(own_prototypes(model), forbidden=away))
    assert all(refined.labels_[i] not in clusters for i, clusters in away.items())


def test_merged_clusters_keep_the_images_of_both(model, pictures):
    first, second, *others = own_prototypes(model)
    refined = refine(model, pictures, Corrections((first + second, *others)))
    assert refined.n_clusters == 3
    both = np.isin(model.labels_, [0, 1])
    assert (refined.labels_[both] == 0).mean() > 0.95
    precision = refined.deformation_precision_
    assert (np.linalg.eigvalsh(precision) > 0).all()


def test_a_cluster_of_chosen_images_gets_prototypes_of_theirs(model, pictures):
    members = np.flatnonzero(model.labels_ == model.labels_[0])[:6]
    corrections = Corrections((*own_prototypes(model), ()), {int(i): 4 for i in members})
    refined = refine(model, pictures, corrections)
    assert refined.n_clusters == 5
    assert (refined.labels_[members] == 4).all()
    assert (refined.prototype_clusters_ == 4).sum() >= 1


def test_fixed_clusters_keep_their_prototypes(model, pictures):
    corrections = Corrections(own_prototypes(model), fixed=frozenset({2}))
    refined = refine(model, pictures, corrections)
    kept = model.prototypes_[model.prototype_clusters_ == 2]
    found = refined.prototypes_[refined.prototype_clusters_ == 2]
    for picture in found:
        assert min(np.abs(picture - other).max() for other in kept) < 1e-6
    moved = refined.prototypes_[refined.prototype_clusters_ != 2]
    others = model.prototypes_[model.prototype_clusters_ != 2]
    assert any(np.abs(picture - others).max(axis=(1, 2)).min() > 1e-6 for picture in moved)


def test_rejected_images_pull_no_prototype(model, pictures):
    """Whatever they show: noise in their place changes nothing."""
    rejected = frozenset(range(0, 80, 9))
    spoiled = pictures.copy()
    noise = np.random.default_rng(0).random((len(rejected), 28, 28))
    spoiled[sorted(rejected)] = noise
    corrections = Corrections(own_prototypes(model), rejected=rejected)
    clean, noisy = (refine(model, X, corrections) for X in (pictures, spoiled))
    kept = np.ones(80, dtype=bool)
    kept[sorted(rejected)] = False
    np.testing.assert_array_equal(clean.labels_[kept], noisy.labels_[kept])
    np.testing.assert_allclose(clean.cluster_weights_, noisy.cluster_weights_)


def test_a_decision_that_the_data_speaks_against_is_named(model, pictures):
    costs = model.transform(pictures)
    ratio = np.sort(costs, axis=1)[:, 0] / costs.max(axis=1)
    odd = int(ratio.argmin())
    best = model.assignment_.costs.argsort()[:2].tolist()
    typical = best[0] if best[0] != odd else best[1]
    pinned = {odd: int(costs[odd].argmax())}
    corrections = Corrections(own_prototypes(model), pinned, rejected=frozenset({typical}))
    refined = refine(model, pictures, corrections, max_iter=1)
    decided = np.flatnonzero(refined.decided_ != FREE)
    rows = dict(zip(decided.tolist(), refined.transform(pictures[decided]), strict=True))
    resisted = {one.image: one for one in find_resistance(refined, rows)}
    assert set(resisted) == {odd, typical}
    assert resisted[odd].decided == pinned[odd]
    assert resisted[odd].cost_elsewhere < resisted[odd].cost
    assert resisted[typical].decided == -1


def test_decisions_names_and_identities_survive_a_file_and_the_next_refinement(
    model, pictures, tmp_path
):
    corrections = Corrections(
        own_prototypes(model),
        pinned={3: 1},
        rejected=frozenset({9}),
        ids=("a", "b", "c", "d"),
        names=("zero", None, "four", None),
    )
    refine(model, pictures, corrections).save(tmp_path / "model")
    loaded = DIKMeans.load(tmp_path / "model")
    assert loaded.cluster_ids_ == ("a", "b", "c", "d")
    assert loaded.cluster_names_ == ("zero", None, "four", None)
    again = refine(loaded, pictures, Corrections.none(loaded))
    assert (again.labels_[3], again.labels_[9]) == (1, -1)
    assert again.cluster_ids_ == loaded.cluster_ids_


def test_linked_images_are_together_or_apart(model, pictures):
    labels = model.labels_
    costs = model.transform(pictures)
    odd = int(np.flatnonzero(labels == 2)[0])
    friends = np.flatnonzero(labels == 1)[:3].tolist()
    twins = np.flatnonzero(labels == 3)[:2].tolist()
    corrections = Corrections(
        own_prototypes(model),
        must_link=((odd, friends[0]), (friends[0], friends[1]), (friends[2], friends[1])),
        cannot_link=(tuple(twins),),
    )
    refined = refine(model, pictures, corrections)
    together = refined.labels_[[odd, *friends]]
    assert (together == together[0]).all()
    totals = costs[[odd, *friends]].sum(axis=0)
    assert together[0] == totals.argmin()  # three against one
    assert refined.labels_[twins[0]] != refined.labels_[twins[1]]
    assert 3 in refined.labels_[twins]  # the one that fits better stays
    others = np.setdiff1d(np.arange(80), [odd, *friends, *twins])
    np.testing.assert_array_equal(refined.predict(pictures)[others], refined.labels_[others])
    assert (refined.decided_ == FREE).all()


def test_a_pinned_image_takes_those_that_are_linked_to_it_along(model, pictures):
    corrections = Corrections(own_prototypes(model), pinned={3: 1}, must_link=((50, 3), (70, 50)))
    assert (refine(model, pictures, corrections).labels_[[3, 50, 70]] == 1).all()


def test_weights_multiply_memberships_and_hold_for_new_images(model, pictures, tmp_path):
    clusters = own_prototypes(model)
    plain = refine(model, pictures, Corrections(clusters), max_iter=0)
    weights = (1.0, 1e-3, 1.0, 1.0)
    weighted = refine(model, pictures, Corrections(clusters, weights=weights), max_iter=0)
    # by hand, from the costs and the temperature of the model before
    costs = plain.transform(pictures)
    expected = (costs - model.temperature_ * np.log(weights)).argmin(axis=1)
    assert (expected != plain.labels_).any()
    np.testing.assert_array_equal(weighted.labels_, expected)
    np.testing.assert_array_equal(weighted.predict(pictures), weighted.labels_)
    np.testing.assert_array_equal(weighted.membership(pictures).argmax(axis=1), expected)
    found = weighted.assignment_.costs  # those of the measure, without a surcharge
    np.testing.assert_allclose(found, costs[np.arange(80), expected], rtol=1e-4)
    scaled = Corrections(clusters, weights=tuple(7 * weight for weight in weights))
    np.testing.assert_array_equal(
        refine(model, pictures, scaled, max_iter=0).labels_, weighted.labels_
    )
    weighted.save(tmp_path / "model")
    loaded = DIKMeans.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(pictures), weighted.labels_)
    kept = np.array(Corrections.none(loaded).weights)
    assert kept.argmin() == 1
    np.testing.assert_allclose(kept[[0, 2, 3]], 1.0)


def test_a_lighter_cluster_loses_images(model, pictures):
    clusters = own_prototypes(model)
    sizes = [
        (refine(model, pictures, Corrections(clusters, weights=(1, w, 1, 1))).labels_ == 1).sum()
        for w in (1e-6, 1, 1e6)
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_cancelled_refinement_changes_nothing(model, pictures):
    heard = []
    with pytest.raises(Cancelled):
        refine(
            model,
            pictures,
            Corrections.none(model),
            progress=heard.append,
            is_cancelled=lambda: bool(heard),
        )
    assert [iteration.number for iteration in heard] == [1]
    asked = []
    with pytest.raises(Cancelled):  # within an iteration: at the third batch that is asked for
        refine(
            model,
            pictures,
            Corrections.none(model),
            progress=heard.append,
            is_cancelled=lambda: asked.append(1) or len(asked) > 2,
        )
    assert len(heard) == 1
    refine(model, pictures, Corrections.none(model), max_iter=1)  # nothing is left of it


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clusters": ()}, "a cluster left"),
        ({"pinned": {80: 0}}, "no image 80"),
        ({"pinned": {0: 4}}, "no cluster 4"),
        ({"rejected": frozenset({-1})}, "no image -1"),
        ({"fixed": frozenset({7})}, "no cluster 7"),
        ({"pinned": {1: 0}, "rejected": frozenset({1})}, "both rejected and pinned"),
        ({"pinned": {1: 0}, "forbidden": {1: frozenset({0})}}, "forbidden in every cluster"),
        ({"forbidden": {1: frozenset({0, 1, 2, 3})}}, "forbidden in every cluster"),
        ({"clusters": ((0, 1), (1, 2), (3,), (4,))}, "named twice"),
        ({"clusters": ((0,), (), (2,), (3,))}, "neither prototypes nor pinned"),
        ({"clusters": ((99,), (1,), (2,), (3,))}, "no prototype 99"),
        ({"must_link": ((0, 80),)}, "no image 80"),
        ({"cannot_link": ((-1, 3),)}, "no image -1"),
        ({"must_link": ((0, 1, 2),)}, "between two images"),
        ({"cannot_link": ((4, 4),)}, "both together and apart"),
        ({"must_link": ((0, 1), (1, 2)), "cannot_link": ((2, 0),)}, "Images 0, 2 .* both"),
        ({"must_link": ((0, 1),), "pinned": {0: 2, 1: 3}}, "no cluster may have all of them"),
        ({"cannot_link": ((0, 1),), "pinned": {0: 2, 1: 2}}, "Images 0, 1 cannot be kept apart"),
        ({"must_link": ((0, 1),), "rejected": frozenset({1})}, "Image 1 is rejected"),
        ({"weights": (1.0, 1.0)}, "2 weights for 4 clusters"),
        ({"weights": (1.0, 0.0, 1.0, 1.0)}, "weight of cluster 1 is 0.0"),
        ({"weights": (1.0, np.nan, 1.0, 1.0)}, "weight of cluster 1 is nan"),
    ],
)
def test_corrections_that_make_no_sense_are_refused(model, pictures, change, words):
    corrections = Corrections(**{"clusters": own_prototypes(model), **change})
    with pytest.raises(RefinementError, match=words):
        refine(model, pictures, corrections)


def test_other_images_are_refused(model, pictures):
    with pytest.raises(RefinementError, match="fitted on 80"):
        refine(model, pictures[:70], Corrections.none(model))
