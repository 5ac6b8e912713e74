"""The protocol: fit on train, predict test with the centroids fixed, for every model x data set x seed.

Runs are made seed by seed, all cells of the table in turn, so that when time runs out every cell has about
as many runs as the others. A finished run goes to the results file at once; what is there already is not
made again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dikmeans.evaluation.metrics import scores
from dikmeans.paper.models import Model, parameters_of
from dikmeans.paper.record import RunRecord, current_versions, run_identity
from dikmeans.paper.results_file import ResultsFile
from dikmeans.paper.tasks import Task, TaskData


@dataclass(frozen=True)
class PlannedRun:
    """A run to be made.

    Attributes
    ----------
    task : Task
    model : Model
    seed : int
    train_size : int
        Training images it will use.
    identity : str
        As in `RunRecord.identity`.
    """

    task: Task
    model: Model
    seed: int
    train_size: int
    identity: str

    @property
    def cell(self) -> tuple[str, str]:
        """Names of task and model."""
        return self.task.name, self.model.name


@dataclass
class Outcome:
    """How a protocol went.

    Attributes
    ----------
    finished : list of RunRecord
        Made now.
    failed : list of (PlannedRun, Exception)
        A model raised; the other seeds of its cell were not tried.
    out_of_time : list of PlannedRun
        Not begun, for they would not have ended in time.
    elsewhere : list of PlannedRun
        Another process was making them.
    """

    finished: list[RunRecord] = field(default_factory=list)
    failed: list[tuple[PlannedRun, Exception]] = field(default_factory=list)
    out_of_time: list[PlannedRun] = field(default_factory=list)
    elsewhere: list[PlannedRun] = field(default_factory=list)


class Listener:
    """Hears how a protocol goes; this one does nothing with it."""

    def loading(self, task: Task) -> None:
        """The data of a task are about to be read."""

    def planned(self, n_done: int, n_pending: int) -> None:
        """It is known what is to be done."""

    def begins(self, run: PlannedRun, remaining: Remaining) -> None:
        """A run begins; `remaining` includes it."""

    def ended(self, run: PlannedRun, record: RunRecord | None) -> None:
        """A run has ended, or was left out (None)."""


@dataclass(frozen=True)
class Remaining:
    """Time still needed.

    Attributes
    ----------
    seconds : float
        Of the runs whose like has been made before.
    n_unknown : int
        Number of the others.
    """

    seconds: float
    n_unknown: int


def execute_run(model: Model, data: TaskData, data_name: str, seed: int) -> RunRecord:
    """Fit on train, predict test with what was fitted, and take every figure.

    Parameters
    ----------
    model : Model
    data : TaskData
    data_name : str
        What to file the run under.
    seed : int

    Returns
    -------
    RunRecord
    """
    estimator = model.make(data.n_classes, seed)
    begin = time.perf_counter()
    estimator.fit(data.train.images)
    fitted = time.perf_counter()
    test_clusters = estimator.predict(data.test.images)
    predicted = time.perf_counter()
    train_clusters = getattr(estimator, "labels_", None)
    if train_clusters is None:
        train_clusters = estimator.predict(data.train.images)
    assert data.train.labels is not None
    assert data.test.labels is not None
    objective = model.objective(estimator)
    return RunRecord(
        model=model.name,
        parameters=parameters_of(estimator),
        data=data_name,
        data_title=data.title,
        seed=seed,
        n_clusters=data.n_classes,
        train_size=len(data.train),
        train_available=data.train_available,
        test_size=len(data.test),
        test=scores(data.test.labels, test_clusters),
        train=scores(data.train.labels, train_clusters),
        # an objective that went astray can choose nothing, and JSON has no word for it
        distortion=None if objective is None or not np.isfinite(objective) else float(objective),
        fit_seconds=fitted - begin,
        predict_seconds=predicted - fitted,
        n_jobs=getattr(estimator, "n_jobs", getattr(estimator, "n_threads", None)),
        cpus=os.cpu_count(),
        versions=current_versions(*([model.library] if model.library else [])),
    )


def run_protocol(
    tasks: Sequence[Task],
    models: Sequence[Model],
    results: ResultsFile,
    *,
    seeds: Sequence[int] = tuple(range(10)),
    train_size: int | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    time_budget: float | None = None,
    listener: Listener | None = None,
) -> Outcome:
    """Make the runs that are not in the results file yet.

    Parameters
    ----------
    tasks : sequence of Task
    models : sequence of Model
    results : ResultsFile
        Gets every run as soon as it is finished.
    seeds : sequence of int, default=0 to 9
    train_size : int, optional
        At most so many training images; see `Task.load`. The test images are always all.
    data_home : path, optional
    download : bool, default=True
        As in `dikmeans.datasets.load`.
    time_budget : float, optional
        Seconds after which no run is begun, nor before if, by earlier runs of its cell, it would end later.
    listener : Listener, optional
        Hears about progress.

    Returns
    -------
    Outcome

    Raises
    ------
    dikmeans.datasets.DataError
        Data are missing; found out before the first run.
    KeyboardInterrupt
        After Ctrl-C; the run it fell into is not kept, those before are.
    """
    listener = listener or Listener()
    deadline = np.inf if time_budget is None else time.monotonic() + time_budget

    @lru_cache(maxsize=1)  # one data set in memory at a time; reading is quick beside fitting
    def load_task(name: str) -> TaskData:
        task = next(task for task in tasks if task.name == name)
        listener.loading(task)
        return task.load(train_size, data_home, download=download)

    outcome = Outcome()
    plan = _plan(tasks, models, seeds, load_task)
    known = results.read()
    done = {record.identity for record in known}
    pending = [run for run in plan if run.identity not in done]
    listener.planned(len(plan) - len(pending), len(pending))
    for position, run in enumerate(pending):
        remaining = _remaining(pending[position:], known)
        own = _remaining([run], known)
        failed_cells = {failed.cell for failed, _ in outcome.failed}
        record = None
        if time.monotonic() + own.seconds >= deadline:
            outcome.out_of_time.append(run)
        elif run.cell not in failed_cells:
            record = _make_once(run, results, load_task, outcome, listener, remaining)
        if record is not None:
            known.append(record)
        listener.ended(run, record)
    return outcome


def _plan(
    tasks: Sequence[Task], models: Sequence[Model], seeds: Sequence[int], load_task: Any
) -> list[PlannedRun]:
    """All runs, seed by seed. Reads every data set, so that what is missing is missed now."""
    plan = []
    for task in tasks:
        data = load_task(task.name)
        size = len(data.train)
        for model in models:
            parameters = model.parameters(data.n_classes)
            for seed in seeds:
                identity = run_identity(model.name, parameters, task.name, data.title, seed, size)
                plan.append(PlannedRun(task, model, seed, size, identity))
    return sorted(plan, key=lambda run: run.seed)  # a stable sort: tasks and models stay in order


def _make_once(
    run: PlannedRun,
    results: ResultsFile,
    load_task: Any,
    outcome: Outcome,
    listener: Listener,
    remaining: Remaining,
) -> RunRecord | None:
    """Make a run unless another process is making it or has just made it."""
    with results.claim(run.identity) as mine:
        if not mine:
            outcome.elsewhere.append(run)
            return None
        if any(record.identity == run.identity for record in results.read()):
            return None
        data = load_task(run.task.name)
        listener.begins(run, remaining)
        try:
            with interrupts_end_the_run():
                record = execute_run(run.model, data, run.task.name, run.seed)
        except Exception as error:
            # One model that fails must not cost the night's other results.
            outcome.failed.append((run, error))
            return None
        results.append(record)
        outcome.finished.append(record)
        return record


def _remaining(runs: Sequence[PlannedRun], known: Sequence[RunRecord]) -> Remaining:
    """Time for runs, judged by those of the same cell and training size."""
    seconds: dict[tuple[str, str, int], list[float]] = {}
    for record in known:
        seconds.setdefault((record.data, record.model, record.train_size), []).append(record.seconds)
    likes = [seconds.get((*run.cell, run.train_size), []) for run in runs]
    return Remaining(
        seconds=sum(float(np.mean(like)) for like in likes if like),
        n_unknown=sum(not like for like in likes),
    )


@contextlib.contextmanager
def interrupts_end_the_run() -> Iterator[None]:
    """Make Ctrl-C count even where an estimator answers it by returning its best so far.

    That answer is right for a person at a prompt, but half a fit is no run of the protocol.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears of signals
        return
    interrupted = False

    def remember(number: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, remember)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The fit was interrupted", ConvergenceWarning)
            yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if interrupted:
            raise KeyboardInterrupt
