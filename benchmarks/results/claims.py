"""What README claims, read from the results: no figure is typed by hand.

``python -m benchmarks.results --claims`` writes the claims into README, between the same marks as a
block of a page; a test fails when README and the results differ.
"""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile
from pathlib import Path

import numpy as np

from benchmarks.results.page import blocks
from dikmeans.paper.protocol.data_tasks import get_tasks
from dikmeans.paper.protocol.results_file import read_results
from dikmeans.paper.protocol.table_cells import summarize, table_cells
from dikmeans.paper.protocol.table_models import get_models

# What README calls the sets that it names, in its order.
NAMES = {
    "arabic-characters": "Arabic characters",
    "emnist-letters": "letters",
    "audio-mnist": "sounds",
    "rock-paper-scissors": "hands",
    "face-pose": "head poses",
}
N_RUNS = 10
_MARKS = re.compile(r"(<!-- claims -->\n).*?(<!-- end of claims -->)", re.S)


class MissingResultError(Exception):
    """A claim has nothing to be read from."""


def claims(results: Path) -> str:
    """Return the rows of README's table of results."""
    return "| | |\n|---|---|\n" + "".join(
        f"| {what} | {found} |\n"
        for what, found in (_mnist(results), _sets(results), _solver(results))
    )


def with_claims(readme: str, text: str) -> str:
    """Return README with the claims between its marks."""
    changed, n = _MARKS.subn(lambda found: f"{found[1]}\n{text}\n{found[2]}", readme)
    if n != 1:
        raise MissingResultError(f"README has {n} pairs of marks <!-- claims -->, not one.")
    return changed


def table_rows(markdown: str) -> list[dict[str, str]]:
    """Return the rows of the first table of a text, by the names of their columns."""
    lines = dropwhile(lambda line: not line.startswith("|"), markdown.splitlines())
    rows = [line.strip("|").split("|") for line in takewhile(lambda line: line[:1] == "|", lines)]
    cells = [[cell.strip() for cell in row] for row in rows]
    # the second row is the rule below the header
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]] if cells else []


def _table(results: Path, page: str, part: str) -> list[dict[str, str]]:
    found = table_rows(blocks(results / page)[part].output)
    if not found:
        raise MissingResultError(f"{page} has no figures of {part}: make results PARTS={part}")
    return found


def _mnist(results: Path) -> tuple[str, str]:
    rows = _table(results, "speed.md", "mnist-fit")
    accuracies = [float(row["test accuracy (%)"]) for row in rows]
    seconds = np.median([float(row["fit (s)"]) for row in rows])
    [cell] = _cells(results, ["mnist"])
    return (
        "All 60,000 MNIST images, one run, defaults, no GPU",
        f"**{np.mean(accuracies):.1f} %** on the test set (mean of {len(rows)} seeds), "
        f"**{seconds:.0f} seconds** on two cores ([speed](docs/results/speed.md)); the paper: "
        f"{cell.paper:.1f} %, its best of ten runs by the test labels",
    )


def _sets(results: Path) -> tuple[str, str]:
    found, n_runs = [], set()
    for cell in _cells(results, list(NAMES)):
        chosen = summarize(cell.records).label_free
        if chosen is None or cell.paper is None:
            raise MissingResultError(f"No label-free figure of {cell.task.name}.")
        n_runs.add(len(cell.records))
        found.append(f"{NAMES[cell.task.name]} **{100 * chosen:.1f}** ({cell.paper:.1f})")
    return (
        f"All training images, label-free (lowest inertia of {_range(n_runs)}), in brackets the "
        "paper's best of ten by labels ([table](docs/results/table.md))",
        ", ".join(found) + " %",
    )


def _range(n_runs: set[int]) -> str:
    least, most = min(n_runs), max(n_runs)
    return f"{most} runs" if least == most else f"{least} to {most} runs"


def _solver(results: Path) -> tuple[str, str]:
    factors = [float(row["faster"].split()[0]) for row in _table(results, "speed.md", "solver")]
    return (
        "Time to the alignment cost of Adam with PyTorch's `grid_sample` and autograd, same two "
        "cores ([speed](docs/results/speed.md))",
        f"**{min(factors):.0f} to {max(factors):.0f} times** faster, depending on landmarks and "
        "accuracy",
    )


def _cells(results: Path, names: list[str]) -> list:
    records, [model] = read_results(results / "runs.jsonl"), get_models(("di-k-means",))
    cells = table_cells(records, get_tasks(names), [model], range(N_RUNS))
    empty = [cell.task.name for cell in cells if not cell.records]
    if empty:
        raise MissingResultError(f"No runs on {', '.join(empty)}: make results PARTS=table")
    return cells
