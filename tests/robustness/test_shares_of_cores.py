"""Nobody takes more cores than its share: alone, beside others, in workers of joblib or Dask."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.model_selection import GridSearchCV

from dikmeans import DIKMeans, Search
from dikmeans.parallel.cores import Share
from dikmeans.parallel.threads import run_threads
from tests.robustness.thread_count import (
    MOMENT,
    Counter,
    CountingKMeans,
    machine_of,
    most_threads,
    threads_beside_another,
    threads_of_a_call,
    threads_of_a_call_on,
    tiny_pictures,
)

QUICK = {
    "search": Search(warm_up=False, n_swaps=0, max_iter=1, deformation_prior="bending"),
    "max_iter": 1,
    "random_state": 0,
}


@pytest.fixture(autouse=True)
def no_word_of_the_environment(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


# -- alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(-1, 4), (-2, 3), (-9, 1), (None, 1), (1, 1), (2, 2), (6, 6)]
)
def test_a_lone_call_gets_what_it_asks_for(n_jobs, threads):
    assert threads_of_a_call_on(4, n_jobs) == threads


def test_no_more_threads_than_parts():
    assert threads_of_a_call_on(8, -1, n_parts=3) == 3


def test_zero_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs=0: expected None or an integer other than 0"):
        DIKMeans(2, n_jobs=0, **QUICK).fit(tiny_pictures())


@pytest.mark.parametrize(
    ("said", "threads"), [("2", 2), ("3,1", 3), ("64", 4), ("0", 4), ("many", 4), ("", 4)]
)
def test_the_environment_limits_all_cores_but_not_a_number(monkeypatch, said, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads_of_a_call_on(4, -1) == threads
    assert threads_of_a_call_on(4, 5) == 5


def test_the_limit_of_loky_is_respected(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    counter = Counter()
    run_threads(counter.job, list(range(4)), -1)
    assert counter.most == 1


def test_a_setting_of_joblib_counts_where_the_estimator_says_nothing():
    with parallel_config(backend="threading", n_jobs=3):
        assert threads_of_a_call_on(4, None) == 3
        assert threads_of_a_call_on(4, 2) == 2
    with parallel_config(backend="sequential"):
        assert threads_of_a_call_on(4, -1) == 1


# -- beside others in one process ------------------------------------------------------------------


def test_shares_shrink_and_grow_as_others_come_and_go():
    with machine_of(6), Share(-1) as first:
        assert first.threads == 6
        with Share(-1) as second, Share(1):
            assert (first.threads, second.threads) == (2, 2)
        assert first.threads == 6


def test_a_call_gives_up_threads_when_others_join():
    early, late = set(), set()
    others = contextlib.ExitStack()
    everybody_has_a_part = threading.Barrier(4, action=lambda: others.enter_context(Share(-1)))

    def job(part):
        if part < 4:
            early.add(threading.get_ident())
            everybody_has_a_part.wait(30)
        else:
            late.add(threading.get_ident())
            time.sleep(MOMENT)

    with machine_of(4), others:
        run_threads(job, list(range(12)), -1)
    assert len(early) == 4
    assert len(late) == 2


@pytest.mark.parametrize("n_callers", [2, 4, 7])
def test_callers_in_threads_divide_the_cores(n_callers):
    start = threading.Barrier(n_callers)
    counter = Counter()

    def call():
        start.wait(30)
        for _ in range(3):
            run_threads(counter.job, list(range(6)), -1)

    with machine_of(4), ThreadPoolExecutor(n_callers) as pool:
        for future in [pool.submit(call) for _ in range(n_callers)]:
            future.result()
    # everybody has a thread at least; beyond that, what joined last may overlap one part with what
    # gives way
    assert counter.most <= max(4, n_callers) + 3


def test_after_an_error_and_after_a_crowd_all_cores_are_free_again():
    def fail(part):
        raise RuntimeError(f"part {part}")

    with machine_of(4), pytest.raises(RuntimeError, match="part"):
        run_threads(fail, list(range(8)), -1)
    assert threads_of_a_call_on(4, -1) == 4


def test_an_error_ends_the_work_on_what_is_waiting():
    begun = []

    def fail_first(part):
        begun.append(part)
        if part == 0:
            raise ValueError("no")
        return part

    with pytest.raises(ValueError, match="no"):
        run_threads(fail_first, list(range(1000)), 1)
    assert begun == [0]


# -- in workers of joblib --------------------------------------------------------------------------


def test_workers_of_loky_keep_to_their_part():
    with parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=3):
        found = Parallel()(delayed(threads_of_a_call_on)(8, -1) for _ in range(2))
    assert found == [3, 3]


def test_a_grid_search_in_processes_does_not_multiply_threads():
    grid = {"smoothness": [0.1, 1.0]}
    with parallel_config(backend="loky", inner_max_num_threads=1):
        search = GridSearchCV(
            CountingKMeans(2, **QUICK), grid, scoring=most_threads, cv=2, n_jobs=2, refit=False
        ).fit(tiny_pictures())
    assert search.cv_results_["mean_test_score"].tolist() == [1, 1]


def test_a_grid_search_in_threads_divides_the_cores():
    tasks = [CountingKMeans(2, smoothness=s, **QUICK) for s in (0.1, 0.3, 1.0, 3.0)]
    with machine_of(2), Counter() as counter:
        Parallel(n_jobs=2, backend="threading")(
            delayed(DIKMeans.fit)(model, tiny_pictures()) for model in tasks
        )
    # one part of a call that was alone may still run when the other begins
    assert counter.most <= 3
    assert len(counter.workers) >= 2


# -- in workers of Dask ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_tasks_of_a_dask_worker_divide_its_threads():
    distributed = pytest.importorskip("distributed")
    with (
        machine_of(8),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.gather(client.map(threads_beside_another, range(2), pure=False)) == [1, 1]
        assert client.submit(threads_of_a_call, -1, pure=False).result() == 2
    assert threads_of_a_call_on(8, -1) == 8


def test_shares_do_not_show_in_the_result():
    X = tiny_pictures(20)
    alone = DIKMeans(3, n_jobs=1, **QUICK).fit(X)
    with machine_of(3), Counter():
        shared = DIKMeans(3, n_jobs=-1, **QUICK).fit(X)
    np.testing.assert_array_equal(shared.cluster_centers_, alone.cluster_centers_)
