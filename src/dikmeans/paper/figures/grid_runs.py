"""The runs behind the figure of accuracy against distortion: the paper's grid, on few images.

The paper varies the landmarks and Adam's learning rate. All 36 settings on all of MNIST would take
days, so the grid is run on a stated part; runs that were made otherwise can be used instead.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from dikmeans._typing import JSON
from dikmeans.evaluation.n_clusters import Clusterer
from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.figures.figure_inputs import FigureInputs
from dikmeans.paper.label_free_search import PAPER_GRID
from dikmeans.paper.protocol.data_tasks import SUBSET_SEED, DataTask, TaskData
from dikmeans.paper.protocol.results_file import ResultsFile, read_results
from dikmeans.paper.protocol.run_protocol import execute_run
from dikmeans.paper.protocol.run_record import RunRecord, run_identity
from dikmeans.paper.protocol.table_models import TableModel

MODEL = "di-k-means-published"
MAX_ITER = 10


def grid_parameters(train_size: int) -> JSON:
    """Return what the grid is run on, for figures of so many training images."""
    return {
        "grid": PAPER_GRID,
        "grid_train_size": max(1, train_size // 3),
        "grid_test_size": max(1, train_size // 2),
        "max_iter": MAX_ITER,
    }


def grid_runs(inputs: FigureInputs, task: DataTask, path: Path) -> list[RunRecord]:
    """Return the runs of the grid; those that the results file at `path` has are not made again."""
    sizes = grid_parameters(inputs.train_size)
    data = _subset(inputs, task, sizes["grid_train_size"], sizes["grid_test_size"])
    shortest_side = min(data.train.images.shape[1:3])
    settings = [
        setting for setting in ParameterGrid(PAPER_GRID) if setting["landmarks"] <= shortest_side
    ]
    records = []
    results = ResultsFile(path)
    known = {record.identity: record for record in results.read()}
    for number, setting in enumerate(settings, start=1):
        model = _model_with(setting)
        inputs.progress.step(f"run {number} of {len(settings)} of the grid on {task.title}")
        parameters, n_train = model.parameters(data.n_classes), len(data.train)
        record = known.get(
            run_identity(MODEL, parameters, task.name, data.title, inputs.seed, n_train)
        )
        if record is None:
            record = execute_run(model, data, task.name, inputs.seed)
            results.append(record)
        records.append(record)
    return records


def _model_with(setting: dict[str, Any]) -> TableModel:
    def make(n_clusters: int, seed: int) -> Clusterer:
        from dikmeans import DIKMeans

        published = DIKMeans.as_published(n_clusters, max_iter=MAX_ITER, random_state=seed)
        published.set_params(**setting)
        return published

    return TableModel(MODEL, "DI K-means as published", make)


def _subset(inputs: FigureInputs, task: DataTask, n_train: int, n_test: int) -> TaskData:
    """Return a small part of the data; the title says that the test images are a part, too."""
    data = inputs.data(task, max(n_train, inputs.data(task).n_classes))
    if n_test >= len(data.test):
        return data
    chosen = np.random.RandomState(SUBSET_SEED).permutation(len(data.test))[:n_test]
    title = f"{data.title}, {n_test} test images"
    return replace(data, title=title, test=data.test.subset(chosen))


def runs_of_file(path: Path, task: DataTask) -> list[RunRecord]:
    """Return the runs of the published algorithm on a data set, of any settings and seeds.

    Raises
    ------
    ReproductionFileError
        The file does not exist, is not a results file, or has too few such runs.
    """
    if not path.is_file():
        raise ReproductionFileError(path, "does not exist. Leave --results out to make the runs.")
    records = [
        record
        for record in read_results(path)
        if record.model == MODEL and record.data == task.name and record.distortion is not None
    ]
    if len({record.distortion for record in records}) < 2:
        raise ReproductionFileError(
            path,
            f"has {len(records)} runs of {MODEL} on {task.name}; a line needs two of different "
            f"distortion. Make more (dikmeans reproduce table --data {task.name} --models "
            f"{MODEL}), or leave --results out.",
        )
    return records
