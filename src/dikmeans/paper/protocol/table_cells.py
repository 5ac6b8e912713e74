"""The cells of the table: the runs of one model on one data set, and three figures about them.

- best by labels: the best test figure of the runs. It is what the paper prints, and needs labels.
- label-free: the test figure of the run with the lowest training distortion: what a user can have.
  Its accuracy has an interval: what it would be on other test images of the same kind.
- mean over the runs, its standard error, and their standard deviation: what to expect of one run
  on these test images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from dikmeans.paper.protocol.data_tasks import DataTask
from dikmeans.paper.protocol.published import paper_accuracy
from dikmeans.paper.protocol.run_record import RunRecord
from dikmeans.paper.protocol.table_models import TableModel

CONFIDENCE = 0.95
"""Level of the interval of an accuracy."""


class Interval(NamedTuple):
    """Limits of an accuracy; fractions."""

    low: float
    high: float


class Summary(NamedTuple):
    """The three figures of runs that differ in the seed alone; fractions.

    Attributes
    ----------
    best_by_labels : float
    label_free : float or None
        None if a run has no distortion to choose by.
    mean : float
    sd : float or None
        With N - 1 in the denominator; None for a single run.
    se : float or None
        Standard error of the mean: ``sd / sqrt(n_runs)``.
    n_runs : int
    """

    best_by_labels: float
    label_free: float | None
    mean: float
    sd: float | None
    se: float | None
    n_runs: int


def summarize(records: Sequence[RunRecord], metric: str = "accuracy") -> Summary:
    """Return the three figures of the test part.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs that differ in nothing but the seed.
    metric : {"accuracy", "nmi", "ari"}, default="accuracy"

    Raises
    ------
    ValueError
        No runs, or runs that cannot be compared.
    """
    if not records:
        raise ValueError("There are no runs to summarize; got an empty list.")
    kinds = {(record.model, record.data, record.train_size) for record in records}
    if len(kinds) > 1:
        raise ValueError(
            f"Runs to summarize may differ in the seed alone; got several kinds: {sorted(kinds)}."
        )
    values = np.array([record.test[metric] for record in records])
    chosen = label_free_choice(records)
    sd = float(values.std(ddof=1)) if len(values) > 1 else None
    return Summary(
        best_by_labels=float(values.max()),
        label_free=None if chosen is None else chosen.test[metric],
        mean=float(values.mean()),
        sd=sd,
        se=None if sd is None else sd / len(values) ** 0.5,
        n_runs=len(values),
    )


def label_free_choice(records: Sequence[RunRecord]) -> RunRecord | None:
    """Return the run with the lowest training distortion, in a tie the lower seed.

    None if there is no run, or one without a distortion.
    """
    if any(record.distortion is None for record in records):
        return None
    return min(records, key=lambda record: (record.distortion, record.seed), default=None)


def accuracy_interval(record: RunRecord) -> Interval:
    """Return the 95 % interval (Wilson's) of a run's test accuracy from its number of test images.

    The fitted model is taken as given, and its test images as drawn at random. Images of one person
    or one sound are not: where there are few of these, the interval is too narrow.

    Parameters
    ----------
    record : RunRecord
        Chosen without the labels, or else the interval lies too high.
    """
    n_right = round(record.test["accuracy"] * record.test_size)
    limits = binomtest(n_right, record.test_size).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(limits.low), float(limits.high))


class Cell(NamedTuple):
    """A model on a data set.

    Attributes
    ----------
    task : DataTask
    model : TableModel
    title : str
        What the data are.
    records : tuple of RunRecord
        Its runs; empty if there are none.
    n_expected : int
        How many runs there should be.
    """

    task: DataTask
    model: TableModel
    title: str
    records: tuple[RunRecord, ...]
    n_expected: int

    @property
    def paper(self) -> float | None:
        """The paper's accuracy in %."""
        return paper_accuracy(self.model.paper_row, self.task.paper_column)


def table_cells(
    records: Sequence[RunRecord],
    tasks: Sequence[DataTask],
    models: Sequence[TableModel],
    seeds: Sequence[int],
    train_size: int | None = None,
) -> list[Cell]:
    """Sort runs into the cells of a table.

    Parameters
    ----------
    records : sequence of RunRecord
        Any runs; those that are not of the table are ignored.
    tasks, models : sequence
        Columns and rows of the paper's table.
    seeds : sequence of int
    train_size : int, optional
        As in `run_protocol`: at most so many training images; by default all.

    Returns
    -------
    list of Cell
        Task by task, in the order given. A task has several blocks if its runs were made on
        different data, such as the whole of EMNIST and a draw of it.
    """
    cells = []
    for task in tasks:
        of_task = [
            record
            for record in records
            if record.data == task.name
            and record.seed in seeds
            and record.train_size
            == min(train_size or record.train_available, record.train_available)
        ]
        for title in dict.fromkeys(record.data_title for record in of_task) or (task.title,):
            of_title = [record for record in of_task if record.data_title == title]
            cells += [
                Cell(task, model, title, _runs_of(model, of_title), len(seeds)) for model in models
            ]
    return cells


def _runs_of(model: TableModel, records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """Return the runs of a model with its present parameters, not those of an earlier version."""
    return tuple(
        record
        for record in records
        if record.model == model.name and record.parameters == model.parameters(record.n_clusters)
    )
