"""scikit-learn's own checks, and its K-means as the oracle of the warp-free case."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dikmeans import DIKMeans, Search
from dikmeans.registration import Adam, QuasiNewton
from tests.helpers import quick


def expected_failures(estimator: DIKMeans) -> dict[str, str]:
    failures = {
        "check_sample_weight_equivalence_on_dense_data": (
            "k-means++ draws other seeds when rows are repeated, as in scikit-learn's KMeans"
        )
    }
    if estimator.intensity == "affine":
        failures["check_clustering"] = (
            "its blobs of two features differ by gain and offset alone, which do not count"
        )
    return failures


@pytest.mark.filterwarnings("ignore:Only .* clusters have members")  # as KMeans warns, of copies
@parametrize_with_checks(
    [
        # one run each, but for the default: several take as many times as long, and tell no more
        *(DIKMeans(warp=warp, intensity="fixed", n_init=1) for warp in ("none", "affine")),
        DIKMeans(intensity="fixed"),
        *(DIKMeans(warp=warp, intensity="affine", n_init=1) for warp in ("none", "tps")),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("tol", [0.0, 1e-4])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_warp_and_preprocessing_it_is_scikit_learns_k_means(real_digits, tol, weighted):
    X, _ = real_digits
    X = X.astype(np.float64)
    start = X[:10]
    weights = np.random.default_rng(0).uniform(0.1, 2, len(X)) if weighted else None
    ours = DIKMeans(10, warp="none", preprocessing=None, init=start, search=Search(tol=tol))
    ours.fit(X, sample_weight=weights)
    oracle = KMeans(10, init=start.reshape(10, -1), n_init=1, algorithm="lloyd", tol=tol)
    oracle.fit(X.reshape(len(X), -1), sample_weight=weights)
    np.testing.assert_array_equal(ours.labels_, oracle.labels_)
    np.testing.assert_allclose(
        ours.cluster_centers_.reshape(10, -1), oracle.cluster_centers_, atol=1e-5
    )
    assert ours.inertia_ == pytest.approx(oracle.inertia_, rel=1e-6)
    np.testing.assert_array_equal(
        ours.predict(X[:50] * 0.9), oracle.predict((X[:50] * 0.9).reshape(50, -1))
    )


def test_nested_parameters_of_the_solver_can_be_set():
    model = DIKMeans(solver=Adam())
    model.set_params(solver__learning_rate=0.05)
    assert model.solver.learning_rate == 0.05
    assert clone(model).solver.learning_rate == 0.05


def test_nested_parameters_of_the_search_can_be_set_and_tuned():
    model = DIKMeans(search=Search())
    model.set_params(search__n_swaps=3, search__warm_up=False)
    assert clone(model).search.get_params() == Search(n_swaps=3, warm_up=False).get_params()
    assert model.get_params()["search__sample_size"] == "auto"


def test_it_works_at_the_end_of_a_pipeline(real_digits):
    X, _ = real_digits
    flat = X[:60].reshape(60, -1)
    model = quick(n_clusters=3, image_shape=(28, 28))
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), clone(model))
    labels = pipeline.fit_predict(flat)
    np.testing.assert_array_equal(labels, model.fit_predict(np.sqrt(flat)))
    np.testing.assert_array_equal(pipeline.predict(flat), labels)


def test_set_output_wraps_the_costs_in_a_data_frame(real_digits):
    pandas = pytest.importorskip("pandas")
    X = real_digits[0][:40]
    model = quick(n_clusters=3).fit(X)
    costs = model.transform(X)
    frame = model.set_output(transform="pandas").transform(X)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert list(frame.columns) == ["dikmeans0", "dikmeans1", "dikmeans2"]
    np.testing.assert_array_equal(frame.to_numpy(), costs)
    again = clone(model).set_output(transform="pandas").fit_transform(X)
    np.testing.assert_array_equal(again.to_numpy(), costs)
    flat = pandas.DataFrame(X.reshape(40, -1), index=np.arange(100, 140))
    flat.columns = [f"pixel {i}" for i in range(784)]
    model.set_params(image_shape=(28, 28)).fit(flat)
    assert list(model.transform(flat).index) == list(flat.index)
    assert isinstance(model.set_output(transform="default").transform(flat), np.ndarray)


def test_a_fitted_model_survives_pickling(real_digits):
    X, _ = real_digits
    model = DIKMeans(3, random_state=0, solver=QuasiNewton(evaluations=8)).fit(X[:80])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X[80:120]), model.predict(X[80:120]))


def test_callbacks_see_every_iteration_and_may_stop_the_fit(real_digits):
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")
    X, _ = real_digits

    class Watcher:
        def __init__(self, stop_after):
            self.ended, self.stop_after = 0, stop_after

        def setup(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            self.ended += context.task_name not in ("fit", "run")
            return self.ended >= self.stop_after

        def teardown(self, estimator, context): ...

    watcher = Watcher(stop_after=10**6)
    model = DIKMeans(3, n_init=1, random_state=0).set_callbacks(watcher).fit(X[:60])
    assert watcher.ended == len(model.history_.iterations)

    stopper = Watcher(stop_after=2)
    with pytest.warns(UserWarning, match="stopped by a callback"):
        stopped = DIKMeans(3, random_state=0).set_callbacks(stopper).fit(X[:60])
    assert len(stopped.history_.iterations) == 2
    assert stopped.history_.stopped == "stopped by a callback"
    np.testing.assert_array_equal(stopped.labels_, stopped.predict(X[:60]))
