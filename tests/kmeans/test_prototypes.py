"""Clusters with several prototypes: when they are divided, and what stays as it was."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from dikmeans import DIKMeans
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.lloyd import descend
from dikmeans.kmeans.prototypes import (
    AUTO_PROTOTYPES,
    MIN_MEMBERS_IF_ASKED,
    ONE_PROTOTYPE,
    divide_clusters,
    prototype_rule,
)
from dikmeans.registration.result import cluster_costs
from tests import helpers
from tests.helpers import build_measure
from tests.reference import clustering_accuracy


def quick(**parameters) -> DIKMeans:
    """Three clusters, found without swaps."""
    return helpers.quick(**{"n_clusters": 3, "search__n_swaps": 0, "max_iter": 10, **parameters})


@pytest.fixture(scope="module")
def digits(real_digits):
    """150 digits of three classes, with their labels."""
    X, y = real_digits
    chosen = np.flatnonzero(np.isin(y, (0, 1, 7)))[:150]
    return X[chosen], y[chosen]


@pytest.fixture(scope="module")
def whole(digits):
    return quick(n_prototypes=1).fit(digits[0])


@pytest.fixture(scope="module")
def divided(digits):
    return quick(n_prototypes=3).fit(digits[0])


def test_there_are_as_many_clusters_as_asked_for_and_the_prototypes_of_each_lie_together(divided):
    assert divided.prototypes_.shape == (9, 28, 28)
    np.testing.assert_array_equal(divided.prototype_clusters_, np.repeat([0, 1, 2], 3))
    assert divided.cluster_centers_.shape == (3, 28, 28)
    assert set(divided.labels_) == {0, 1, 2}


def test_a_clusters_centroid_is_the_prototype_that_had_most_members_when_it_was_divided(
    digits, whole, divided
):
    # most images stay with the prototype they had then
    weights = divided.prototype_weights_.reshape(3, 3)
    assert (weights[:, 0] >= 0.8 * weights.max(axis=1)).all()
    np.testing.assert_array_equal(divided.cluster_centers_, divided.prototypes_[::3])
    np.testing.assert_array_equal(divided.cluster_weights_, np.bincount(divided.labels_))


def test_with_one_prototype_nothing_is_divided(whole):
    np.testing.assert_array_equal(whole.prototypes_, whole.cluster_centers_)
    np.testing.assert_array_equal(whole.prototype_clusters_, [0, 1, 2])


def test_prototypes_fit_better_than_whole_clusters_and_leave_most_images_where_they_were(
    whole, divided
):
    assert divided.inertia_ < 0.96 * whole.inertia_
    assert clustering_accuracy(whole.labels_, divided.labels_) > 0.9
    # until the clusters are divided the two fits are one
    assert [i.inertia for i in divided.history_.iterations] == [
        i.inertia for i in whole.history_.iterations
    ]
    np.testing.assert_array_equal(divided.deformation_precision_, whole.deformation_precision_)


def test_crossed_and_plain_shapes_of_one_cluster_become_its_prototypes():
    """Bars, some with a dash across, which no bend removes: two prototypes of one cluster."""
    rng = np.random.default_rng(0)
    X = np.zeros((80, 16, 16), np.float32)
    for i, picture in enumerate(X):
        column = rng.integers(6, 9)
        if i < 40:
            picture[3:13, column : column + 2] = 1
            if i < 15:
                picture[7:9, column - 3 : column + 5] = 1
        else:
            picture[6:10, 3:13] = picture[3:13, 6:10] = 1
    model = DIKMeans(2, n_prototypes=2, preprocessing="unit-norm", random_state=0).fit(X)
    bars = model.labels_[20]
    if clustering_accuracy(np.arange(80) >= 40, model.labels_) < 1:
        pytest.fail("the clusters are not the two shapes")
    prototypes = model.align(X[:40]).prototypes
    assert (model.labels_[:40] == bars).all()
    assert len(set(prototypes[:15])) == 1
    assert len(set(prototypes[15:])) == 1
    assert prototypes[0] != prototypes[20]


def test_labels_are_what_predict_says_and_the_cheapest_of_all_costs(digits, divided):
    X = digits[0]
    np.testing.assert_array_equal(divided.predict(X), divided.labels_)
    assignment = divided.assign(X)
    np.testing.assert_array_equal(assignment.labels, divided.labels_)
    np.testing.assert_array_equal(
        divided.prototype_clusters_[assignment.prototypes], divided.labels_
    )
    assert assignment.costs.sum() == pytest.approx(divided.inertia_)
    # all pairs refined to the end: no cheaper cluster than the one assigned, but for near-ties
    costs = divided.transform(X)
    assert costs.shape == (len(X), 3)
    np.testing.assert_allclose(costs.min(axis=1), assignment.costs, rtol=1e-5)
    np.testing.assert_array_equal(costs.argmin(axis=1), divided.labels_)


def test_the_cost_to_a_cluster_is_that_of_its_cheapest_prototype():
    costs = np.array([[4.0, 1.0, 3.0, 2.0], [1.0, 5.0, 0.5, 9.0]])
    np.testing.assert_array_equal(
        cluster_costs(costs, np.array([0, 0, 1, 2])), [[1, 3, 2], [1, 0.5, 9]]
    )


def test_alignments_name_the_prototype_and_show_its_picture(digits, divided):
    alignments = divided.align(digits[0][:20])
    np.testing.assert_array_equal(alignments.labels, divided.labels_[:20])
    np.testing.assert_array_equal(
        divided.prototype_clusters_[alignments.prototypes], alignments.labels
    )
    assert alignments.costs.shape == (20, 3)
    one = alignments[4]
    assert (one.label, one.prototype) == (alignments.labels[4], alignments.prototypes[4])
    # the warped picture is the prototype, bent: the identity would give the prototype itself
    assert one.cost == pytest.approx(float((one.residual**2).sum()) + one.bending_cost, rel=1e-3)


def test_an_image_can_be_aligned_with_another_cluster_by_its_cheapest_prototype(digits, divided):
    X = digits[0][:12]
    elsewhere = (divided.labels_[:12] + 1) % 3
    alignments = divided.align(X, labels=elsewhere)
    np.testing.assert_array_equal(alignments.labels, elsewhere)
    costs = divided.transform(X)[np.arange(12), elsewhere]
    np.testing.assert_allclose(alignments.cost, costs, rtol=1e-5)


class TestHowManyPrototypes:
    def test_a_prototype_needs_members(self, real_digits):
        model = quick(n_clusters=10, n_prototypes=4).fit(real_digits[0][:120])
        sizes, prototypes = (
            np.bincount(model.labels_, minlength=10),
            np.bincount(model.prototype_clusters_),
        )
        assert prototypes.max() > 1
        # a few images change their cluster once it is divided
        assert (prototypes <= np.maximum(1, sizes // MIN_MEMBERS_IF_ASKED + 1)).all()

    def test_auto_divides_large_clusters_only(self, real_digits):
        X = real_digits[0]
        assert len(quick(n_clusters=10).fit(X[:100]).prototypes_) == 10
        assert np.bincount(quick(n_clusters=2).fit(X[:200]).prototype_clusters_).max() == 4

    @pytest.mark.parametrize(
        ("n_prototypes", "warp", "rule"),
        [("auto", "tps", AUTO_PROTOTYPES), ("auto", "none", ONE_PROTOTYPE)],
    )
    def test_k_means_is_not_divided_unless_asked(self, n_prototypes, warp, rule):
        assert prototype_rule(n_prototypes, warp) == rule
        assert prototype_rule(3, warp).most == 3

    def test_k_means_can_have_prototypes_too(self, digits):
        model = quick(warp="none", n_prototypes=2).fit(digits[0])
        assert model.prototypes_.shape == (6, 28, 28)
        np.testing.assert_array_equal(model.predict(digits[0]), model.labels_)

    @pytest.mark.parametrize("n_prototypes", [0, -1, 1.5, "many", None])
    def test_a_number_that_makes_no_sense_is_refused(self, digits, n_prototypes):
        with pytest.raises(ValueError, match="n_prototypes"):
            quick(n_prototypes=n_prototypes).fit(digits[0])


def test_images_without_weight_do_not_make_prototypes(digits):
    X = digits[0]
    weights = np.where(np.arange(len(X)) < 100, 1.0, 0.0)
    weighted = quick(n_prototypes=2, init=X[[0, 50, 99]]).fit(X, sample_weight=weights)
    without = quick(n_prototypes=2, init=X[[0, 50, 99]]).fit(X[:100])
    np.testing.assert_allclose(weighted.prototypes_, without.prototypes_, atol=1e-4)
    np.testing.assert_array_equal(weighted.prototype_weights_, without.prototype_weights_)


def test_with_given_centroids_nothing_is_left_to_chance(digits):
    X = digits[0]
    one, other = (
        quick(init=X[[0, 50, 99]], n_prototypes=2, random_state=None).fit(X) for _ in range(2)
    )
    np.testing.assert_array_equal(one.prototypes_, other.prototypes_)


@pytest.mark.parametrize("warp", ["none", "tps"])
def test_copies_of_few_pictures_make_no_prototypes_without_members(warp, tiny_digits):
    rng = np.random.RandomState(24)
    digits = tiny_digits[0].astype(np.float64)
    few = digits[rng.choice(len(digits), 4, replace=False)]
    X = few[rng.randint(4, size=80)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer shapes than clusters
        model = quick(warp=warp, n_prototypes=3, random_state=24, max_iter=100).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(model.prototypes_) <= 4
    assert (model.prototype_weights_ > 0).all()


def test_no_division_takes_more_iterations_than_allowed(digits, monkeypatch):
    allowed = []

    def counted(*args, max_iter, **kwargs):
        allowed.append(max_iter)
        return descend(*args, max_iter=max_iter, **kwargs)

    monkeypatch.setattr("dikmeans.kmeans.prototypes.descend", counted)
    quick(n_prototypes=2, max_iter=5, search__max_iter=2).fit(digits[0])
    assert allowed == [2, 2, 2]


def test_an_interrupted_fit_keeps_whole_clusters(digits):
    model = quick(n_prototypes=3)
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model.fit(digits[0], progress=lambda _: True)
    assert len(model.prototypes_) == 3
    np.testing.assert_array_equal(model.predict(digits[0]), model.labels_)


def test_batches_move_the_prototypes(digits):
    X = digits[0]
    model = quick(n_prototypes=2, search__sample_size=100)
    model.partial_fit(X[:100])
    before, weights = model.prototypes_.copy(), model.prototype_weights_.sum()
    assert len(before) == 6
    model.partial_fit(X[100:])
    assert not np.array_equal(model.prototypes_, before)
    assert model.prototype_weights_.sum() == weights + 50
    assert set(model.labels_) <= {0, 1, 2}


def test_a_model_file_keeps_the_prototypes(tmp_path, digits, divided):
    divided.save(tmp_path / "model")
    copy = DIKMeans.load(tmp_path / "model")
    np.testing.assert_array_equal(copy.prototypes_, divided.prototypes_)
    np.testing.assert_array_equal(copy.prototype_clusters_, divided.prototype_clusters_)
    np.testing.assert_array_equal(copy.prototype_weights_, divided.prototype_weights_)
    np.testing.assert_array_equal(copy.predict(digits[0]), divided.labels_)


def test_the_division_depends_on_the_seed_alone(digits, divided):
    again = quick(n_prototypes=3, n_jobs=1).fit(digits[0])
    np.testing.assert_array_equal(again.prototypes_, divided.prototypes_)


def test_a_cluster_without_members_has_one_prototype(digits, whole):
    """Its picture, as it is."""
    images = whole.preprocessing_.apply(digits[0][:, None])
    measure = build_measure((28, 28))
    nobody = np.zeros((1, 1, 28, 28), np.float32)
    nobody[0, 0, 0, 0] = 50
    centroids = np.concatenate([whole.prototypes_[:, None].astype(np.float32), nobody])
    prototypes = divide_clusters(
        Dataset.in_memory(images),
        centroids,
        prototype_rule(2, "tps"),
        lambda clusters: measure,
        5,
        np.random.RandomState(0),
    )
    np.testing.assert_array_equal(prototypes.clusters, [0, 0, 1, 1, 2, 2, 3])
    np.testing.assert_array_equal(prototypes.pictures[-1:], nobody)
