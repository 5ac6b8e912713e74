"""The assignment of a fit: what `assign` returns, kept, and enough to show every alignment."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dikmeans import DIKMeans
from tests.helpers import quick

MEASURES = [
    ("none", "centroid-to-image"),
    *product(["affine", "tps"], ["centroid-to-image", "image-to-centroid"]),
]


@pytest.fixture(scope="module", params=MEASURES, ids=["-".join(m) for m in MEASURES])
def fitted(request, real_digits):
    warp, direction = request.param
    X = real_digits[0][:80]
    return quick(warp=warp, direction=direction, n_prototypes=2).fit(X), X


def assert_same(one, other):
    for name, column in one._asdict().items():
        np.testing.assert_array_equal(getattr(other, name), column, err_msg=name)


def test_it_is_what_assign_returns(fitted):
    model, X = fitted
    assert_same(model.assignment_, model.assign(X))


def test_labels_costs_and_weights_follow_from_it(fitted):
    model, _ = fitted
    found = model.assignment_
    np.testing.assert_array_equal(found.labels, model.labels_)
    np.testing.assert_array_equal(model.prototype_clusters_[found.prototypes], found.labels)
    assert found.costs.sum() == pytest.approx(model.inertia_, rel=1e-12)
    counts = np.bincount(found.prototypes, minlength=len(model.prototypes_))
    np.testing.assert_array_equal(model.prototype_weights_, counts)


def test_margins_are_the_distance_to_the_second_choice(fitted):
    model, X = fitted
    ordered = np.sort(model.transform(X).astype(float), axis=1)
    found = model.assignment_
    np.testing.assert_allclose(found.costs, ordered[:, 0], rtol=2e-3, atol=1e-5)
    # second choices that are hopeless are not refined: their margins are upper bounds
    exact = ordered[:, 1] - ordered[:, 0]
    assert np.all(found.margins >= 0)
    assert np.all(found.margins >= exact - 5e-3 * ordered[:, 1])
    if model.warp == "none":
        np.testing.assert_allclose(found.margins, exact, rtol=1e-4, atol=1e-5)


def test_its_warps_show_every_alignment_without_a_search(fitted, monkeypatch):
    model, X = fitted
    expected = model.align(X)
    measure = type(model._fitted_measure())
    monkeypatch.setattr(measure, "align", lambda *_, **__: pytest.fail("it searched"))
    found = model.align_assigned(X, model.assignment_)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.prototypes, expected.prototypes)
    np.testing.assert_array_equal(found.cost, expected.cost)
    np.testing.assert_allclose(found.parameters, expected.parameters, atol=1e-6)
    for name in ("image", "warped", "target", "residual", "grid", "aligned", "bending_cost"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), atol=1e-4, err_msg=name
        )
    squares = (found.residual.astype(float) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(squares + found.bending_cost, found.cost, rtol=1e-3, atol=1e-5)


def test_costs_that_are_not_known_are_nan_unless_given(fitted):
    model, X = fitted
    found = model.align_assigned(X, model.assignment_)
    known = np.zeros(found.costs.shape, bool)
    known[np.arange(len(X)), model.labels_] = True
    assert np.isnan(found.costs[~known]).all()
    np.testing.assert_array_equal(found.costs[known], model.assignment_.costs)
    costs = model.transform(X)
    given = model.align_assigned(X, model.assignment_, costs)
    np.testing.assert_array_equal(given.costs, costs)


def test_it_survives_saving_and_loading(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model")
    copy = DIKMeans.load(tmp_path / "model")
    assert_same(model.assignment_, copy.assignment_)
    np.testing.assert_array_equal(
        copy.align_assigned(X, copy.assignment_).warped,
        model.align_assigned(X, model.assignment_).warped,
    )


def test_an_assignment_of_other_images_is_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="assignment must hold the warps of the images in X"):
        model.align_assigned(X[:10], model.assignment_)
    with pytest.raises(ValueError, match="assignment must hold the warps"):
        model.align_assigned(X, model.assignment_._replace(warps=None))


def test_with_one_cluster_there_is_no_second_choice(real_digits):
    model = quick(n_clusters=1).fit(real_digits[0][:20])
    assert np.isnan(model.assignment_.margins).all()
    assert set(model.assignment_.labels) == {0}
