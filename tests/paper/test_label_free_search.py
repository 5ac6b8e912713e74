"""Choosing without labels: the search, and what each criterion looks at."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.model_selection import ParameterGrid

from dikmeans.evaluation import clustering_accuracy
from dikmeans.paper.label_free_search import (
    PAPER_GRID,
    label_free_search,
    reference_distortion,
)
from tests.paper.toy_data import bars

IMAGES, LABELS = bars(8, seed=0)
X = IMAGES.reshape(len(IMAGES), -1) / 255.0
KM = KMeans(3, n_init=1, random_state=0)
ONE_CLUSTER = KMeans(1, n_init=1)


def test_the_setting_with_the_lowest_distortion_is_chosen_and_fitted():
    search = label_free_search(KM, {"n_clusters": [1, 2, 3]}).fit(X)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_score_ == pytest.approx(-search.best_estimator_.inertia_ / len(X))
    assert clustering_accuracy(LABELS, search.predict(X)) == 1
    expected = [-KMeans(k, n_init=1, random_state=0).fit(X).inertia_ / len(X) for k in (1, 2, 3)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_runs_can_be_chosen_among_by_their_seeds():
    search = label_free_search(KMeans(3, n_init=1, init="random"), {"random_state": range(8)}).fit(
        X
    )
    inertias = [
        KMeans(3, n_init=1, init="random", random_state=seed).fit(X).inertia_ for seed in range(8)
    ]
    assert search.best_estimator_.inertia_ == pytest.approx(min(inertias))


def test_parameters_of_the_solver_are_reached_by_nested_names():
    from dikmeans import DIKMeans
    from dikmeans.registration import Adam

    solver = Adam(steps=20)
    model = DIKMeans.as_published(3, max_iter=4, landmarks=3, random_state=0)
    model.set_params(solver=solver)
    search = label_free_search(model, {"solver__learning_rate": [1e-4, 5e-2]}).fit(IMAGES / 255.0)
    assert search.best_params_ == {"solver__learning_rate": 5e-2}
    assert search.best_estimator_.solver.learning_rate == 5e-2
    assert solver.learning_rate == 0.01  # the one that was given is unchanged
    assert model.get_params().keys() >= PAPER_GRID.keys()
    assert len(ParameterGrid(PAPER_GRID)) == 36


@pytest.mark.parametrize(
    "criterion",
    [
        "distortion",
        "held-out",
        "stability",
        partial(reference_distortion, reference=ONE_CLUSTER),
    ],
)
def test_every_criterion_prefers_three_clusters_to_one_or_finds_it_as_good(criterion):
    search = label_free_search(KM, {"n_clusters": [3, 1]}, criterion).fit(X)
    assert search.best_params_ == {"n_clusters": 3}
    assert clustering_accuracy(LABELS, search.best_estimator_.labels_) == 1  # fitted on all images


def test_stability_sees_superfluous_clusters_where_distortion_does_not():
    chosen = {
        criterion: label_free_search(KM, {"n_clusters": [3, 7]}, criterion).fit(X).best_params_
        for criterion in ("distortion", "held-out", "stability")
    }
    assert chosen["distortion"] == {"n_clusters": 7}
    assert chosen["stability"] == {"n_clusters": 3}


def test_held_out_images_are_not_fitted():
    fitted_on = []

    class Counted(KMeans):
        def fit(self, X, y=None):
            fitted_on.append(len(X))
            return super().fit(X)

    label_free_search(Counted(3, n_init=1), {"tol": [1e-4]}, "held-out").fit(X)
    assert fitted_on == [16, 24]  # 70 % of 24 for the score, then all


def test_the_reference_judges_the_partition_alone():
    scatter = sum(((X[k == LABELS] - X[k == LABELS].mean(0)) ** 2).sum() for k in range(3))
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    for labels in (LABELS, np.array([7, 2, 5])[LABELS]):
        model.labels_ = labels
        score = reference_distortion(model, X, reference=ONE_CLUSTER)
        assert score == pytest.approx(-scatter / len(X))


def test_the_default_reference_compares_models_with_different_measures():
    from dikmeans import DIKMeans

    images = IMAGES / 255.0
    free = DIKMeans(3, landmarks=3, random_state=0).fit(images)
    rigid = DIKMeans(3, warp="none", random_state=0).fit(images)
    assert clustering_accuracy(free.labels_, rigid.labels_) == 1
    expected = reference_distortion(rigid, images)
    assert reference_distortion(free, images) == pytest.approx(expected, rel=1e-6)


def test_a_criterion_of_ones_own_is_a_function():
    def few_clusters(fitted, X, y=None):
        return -fitted.n_clusters

    search = label_free_search(KM, {"n_clusters": [4, 2, 3]}, few_clusters).fit(X)
    assert search.best_params_ == {"n_clusters": 2}
    assert search.best_estimator_.n_clusters == 2


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="criterion='accuracy': expected a function or one of"):
        label_free_search(KM, {"tol": [1e-4]}, "accuracy")
    with pytest.raises(ValueError, match="Invalid parameter 'clusters'"):
        label_free_search(KM, {"clusters": [1]}).fit(X)
