"""What is said of the runs of one model on one data set: three figures, always apart.

- best by labels: the best test figure of the runs. What the paper prints; it needs the answer to choose.
- label-free: the test figure of the run with the lowest training distortion. What a user can have.
- mean and standard deviation over the runs. What one run gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dikmeans.paper.models import Model
from dikmeans.paper.published import paper_accuracy
from dikmeans.paper.record import RunRecord
from dikmeans.paper.tasks import Task


@dataclass(frozen=True)
class Figures:
    """The three figures of some runs; fractions.

    Attributes
    ----------
    best_by_labels : float
    label_free : float or None
        None if a run has no distortion to choose by.
    mean : float
    sd : float or None
        With N - 1 in the denominator; None for a single run.
    n_runs : int
    """

    best_by_labels: float
    label_free: float | None
    mean: float
    sd: float | None
    n_runs: int


def summarise(records: Sequence[RunRecord], figure: str = "accuracy") -> Figures:
    """The three figures of the test part.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs that differ in nothing but the seed.
    figure : {"accuracy", "nmi", "ari"}, default="accuracy"

    Returns
    -------
    Figures
        ``best_by_labels`` is the best by this figure.

    Raises
    ------
    ValueError
        No runs, or runs that cannot be compared.
    """
    if not records:
        raise ValueError("There are no runs to summarise; got an empty list.")
    kinds = {(record.model, record.data, record.train_size) for record in records}
    if len(kinds) > 1:
        raise ValueError(
            f"Runs to summarise may differ in the seed alone; got several kinds: {sorted(kinds)}."
        )
    values = np.array([record.test[figure] for record in records])
    chosen = label_free_choice(records)
    return Figures(
        best_by_labels=float(values.max()),
        label_free=None if chosen is None else chosen.test[figure],
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else None,
        n_runs=len(values),
    )


def label_free_choice(records: Sequence[RunRecord]) -> RunRecord | None:
    """The run with the lowest training distortion, the lower seed in a tie; None if one has none."""
    distortions = [(record.distortion, record.seed) for record in records]
    if not records or any(distortion is None for distortion, _ in distortions):
        return None
    return records[distortions.index(min(distortions))]


@dataclass(frozen=True)
class Cell:
    """A model on a data set, as the table shows it.

    Attributes
    ----------
    task : Task
    model : Model
    title : str
        What the data were.
    records : tuple of RunRecord
        Its runs; empty if there are none.
    n_wanted : int
        How many there should be.
    """

    task: Task
    model: Model
    title: str
    records: tuple[RunRecord, ...]
    n_wanted: int

    @property
    def paper(self) -> float | None:
        """The paper's accuracy in %."""
        return paper_accuracy(self.model.paper_row, self.task.paper_column)


def table_cells(
    records: Sequence[RunRecord],
    tasks: Sequence[Task],
    models: Sequence[Model],
    seeds: Sequence[int],
    train_size: int | None = None,
) -> list[Cell]:
    """Sort runs into the cells of a table.

    Parameters
    ----------
    records : sequence of RunRecord
        Of all sorts; those that are not of the table are left out.
    tasks, models : sequence
        Columns and rows.
    seeds : sequence of int
    train_size : int, optional
        As the runs were asked for: at most so many training images; by default all.

    Returns
    -------
    list of Cell
        Task by task, in the order given. A task has several blocks if its runs were made on different
        data, such as the whole of EMNIST and a draw of it.
    """
    cells = []
    for task in tasks:
        of_task = [
            record
            for record in records
            if record.data == task.name
            and record.seed in seeds
            and record.train_size == min(train_size or record.train_available, record.train_available)
        ]
        for title in dict.fromkeys(record.data_title for record in of_task) or (task.title,):
            of_title = [record for record in of_task if record.data_title == title]
            cells += [Cell(task, model, title, _runs_of(model, of_title), len(seeds)) for model in models]
    return cells


def _runs_of(model: Model, records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """The runs of a model with the parameters it has now, not those of an earlier version of it."""
    return tuple(
        record
        for record in records
        if record.model == model.name and record.parameters == model.parameters(record.n_clusters)
    )
