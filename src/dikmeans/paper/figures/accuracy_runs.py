"""The runs of the figure that sets accuracy against distortion: the paper's grid, on little data.

The paper varies the landmarks and Adam's learning rate. All 36 settings on all of MNIST would take days, so
the grid is run on a stated part; runs that were made otherwise can be given instead.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from dikmeans.kmeans import DIKMeans
from dikmeans.paper import (
    PAPER_GRID,
    Model,
    ResultsFile,
    RunRecord,
    Task,
    TaskData,
    execute_run,
    read_results,
)
from dikmeans.paper.record import run_identity
from dikmeans.paper.tasks import SUBSET_SEED
from dikmeans.paper.figures.errors import ReproductionError
from dikmeans.paper.figures.workshop import Workshop

MODEL = "di-k-means-published"
MAX_ITER = 10


def grid_parameters(train_size: int) -> dict[str, Any]:
    """What the grid is run on, of a workshop with so many training images."""
    return {
        "grid": PAPER_GRID,
        "grid_train_size": max(1, train_size // 3),
        "grid_test_size": max(1, train_size // 2),
        "max_iter": MAX_ITER,
    }


def grid_runs(workshop: Workshop, task: Task, path: Path) -> list[RunRecord]:
    """The runs of the grid; those that the file at `path` has already are not made again.

    Parameters
    ----------
    workshop : Workshop
    task : Task
    path : path
        Results file; gets every run as soon as it is finished.

    Returns
    -------
    list of RunRecord
    """
    sizes = grid_parameters(workshop.train_size)
    data = _cut(workshop, task, sizes["grid_train_size"], sizes["grid_test_size"])
    shortest = min(data.train.images.shape[1:3])
    settings = [setting for setting in ParameterGrid(PAPER_GRID) if setting["landmarks"] <= shortest]
    records = []
    with ResultsFile(path) as results:
        known = {record.identity: record for record in results.read()}
        for number, setting in enumerate(settings, start=1):
            model = _with(setting)
            workshop.step(f"run {number} of {len(settings)} of the grid on {task.title}")
            record = _known_run(known, model, data, task, workshop.seed)
            if record is None:
                record = execute_run(model, data, task.name, workshop.seed)
                results.append(record)
            records.append(record)
    return records


def _known_run(
    known: dict[str, RunRecord], model: Model, data: TaskData, task: Task, seed: int
) -> RunRecord | None:
    parameters = model.parameters(data.n_classes)
    return known.get(run_identity(model.name, parameters, task.name, data.title, seed, len(data.train)))


def _with(setting: dict[str, Any]) -> Model:
    def make(n_clusters: int, seed: int) -> DIKMeans:
        published = DIKMeans.as_published(n_clusters, max_iter=MAX_ITER, random_state=seed)
        return published.set_params(**setting)

    return Model(MODEL, "DI K-means as published", make)


def _cut(workshop: Workshop, task: Task, n_train: int, n_test: int) -> TaskData:
    """A small part of the data; the title says that the test images are not all, either."""
    data = workshop.data(task, max(n_train, workshop.data(task).n_classes))
    if n_test >= len(data.test):
        return data
    chosen = np.random.RandomState(SUBSET_SEED).permutation(len(data.test))[:n_test]
    return replace(data, title=f"{data.title}, {n_test} test images", test=data.test.subset(chosen))


def runs_of_file(path: Path, task: Task) -> list[RunRecord]:
    """The runs of the published algorithm on a data set, of any settings and seeds.

    Raises
    ------
    ReproductionError
        The file is not there, or has too few.
    ResultsFileError
        It is no results file.
    """
    if not path.is_file():
        raise ReproductionError(f"There is no file {path}. Leave --results out to have the runs made.")
    records = [
        record
        for record in read_results(path)
        if record.model == MODEL and record.data == task.name and record.distortion is not None
    ]
    if len({record.distortion for record in records}) < 2:
        raise ReproductionError(
            f"{path} has {len(records)} runs of {MODEL} on {task.name}; a line needs two of different "
            f"distortion. Make more (dikmeans reproduce table --data {task.name} --models {MODEL}), or leave "
            "--results out."
        )
    return records
