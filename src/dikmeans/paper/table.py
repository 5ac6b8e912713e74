"""The table as text: rows of strings for any terminal, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dikmeans.paper.published import CITATION
from dikmeans.paper.record import FIGURES
from dikmeans.paper.summary import Cell, summarise

NOTHING = "—"
HEADERS = (
    "data set",
    "model",
    "paper",
    "best by labels",
    "label-free",
    "mean ± sd",
    "runs",
    "training images",
)
N_TEXT_COLUMNS = 2
"""The first columns are words, the others figures."""

READING = (
    "Test accuracy in %. Best by labels: the best of the runs, chosen by the true labels, which is what the "
    "paper prints. Label-free: the run with the lowest training distortion. "
    f"{NOTHING}: there is no such figure."
)

_CSV_HEADERS = (
    *("data", "data_title", "model", "model_title", "paper_accuracy"),
    *("runs", "runs_wanted", "train_size", "train_available"),
    *(f"{figure}_{what}" for figure in FIGURES for what in ("best_by_labels", "label_free", "mean", "sd")),
    *("mean_seconds", "note"),
)


def table_row(cell: Cell) -> tuple[str, ...]:
    """A cell in words, in the order of `HEADERS`.

    Parameters
    ----------
    cell : Cell
    """
    paper = NOTHING if cell.paper is None else f"{cell.paper:.1f}"
    if not cell.records:
        return cell.title, cell.model.title, paper, NOTHING, NOTHING, NOTHING, "not run", NOTHING
    figures = summarise(cell.records)
    spread = f"{100 * figures.mean:.1f}" + ("" if figures.sd is None else f" ± {100 * figures.sd:.1f}")
    first = cell.records[0]
    used, there = first.train_size, first.train_available
    return (
        cell.title,
        cell.model.title,
        paper,
        f"{100 * figures.best_by_labels:.1f}",
        NOTHING if figures.label_free is None else f"{100 * figures.label_free:.1f}",
        spread,
        str(figures.n_runs) if figures.n_runs >= cell.n_wanted else f"{figures.n_runs} of {cell.n_wanted}",
        f"all {there:,}" if used == there else f"{used:,} of {there:,}",
    )


def versions_line(cells: Sequence[Cell]) -> str:
    """By which versions the runs were made; empty if there are none."""
    seen: dict[str, dict[str, str]] = {}
    for cell in cells:
        for record in cell.records:
            words = ", ".join(f"{name} {version}" for name, version in record.versions.items())
            seen[words] = record.versions
    # what one list says need not be said again by a shorter one
    whole = [
        words
        for words, versions in seen.items()
        if not any(versions.items() < other.items() for other in seen.values())
    ]
    return f"Made with {'; '.join(sorted(whole))}." if whole else ""


def model_notes(cells: Sequence[Cell]) -> list[str]:
    """What must be known about rows of the table, each thing once."""
    return list(dict.fromkeys(cell.model.note for cell in cells if cell.model.note))


def table_as_markdown(cells: Sequence[Cell]) -> str:
    """The table with its explanation.

    Parameters
    ----------
    cells : sequence of Cell

    Returns
    -------
    str
    """
    rules = ["---"] * N_TEXT_COLUMNS + ["---:"] * (len(HEADERS) - N_TEXT_COLUMNS)
    rows = [HEADERS, rules, *(table_row(cell) for cell in cells)]
    lines = [f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |" for row in rows]
    notes = [READING, *model_notes(cells), f"Paper: {CITATION}", versions_line(cells)]
    return "\n".join(lines) + "\n\n" + "\n\n".join(note for note in notes if note) + "\n"


def table_as_csv(cells: Sequence[Cell]) -> str:
    """The table for programs: fractions with all digits, empty fields where there is nothing.

    The paper's accuracy is a fraction here, too.

    Parameters
    ----------
    cells : sequence of Cell

    Returns
    -------
    str
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_HEADERS)
    for cell in cells:
        paper = "" if cell.paper is None else round(cell.paper / 100, 6)
        row: list[object] = [cell.task.name, cell.title, cell.model.name, cell.model.title, paper]
        row += [len(cell.records), cell.n_wanted]
        if cell.records:
            row += [cell.records[0].train_size, cell.records[0].train_available]
            for figure in FIGURES:
                of = summarise(cell.records, figure)
                row += [of.best_by_labels, of.label_free, of.mean, of.sd]
            row.append(sum(record.seconds for record in cell.records) / len(cell.records))
        # csv writes None as nothing
        row += [None] * (len(_CSV_HEADERS) - len(row) - 1)
        writer.writerow([*row, cell.model.note])
    return text.getvalue()
