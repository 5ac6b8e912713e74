"""What the user sees of the protocol: a line a run, a bar with the time left, the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich import box
from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dikmeans.cli.bar import BarOnTerminal
from dikmeans.cli.console import describe_seconds, make_console
from dikmeans.paper import Cell, Listener, Model, Outcome, RunRecord, Task
from dikmeans.paper.protocol import PlannedRun, Remaining
from dikmeans.paper.table import HEADERS, N_TEXT_COLUMNS, READING, model_notes, table_row


class RunsOnTerminal(BarOnTerminal, Listener):
    """Shows progress on standard error while it is entered."""

    def __init__(self) -> None:
        columns = MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}")
        super().__init__(*columns, left="")

    def loading(self, task: Task) -> None:
        """Say what is being read."""
        self._bar.update(self._task, description=f"reading {task.title}")

    def planned(self, n_done: int, n_pending: int) -> None:
        """Say how much there is to do."""
        self._bar.update(self._task, total=n_pending)
        self._console.print(f"{n_pending} runs to make, {n_done} are there already.")

    def begins(self, run: PlannedRun, remaining: Remaining) -> None:
        """Show what is being made and how long all will take."""
        self._bar.update(
            self._task,
            description=f"{run.model.title} on {run.task.title}, seed {run.seed}",
            left=describe_remaining(remaining),
        )

    def ended(self, run: PlannedRun, record: RunRecord | None) -> None:
        """Leave a line for a finished run."""
        self._bar.advance(self._task)
        if record is not None:
            self._console.print(
                Text(
                    f"{run.task.name}  {run.model.name}  seed {run.seed}: "
                    f"{100 * record.test['accuracy']:.1f} % in {describe_seconds(record.seconds)}"
                )
            )


def describe_remaining(remaining: Remaining) -> str:
    """Time left in words.

    Parameters
    ----------
    remaining : Remaining

    Examples
    --------
    >>> describe_remaining(Remaining(seconds=90, n_unknown=0))
    'about 2 min left'
    >>> describe_remaining(Remaining(seconds=90, n_unknown=3))
    'more than 2 min left'
    >>> describe_remaining(Remaining(seconds=0, n_unknown=3))
    'time left not known yet'
    """
    if remaining.n_unknown and not remaining.seconds:
        return "time left not known yet"
    about = "more than" if remaining.n_unknown else "about"
    return f"{about} {describe_seconds(remaining.seconds)} left"


def show_table(cells: Sequence[Cell]) -> None:
    """Print the table on standard output.

    Parameters
    ----------
    cells : sequence of Cell
    """
    table = Table(box=box.SIMPLE_HEAD)
    for number, header in enumerate(HEADERS):
        table.add_column(header, justify="left" if number < N_TEXT_COLUMNS else "right")
    for _, block in groupby(cells, key=lambda cell: (cell.task.name, cell.title)):
        for number, cell in enumerate(block):
            data, *others = table_row(cell)
            style = None if cell.records else "dim"
            table.add_row(Text("" if number else data), *map(Text, others), style=style)
        table.add_section()
    console = make_console(stderr=False)
    console.print(table)
    for note in (READING, *model_notes(cells)):
        console.print(Text(note))


def show_left_out(models: Sequence[Model]) -> None:
    """Print which models are not in the table because something is not installed, and what to do.

    Parameters
    ----------
    models : sequence of Model
    """
    console = make_console(stderr=True)
    for (library, extra), missing in groupby(
        models, key=lambda model: (model.library, model.extra)
    ):
        titles = ", ".join(model.title for model in missing)
        console.print(
            Text(
                f"Without {library}, left out: {titles}. pip install 'dikmeans[{extra}]' adds them."
            )
        )


def show_outcome(outcome: Outcome, results_path: Path, output: Path) -> None:
    """Print what was left undone, and where things are.

    Parameters
    ----------
    outcome : Outcome
    results_path, output : path
    """
    console = make_console(stderr=True)
    for run, error in outcome.failed:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        console.print(
            Text(
                f"Failed: {run.model.name} on {run.task.name}, seed {run.seed}: {message}",
                style="red",
            )
        )
    if outcome.out_of_time:
        console.print(
            f"Out of time: {len(outcome.out_of_time)} runs were not begun; the same command makes them."
        )
    if outcome.elsewhere:
        console.print(f"{len(outcome.elsewhere)} runs were being made by another process.")
    console.print(
        Text(f"Table: {output / 'table.md'}, {output / 'table.csv'}. Runs: {results_path}.")
    )


def show_stopped(results_path: Path, cells: Sequence[Cell]) -> None:
    """Print that the work was stopped, and what is kept.

    Parameters
    ----------
    results_path : path
    cells : sequence of Cell
    """
    kept = sum(len(cell.records) for cell in cells)
    make_console(stderr=True).print(
        Text(
            f"Stopped. {kept} finished runs of this table are in {results_path}; the same command goes on."
        )
    )
