"""One estimator may be asked from many threads at once, and several fitted side by side."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from dikmeans.parallel.threads import single_blas_thread
from tests.helpers import quick
from tests.robustness.thread_count import small_batches

N_THREADS = 8
METHODS = {
    "predict": lambda model, X: model.predict(X),
    "transform": lambda model, X: model.transform(X),
    "score": lambda model, X: np.array(model.score(X)),
    "align": lambda model, X: np.stack([a.warped for a in model.align(X)]),
    "assign": lambda model, X: np.column_stack(model.assign(X)[:4]),
}


def at_once(calls):
    """Results of calls that begin together, each in a thread of its own."""
    start = threading.Barrier(len(calls))

    def one(call):
        start.wait(60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(one, call) for call in calls]]


@pytest.fixture(autouse=True)
def many_parts():
    with small_batches():
        yield


@pytest.fixture(scope="module", params=["tps", "affine", "none"])
def fitted(request, real_digits):
    X = real_digits[0][:60, ::2, ::2]
    model = quick(n_clusters=3, warp=request.param, search__n_swaps=0, max_iter=2, n_jobs=1).fit(X)
    return model, X


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_all_methods_from_many_threads_give_what_they_give_alone(fitted, n_jobs):
    model, X = fitted
    inputs = [X[:7], X[7:20], X[:7], X[3:4]]  # different ones, and the same one twice
    calls = [(method, pictures) for method in METHODS.values() for pictures in inputs]
    model.n_jobs = 1
    alone = [method(model, pictures) for method, pictures in calls]
    model.n_jobs = n_jobs
    found = at_once([lambda c=call: c[0](model, c[1]) for call in calls])
    for together, expected in zip(found, alone, strict=True):
        np.testing.assert_array_equal(together, expected)


def test_one_array_of_alignments_may_be_looked_at_by_many(fitted):
    model, X = fitted
    expected = model.align(X[:3])
    looked_at = model.align(X[:3])
    views = ("warped", "aligned", "grid", "residual")
    for view in views:
        found = at_once([lambda v=view: np.stack([getattr(a, v) for a in looked_at])] * N_THREADS)
        for together in found:
            np.testing.assert_array_equal(together, np.stack([getattr(a, view) for a in expected]))


def test_fits_side_by_side_give_what_they_give_alone(real_digits):
    X = real_digits[0][:24, ::2, ::2]

    def fit(seed):
        # two shapes: they share bases, and they build them
        shape = (slice(None), slice(None, None, 1 + seed % 2))
        model = quick(n_clusters=3, search__n_swaps=0, max_iter=1, random_state=seed)
        return model.fit(X[shape]).cluster_centers_

    seeds = list(range(4))
    alone = [fit(seed) for seed in seeds]
    together = at_once([lambda s=seed: fit(s) for seed in seeds])
    for found, expected in zip(together, alone, strict=True):
        np.testing.assert_array_equal(found, expected)


# -- the limit on BLAS -----------------------------------------------------------------------------


def blas_threads():
    pools = ThreadpoolController().info()
    found = [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]
    if not found:
        pytest.skip("no BLAS whose threads can be counted")
    return found


@pytest.fixture
def three_blas_threads():
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        if set(blas_threads()) != {3}:
            pytest.skip("a BLAS that does not take three threads")
        yield


def test_blas_is_limited_until_the_last_one_leaves(three_blas_threads):
    first, second = single_blas_thread(), single_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # not in the order of a stack, as threads will
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert set(blas_threads()) == {3}


def test_blas_has_its_threads_back_after_a_crowd(three_blas_threads, fitted):
    model, X = fitted

    def ask():
        for i in range(5):
            model.predict(X[i : i + 2])

    at_once([ask] * N_THREADS)
    assert set(blas_threads()) == {3}


def test_blas_has_its_threads_back_after_an_error(three_blas_threads):
    with pytest.raises(ZeroDivisionError), single_blas_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {3}
