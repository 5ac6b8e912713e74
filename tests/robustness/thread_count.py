"""Counts the threads that work at the same time; importable from worker processes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Self
from unittest import mock

import numpy as np

from dikmeans import DIKMeans
from dikmeans.kmeans import shard
from dikmeans.parallel import cores, threads
from dikmeans.registration import batches
from dikmeans.registration.euclidean_measure import EuclideanMeasure
from dikmeans.registration.warped_measure import WarpedMeasure

MOMENT = 0.02  # seconds a part takes: time for every thread to get one


class Counter:
    """Counts who works on parts while the block lasts, in all threads of the process together."""

    def __init__(self) -> None:
        self.most = 0
        self.workers: set[int] = set()
        self._now = 0
        self._lock = threading.Lock()

    def job(self, part: Any) -> Any:
        """A part of some work."""
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.workers.add(threading.get_ident())
        time.sleep(MOMENT)
        with self._lock:
            self._now -= 1
        return part

    def __enter__(self) -> Self:
        def counted(job: Any, parts: list[Any], n_jobs: int | None) -> list[Any]:
            return threads.run_threads(lambda part: job(self.job(part)), parts, n_jobs)

        self._patches = contextlib.ExitStack()
        for module in (batches, shard):
            self._patches.enter_context(mock.patch.object(module, "run_threads", counted))
        self._patches.enter_context(small_batches())
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()


@contextlib.contextmanager
def small_batches() -> Iterator[None]:
    """A block in which the smallest set of images is cut into parts enough for all threads."""
    with contextlib.ExitStack() as patches:
        for measure in (WarpedMeasure, EuclideanMeasure):
            patches.enter_context(mock.patch.object(measure, "batch_pixels", 1))
        yield


def machine_of(n_cores: int) -> Any:
    """A patch that lets the machine have so many cores."""
    return mock.patch.object(cores, "cpu_count", return_value=n_cores)


def threads_of_a_call(n_jobs: int | None, n_parts: int = 24) -> int:
    """How many threads one call works on its parts with."""
    counter = Counter()
    assert threads.run_threads(counter.job, list(range(n_parts)), n_jobs) == list(range(n_parts))
    assert counter.most <= len(counter.workers)
    return counter.most


def threads_of_a_call_on(n_cores: int, n_jobs: int | None, n_parts: int = 24) -> int:
    """The same on a machine of so many cores."""
    with machine_of(n_cores):
        return threads_of_a_call(n_jobs, n_parts)


_together = threading.Barrier(2)


def threads_beside_another(_: int) -> int:
    """All threads a call may use while another thread of the process makes one too."""
    _together.wait(30)
    found = threads_of_a_call(-1)
    _together.wait(30)
    return found


class CountingKMeans(DIKMeans):
    """Says after a fit how many threads it worked with, on a machine of eight cores."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit under observation."""
        with machine_of(8), Counter() as counter:
            super().fit(X, sample_weight=sample_weight)
        self.most_threads_ = counter.most
        return self


def most_threads(model: CountingKMeans, X: Any, y: Any = None) -> int:
    """As a scorer, which brings the number out of a worker process."""
    return model.most_threads_


def tiny_pictures(n: int = 12, seed: int = 0) -> np.ndarray:
    """Pictures that are clustered in no time."""
    return np.random.default_rng(seed).uniform(size=(n, 5, 5))
