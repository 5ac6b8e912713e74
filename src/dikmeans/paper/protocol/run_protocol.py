"""The protocol: fit on train, predict test, for every model, data set and seed.

The centroids stay fixed when test images are predicted.

Runs are made seed by seed over all cells of the table, so that the cells have nearly the same
number of runs when time is short. A finished run is appended to the results file at once; runs that
the file has are not made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dikmeans._typing import PathLike
from dikmeans.evaluation.metrics import scores
from dikmeans.paper.progress import TimeLeft, WorkProgress, interrupts_propagate
from dikmeans.paper.protocol.data_tasks import DataTask, TaskData
from dikmeans.paper.protocol.results_file import ResultsFile
from dikmeans.paper.protocol.run_record import RunRecord, current_versions, run_identity
from dikmeans.paper.protocol.table_models import TableModel, TrainingFolder, parameters_of


class PlannedRun(NamedTuple):
    """A run to be made.

    Attributes
    ----------
    task : DataTask
    model : TableModel
    seed : int
    train_size : int
        Training images it will use.
    identity : str
        As in `RunRecord.identity`.
    """

    task: DataTask
    model: TableModel
    seed: int
    train_size: int
    identity: str

    @property
    def cell(self) -> tuple[str, str]:
        """Names of task and model."""
        return self.task.name, self.model.name


@dataclass
class ProtocolResult:
    """What became of the planned runs.

    Attributes
    ----------
    finished : list of RunRecord
    failed : list of (PlannedRun, Exception)
        A model raised; the other seeds of its cell were not tried.
    out_of_time : list of PlannedRun
        Not started, because they would have ended too late.
    elsewhere : list of PlannedRun
        Another process was making them.
    """

    finished: list[RunRecord] = field(default_factory=list)
    failed: list[tuple[PlannedRun, Exception]] = field(default_factory=list)
    out_of_time: list[PlannedRun] = field(default_factory=list)
    elsewhere: list[PlannedRun] = field(default_factory=list)


def execute_run(
    model: TableModel,
    data: TaskData,
    data_name: str,
    seed: int,
    *,
    trainings: TrainingFolder | None = None,
) -> RunRecord:
    """Fit on train, predict test with the fitted model, and compute every metric.

    Parameters
    ----------
    model : TableModel
    data : TaskData
    data_name : str
        Name of the task in the record.
    seed : int
    trainings : TrainingFolder, optional
        Where a model may keep a training on the way.
    """
    estimator = model.make(data.n_classes, seed)
    start = time.perf_counter()
    model.fit(estimator, data.train.images, trainings)
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
        # An objective that is not finite can choose nothing, and JSON cannot hold it.
        distortion=None if objective is None or not np.isfinite(objective) else float(objective),
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
        n_jobs=getattr(estimator, "n_jobs", getattr(estimator, "n_threads", None)),
        cpus=os.cpu_count(),
        versions=current_versions(*([model.library] if model.library else [])),
        processor_seconds=getattr(estimator, "processor_seconds_", None),
    )


def run_protocol(
    tasks: Sequence[DataTask],
    models: Sequence[TableModel],
    results: ResultsFile,
    *,
    seeds: Sequence[int] = tuple(range(10)),
    train_size: int | None = None,
    data_home: PathLike | None = None,
    download: bool = True,
    time_budget: float | None = None,
    progress: WorkProgress | None = None,
) -> ProtocolResult:
    """Make the runs that are not in the results file yet.

    Parameters
    ----------
    tasks : sequence of DataTask
    models : sequence of TableModel
    results : ResultsFile
        Gets every run as soon as it is finished.
    seeds : sequence of int, default=0 to 9
    train_size : int, optional
        At most so many training images; see `DataTask.load`. The test images are always all.
    data_home : path, optional
    download : bool, default=True
        As in `dikmeans.datasets.load`.
    time_budget : float, optional
        Seconds after which no run is started, nor one that, judged by earlier runs of its cell,
        would end later.
    progress : WorkProgress, optional

    Raises
    ------
    dikmeans.datasets.DataError
        Data are missing; raised before the first run.
    KeyboardInterrupt
        After Ctrl-C; the current run is discarded, those before are kept.
    """
    progress = progress or WorkProgress()
    deadline = np.inf if time_budget is None else time.monotonic() + time_budget

    @lru_cache(maxsize=1)  # one data set in memory at a time; reading is fast compared with fitting
    def load_task(task: str) -> TaskData:
        (chosen,) = (other for other in tasks if other.name == task)
        progress.step(f"reading {chosen.title}")
        return chosen.load(train_size, data_home, download=download)

    plan = _plan(tasks, models, seeds, load_task)
    known = results.read()
    done = {record.identity for record in known}
    pending = [run for run in plan if run.identity not in done]
    progress.planned(len(plan) - len(pending), len(pending))
    result = ProtocolResult()
    failed_cells: set[tuple[str, str]] = set()
    for position, run in enumerate(pending):
        if time.monotonic() + _time_left([run], known).seconds >= deadline:
            result.out_of_time.append(run)
            progress.finished()
            continue
        if run.cell in failed_cells:
            progress.finished()
            continue
        with results.claim(run.identity) as claimed:
            if not claimed:
                result.elsewhere.append(run)
            if not claimed or any(other.identity == run.identity for other in results.read()):
                progress.finished()
                continue
            data = load_task(run.task.name)
            title = f"{run.model.title} on {run.task.title}, seed {run.seed}"
            progress.started(title, _time_left(pending[position:], known))
            try:
                with interrupts_propagate():
                    folder = TrainingFolder(results.trainings, run.identity, run.task.name)
                    record = execute_run(run.model, data, run.task.name, run.seed, trainings=folder)
            except Exception as error:  # one failing model must not cost the other results
                result.failed.append((run, error))
                failed_cells.add(run.cell)
                progress.failed(f"{run.model.name} on {run.task.name}, seed {run.seed}", error)
                continue
            results.append(record)
        result.finished.append(record)
        known.append(record)
        accuracy = f"{100 * record.test['accuracy']:.1f} %"
        progress.finished(f"{run.task.name}  {run.model.name}  seed {run.seed}: {accuracy}")
    return result


def _plan(
    tasks: Sequence[DataTask],
    models: Sequence[TableModel],
    seeds: Sequence[int],
    load_task: Callable[[str], TaskData],
) -> list[PlannedRun]:
    """Return all runs, seed by seed. Reads every data set, so that missing data are found now."""
    plan = []
    for task in tasks:
        data = load_task(task.name)
        size = len(data.train)
        for model in models:
            parameters = model.parameters(data.n_classes)
            for seed in seeds:
                identity = run_identity(model.name, parameters, task.name, data.title, seed, size)
                plan.append(PlannedRun(task, model, seed, size, identity))
    return sorted(plan, key=lambda run: run.seed)  # stable: tasks and models stay in order


def _time_left(runs: Sequence[PlannedRun], known: Sequence[RunRecord]) -> TimeLeft:
    """Estimate the time of runs by those of the same cell and training size."""
    seconds: dict[tuple[str, str, int], list[float]] = {}
    for record in known:
        cell = (record.data, record.model, record.train_size)
        seconds.setdefault(cell, []).append(record.seconds)
    similar = [seconds.get((*run.cell, run.train_size), []) for run in runs]
    return TimeLeft(
        seconds=sum(float(np.mean(times)) for times in similar if times),
        n_unknown=sum(not times for times in similar),
    )
