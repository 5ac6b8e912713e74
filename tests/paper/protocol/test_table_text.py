"""The table, letter by letter."""

from __future__ import annotations

import csv
import io

import pytest

from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.paper.protocol.table_cells import table_cells
from dikmeans.paper.protocol.table_models import TableModel
from dikmeans.paper.protocol.table_text import HEADERS, table_as_csv, table_as_markdown
from tests.paper.toy_data import BAR_FINDER, invented_run

PAPERLESS = TableModel("other", "Other | one", BAR_FINDER.make)
BESIDE_THE_PAPER = TableModel("bar-finder", "Bar finder", BAR_FINDER.make, paper_row="DI K-means")


def cells():
    records = [
        invented_run(0, 0.75, 5.0),
        invented_run(1, 0.5, 4.0),
        invented_run(0, 0.25, None, model="other"),
        invented_run(
            0,
            1.0,
            data="face-pose",
            data_title="Faces",
            train_size=273,
            train_available=273,
            test_size=117,
        ),
    ]
    tasks = [get_task("mnist"), get_task("face-pose")]
    return table_cells(records, tasks, [BESIDE_THE_PAPER, PAPERLESS], range(2), train_size=2000)


def test_markdown():
    text = table_as_markdown(cells())
    table, *notes = text.split("\n\n")
    header, _, rows = table.partition("\n")
    assert header == f"| {' | '.join(HEADERS)} |"
    assert (
        rows
        == """\
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| MNIST | Bar finder | 92.5 | 75.0 | 50.0 | 49.0 to 51.0 | 62.5 ± 12.5 | 2 | 2,000 of 60,000 |
| MNIST | Other \\| one | — | 25.0 | — | — | 25.0 | 1 of 2 | 2,000 of 60,000 |
| Faces | Bar finder | 45.3 | 100.0 | 100.0 | 96.8 to 100.0 | 100.0 | 1 of 2 | all 273 |
| Faces | Other \\| one | — | — | — | — | — | not run | — |"""
    )
    assert notes[0].startswith("Test accuracy in %.")
    assert notes[1].startswith("Paper: R. Cosentino")
    assert notes[2] == "Made with python 3.11.0, dikmeans 0.1.0.\n"


def statistics(metric, *values):
    names = ("best_by_labels", "label_free", "mean", "sd", "se")
    return {
        f"{metric}_{name}": pytest.approx(value, rel=1e-12)
        for name, value in zip(names, values, strict=True)
    }


def test_csv():
    lines = table_as_csv(cells()).splitlines()
    assert lines[4] == "face-pose,Faces,other,Other | one,,0,2" + 22 * ","
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    figures = {name: float(value) for name, value in list(rows[0].items())[4:-1]}
    assert figures == {
        "paper_accuracy": 0.925,
        "runs": 2,
        "runs_wanted": 2,
        "train_size": 2000,
        "train_available": 60000,
        "test_size": 10000,
        "accuracy_label_free_low": pytest.approx(0.49020, abs=1e-5),
        "accuracy_label_free_high": pytest.approx(0.50980, abs=1e-5),
        **statistics("accuracy", 0.75, 0.5, 0.625, 0.1767766952966369, 0.125),
        **statistics("nmi", 0.375, 0.25, 0.3125, 0.08838834764831845, 0.0625),
        **statistics("ari", 0.1875, 0.125, 0.15625, 0.04419417382415922, 0.03125),
        "mean_seconds": 3.0,
    }
    assert [row["accuracy_label_free"] for row in rows] == ["0.5", "", "1.0", ""]


def test_a_table_without_any_run_shows_the_paper_and_says_so():
    text = table_as_markdown(table_cells([], [get_task("mnist")], [BESIDE_THE_PAPER], range(10)))
    assert "| MNIST | Bar finder | 92.5 | — | — | — | — | not run | — |" in text
    assert "Made with" not in text
