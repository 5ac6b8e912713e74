"""Choosing without labels: the search, and what each criterion looks at."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.utils.estimator_checks import parametrize_with_checks

from dikmeans.evaluation import clustering_accuracy
from dikmeans.paper.label_free_search import (
    CRITERIA,
    PAPER_GRID,
    CriterionScore,
    LabelFreeSearch,
    held_out_distortion,
    partition_cost,
    reference_distortion,
)
from tests.paper.toy_data import bars

X, LABELS = bars(8, seed=0)
X = X / 255.0
KM = KMeans(3, n_init=1, random_state=0)


@parametrize_with_checks(
    [LabelFreeSearch(KMeans(2, n_init=1, random_state=0), {"max_iter": [3, 100]})]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_setting_with_the_lowest_distortion_is_chosen_and_fitted():
    search = LabelFreeSearch(KM, {"n_clusters": [1, 2, 3]}).fit(X.reshape(len(X), -1))
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_index_ == 2
    assert search.best_score_ == pytest.approx(-search.best_estimator_.inertia_ / len(X))
    assert clustering_accuracy(LABELS, search.predict(X.reshape(len(X), -1))) == 1
    np.testing.assert_array_equal(search.labels_, search.best_estimator_.labels_)


def test_results_have_the_columns_of_scikit_learns_searches():
    grid = [{"n_clusters": [2, 3]}, {"init": ["random"]}]
    flat = X.reshape(len(X), -1)
    ours = LabelFreeSearch(KM, grid, n_runs=3).fit(flat).cv_results_
    theirs = GridSearchCV(KM, grid, cv=2).fit(flat).cv_results_
    for column in ("params", "param_n_clusters", "param_init", "rank_test_score"):
        assert len(ours[column]) == len(theirs[column]) == 3
    assert list(ours["params"]) == list(theirs["params"])
    np.testing.assert_array_equal(ours["param_init"].mask, theirs["param_init"].mask)
    runs = np.array([ours[f"run{number}_test_score"] for number in range(3)])
    np.testing.assert_allclose(ours["mean_test_score"], runs.mean(axis=0))
    assert ours["rank_test_score"].min() == 1


def test_parameters_of_the_solver_are_reached_by_nested_names():
    from dikmeans import DIKMeans
    from dikmeans.registration import Adam

    solver = Adam(steps=20)
    model = DIKMeans.as_published(3, max_iter=4, landmarks=3, random_state=0)
    model.set_params(solver=solver)
    search = LabelFreeSearch(model, {"solver__learning_rate": [1e-4, 5e-2]}).fit(X)
    assert search.best_params_ == {"solver__learning_rate": 5e-2}
    assert search.best_estimator_.solver_.learning_rate == 5e-2
    assert solver.learning_rate == 0.01  # the one that was given is unchanged
    assert model.get_params().keys() >= PAPER_GRID.keys()
    assert len(ParameterGrid(PAPER_GRID)) == 36


def test_the_same_seed_gives_the_same_search_and_every_setting_the_same_start():
    given = LabelFreeSearch(KM, {"tol": [1e-4, 1e-4]}, n_runs=2, random_state=7)
    first, again = (
        given.fit(X.reshape(len(X), -1)).cv_results_["mean_test_score"] for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    assert first[0] == first[1]


def test_without_refit_there_are_parameters_but_no_estimator():
    search = LabelFreeSearch(KM, {"n_clusters": [2, 3]}, refit=False).fit(X.reshape(len(X), -1))
    assert search.best_params_ == {"n_clusters": 3}
    with pytest.raises(AttributeError, match="refit=True"):
        search.predict(X.reshape(len(X), -1))


@pytest.mark.parametrize(
    "criterion",
    [
        *CRITERIA,
        partial(held_out_distortion, fraction=0.5),
        partial(reference_distortion, reference=KMeans(1, n_init=1)),
    ],
)
def test_every_criterion_prefers_three_clusters_to_one_or_finds_it_as_good(criterion):
    flat = X.reshape(len(X), -1)
    grid = {"n_clusters": [3, 1]}
    search = LabelFreeSearch(KM, grid, criterion=criterion, random_state=0).fit(flat)
    assert search.best_params_ == {"n_clusters": 3}
    assert clustering_accuracy(LABELS, search.best_estimator_.labels_) == 1  # fitted on all images


def test_stability_sees_superfluous_clusters_where_distortion_does_not():
    grid, flat = {"n_clusters": [3, 7]}, X.reshape(len(X), -1)
    chosen = {
        criterion: LabelFreeSearch(KM, grid, criterion=criterion, random_state=0)
        .fit(flat)
        .best_params_
        for criterion in ("distortion", "stability")
    }
    assert chosen == {"distortion": {"n_clusters": 7}, "stability": {"n_clusters": 3}}


def test_the_reference_judges_the_partition_alone():
    flat = X.reshape(len(X), -1)
    scatter = sum(
        ((flat[label == LABELS] - flat[label == LABELS].mean(0)) ** 2).sum() for label in range(3)
    )
    assert partition_cost(LABELS, flat, KMeans(1, n_init=1)) == pytest.approx(scatter / len(flat))
    renamed = np.array([7, 2, 5])[LABELS]
    assert partition_cost(renamed, flat, KMeans(1, n_init=1)) == pytest.approx(scatter / len(flat))


def test_the_default_reference_compares_models_with_different_measures():
    from dikmeans import DIKMeans

    rng = np.random.RandomState(0)
    free = reference_distortion(DIKMeans(3, landmarks=3, random_state=0), X, rng)
    rigid = reference_distortion(DIKMeans(3, warp="none", random_state=0), X, rng)
    assert clustering_accuracy(free.fitted.labels_, rigid.fitted.labels_) == 1
    assert free.score == pytest.approx(rigid.score, rel=1e-3)  # the same partition


def test_a_criterion_of_ones_own_is_a_function():
    def few(estimator, X, rng):
        return CriterionScore(-estimator.n_clusters, None)

    search = LabelFreeSearch(KM, {"n_clusters": [4, 2, 3]}, criterion=few).fit(
        X.reshape(len(X), -1)
    )
    assert search.best_params_ == {"n_clusters": 2}
    assert search.best_estimator_.n_clusters == 2


def test_mistakes_are_explained():
    flat = X.reshape(len(X), -1)
    with pytest.raises(ValueError, match="criterion"):
        LabelFreeSearch(KM, {"tol": [1e-4]}, criterion="accuracy").fit(flat)
    with pytest.raises(ValueError, match="estimator"):
        LabelFreeSearch(DBSCAN(), {"eps": [1.0]}).fit(flat)
    with pytest.raises(ValueError, match="Invalid parameter 'clusters'"):
        LabelFreeSearch(KM, {"clusters": [1]}).fit(flat)
