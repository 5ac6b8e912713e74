"""The table as text: rows of strings for a terminal, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dikmeans.paper.protocol.published import CITATION
from dikmeans.paper.protocol.run_record import METRICS
from dikmeans.paper.protocol.table_cells import (
    Cell,
    Interval,
    accuracy_interval,
    label_free_choice,
    summarize,
)

NOTHING = "—"
HEADERS = (
    "data set",
    "model",
    "paper",
    "best by labels",
    "label-free",
    "95 % interval",
    "mean ± se",
    "runs",
    "training images",
)
N_TEXT_COLUMNS = 2
"""The first columns are text, the others numbers."""

EXPLANATION = (
    "Test accuracy in %. Best by labels: the best of the runs, chosen by the true labels, which is "
    "what the paper prints. Label-free: the run with the lowest training distortion. 95 % "
    "interval: of the label-free figure, from the number of test images (Wilson), as if each were "
    "drawn on its own; the spread over seeds is not part of it. ± se: the standard error of the "
    f"mean over the seeds, on the same test images. {NOTHING}: there is no such figure."
)

_CSV_HEADERS = (
    *("data", "data_title", "model", "model_title", "paper_accuracy"),
    *("runs", "runs_wanted", "train_size", "train_available", "test_size"),
    *("accuracy_label_free_low", "accuracy_label_free_high"),
    *(
        f"{metric}_{statistic}"
        for metric in METRICS
        for statistic in ("best_by_labels", "label_free", "mean", "sd", "se")
    ),
    *("mean_seconds", "note"),
)


def table_row(cell: Cell) -> tuple[str, ...]:
    """Return a cell as strings, in the order of `HEADERS`."""
    paper = NOTHING if cell.paper is None else f"{cell.paper:.1f}"
    if not cell.records:
        return cell.title, cell.model.title, paper, *4 * (NOTHING,), "not run", NOTHING
    summary = summarize(cell.records)
    interval = _label_free_interval(cell)
    error = "" if summary.se is None else f" ± {100 * summary.se:.1f}"
    used, available = cell.records[0].train_size, cell.records[0].train_available
    is_complete = summary.n_runs >= cell.n_expected
    return (
        cell.title,
        cell.model.title,
        paper,
        f"{100 * summary.best_by_labels:.1f}",
        NOTHING if summary.label_free is None else f"{100 * summary.label_free:.1f}",
        NOTHING if interval is None else " to ".join(f"{100 * limit:.1f}" for limit in interval),
        f"{100 * summary.mean:.1f}{error}",
        str(summary.n_runs) if is_complete else f"{summary.n_runs} of {cell.n_expected}",
        f"all {available:,}" if used == available else f"{used:,} of {available:,}",
    )


def _label_free_interval(cell: Cell) -> Interval | None:
    chosen = label_free_choice(cell.records)
    return None if chosen is None else accuracy_interval(chosen)


def versions_line(cells: Sequence[Cell]) -> str:
    """Return the versions that made the runs; empty if there are no runs."""
    seen: dict[str, dict[str, str]] = {}
    for cell in cells:
        for record in cell.records:
            # Commits are in the results file; runs of many would hide the rest here.
            versions = {k: v for k, v in record.versions.items() if k != "commit"}
            seen[", ".join(f"{name} {version}" for name, version in versions.items())] = versions
    # A list that is part of a longer one says nothing new.
    distinct = [
        text
        for text, versions in seen.items()
        if not any(versions.items() < other.items() for other in seen.values())
    ]
    return f"Made with {'; '.join(sorted(distinct))}." if distinct else ""


def model_notes(cells: Sequence[Cell]) -> list[str]:
    """Return the notes about rows of the table, each once."""
    return list(dict.fromkeys(cell.model.note for cell in cells if cell.model.note))


def table_as_markdown(cells: Sequence[Cell]) -> str:
    """Return the table as Markdown, with its explanation."""
    rules = ["---"] * N_TEXT_COLUMNS + ["---:"] * (len(HEADERS) - N_TEXT_COLUMNS)
    rows = [HEADERS, rules, *(table_row(cell) for cell in cells)]
    lines = [f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |" for row in rows]
    notes = [EXPLANATION, *model_notes(cells), f"Paper: {CITATION}", versions_line(cells)]
    return "\n".join(lines) + "\n\n" + "\n\n".join(note for note in notes if note) + "\n"


def table_as_csv(cells: Sequence[Cell]) -> str:
    """Return the table as CSV: fractions with all digits, empty fields for nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_HEADERS)
    for cell in cells:
        paper = "" if cell.paper is None else round(cell.paper / 100, 6)
        row: list[object] = [cell.task.name, cell.title, cell.model.name, cell.model.title, paper]
        row += [len(cell.records), cell.n_expected]
        if cell.records:
            first = cell.records[0]
            row += [first.train_size, first.train_available, first.test_size]
            row += _label_free_interval(cell) or (None, None)
            for metric in METRICS:
                summary = summarize(cell.records, metric)
                row += [summary.best_by_labels, summary.label_free, summary.mean]
                row += [summary.sd, summary.se]
            row.append(sum(record.seconds for record in cell.records) / len(cell.records))
        # None becomes an empty field.
        row += [None] * (len(_CSV_HEADERS) - len(row) - 1)
        writer.writerow([*row, cell.model.note])
    return text.getvalue()
