"""Runs on disk survive crashes, company, and being pointed at the wrong file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.protocol.data_tasks import TASKS
from dikmeans.paper.protocol.results_file import ResultsFile, read_results
from dikmeans.paper.protocol.run_record import RunRecord
from dikmeans.paper.protocol.table_models import get_model, model_names
from tests.paper.toy_data import PYTHON_PATH, invented_run


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "new folder" / "runs.jsonl"


def add(path: Path, *seeds: int) -> None:
    results = ResultsFile(path)
    for seed in seeds:
        results.append(invented_run(seed))


def seeds_in(path: Path) -> list[int]:
    return [record.seed for record in read_results(path)]


@given(st.floats(0, 1), st.none() | st.floats(0, 1e30), st.text())
def test_a_run_comes_back_from_its_line_as_it_was(accuracy, distortion, title):
    record = invented_run(3, accuracy, distortion, data_title=title)
    line = record.to_line()
    assert RunRecord.from_line(line) == record
    assert "\n" not in line


def test_what_is_appended_is_read_back_in_order(path):
    add(path, 2, 0)
    add(path, 1)
    assert seeds_in(path) == [2, 0, 1]


def test_a_run_is_kept_once(path):
    add(path, 0)
    results = ResultsFile(path)
    assert not results.append(invented_run(0, accuracy=0.9))
    assert [record.test["accuracy"] for record in read_results(path)] == [0.5]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(share=st.floats(0, 1))
def test_a_line_torn_anywhere_costs_that_line_alone(tmp_path, share):
    path = tmp_path / "runs.jsonl"
    whole, torn = (invented_run(seed).to_line() + "\n" for seed in (0, 1))
    cut = round(share * len(torn))
    path.write_text(whole + torn[:cut])
    survives = cut >= len(torn) - 1  # only the line's end may be missing
    assert seeds_in(path) == ([0, 1] if survives else [0])  # tolerated by a reader ...
    add(path, 2)  # ... and mended by a writer
    lines = path.read_text().splitlines()
    assert [RunRecord.from_line(line).seed for line in lines] == ([0, 1, 2] if survives else [0, 2])


@pytest.mark.parametrize(
    "content", ["my shopping list", "milk\neggs\n", '{"format": "other"}\n', "\x00\xff"]
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(ReproductionFileError, match=r"line 1 is .* expected a run"):
        ResultsFile(path)
    assert path.read_text() == content


def test_a_place_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(ReproductionFileError, match="is not a file"):
        ResultsFile(tmp_path)


def test_a_damaged_line_in_the_middle_is_named(path):
    add(path, 0, 1, 2)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:50] + "\n" + lines[2])
    with pytest.raises(ReproductionFileError, match="line 2"):
        ResultsFile(path)


@pytest.mark.parametrize(
    "changes",
    [{"test_size": 0}, {"accuracy": 1.5}, {"accuracy": -0.1}, {"accuracy": float("nan")}],
)
def test_a_record_without_test_images_or_with_an_impossible_accuracy_is_refused(changes):
    with pytest.raises(ValueError, match="test"):
        RunRecord.from_line(invented_run(0, **changes).to_line())


WRITER = """
import sys
from dikmeans.paper.protocol.results_file import ResultsFile
from tests.paper.toy_data import invented_run
results = ResultsFile(sys.argv[1])
for seed in range(40):
    results.append(invented_run(seed))
"""
CLAIMER = """
import sys
from dikmeans.paper.protocol.results_file import ResultsFile
results = ResultsFile(sys.argv[1])
with results.claim("a run") as first, results.claim("another") as second:
    print(first, second)
"""


def process(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )


def test_two_processes_write_every_run_once_and_claims_keep_them_apart(path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    with ResultsFile(path).claim("a run") as claimed:
        assert claimed
        both = [process(WRITER, path), process(WRITER, path)]
        claimer = process(CLAIMER, path)
        assert claimer.communicate(timeout=60)[0].split() == ["False", "True"]
        for writer in both:
            writer.communicate(timeout=60)
            assert writer.returncode == 0
    lines = path.read_text().splitlines()
    assert sorted(RunRecord.from_line(line).seed for line in lines) == list(range(40))


def test_a_claim_can_be_taken_again_and_leaves_no_files_behind(path):
    results = ResultsFile(path)
    for _ in range(2):
        with results.claim("a run") as claimed, results.claim("a run") as second:
            assert claimed
            assert not second
    assert {file.name for file in path.parent.iterdir()} <= {path.name, f"{path.name}.lock"}


def test_the_claim_of_a_killed_process_is_free(path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    code = CLAIMER.replace("print(first, second)", "print(first, flush=True); input()")
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "True"
    results = ResultsFile(path)
    with results.claim("a run") as claimed:
        assert not claimed
    holder.kill()
    holder.communicate(timeout=60)
    with results.claim("a run") as claimed:
        assert claimed


RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.mark.parametrize("name", sorted(file.name for file in RESULTS.glob("*.jsonl")))
def test_the_published_results_are_still_read(name):
    records = read_results(RESULTS / name)
    assert len(records) == len((RESULTS / name).read_text().splitlines())
    assert {record.data for record in records} <= set(TASKS)
    assert {record.model for record in records} <= set(model_names())


def test_every_published_run_is_one_of_the_present_models():
    for record in read_results(RESULTS / "runs.jsonl"):
        present = get_model(record.model).parameters(record.n_clusters)
        # parameters that came later are not in the record
        assert record.parameters == {name: present[name] for name in record.parameters}
