"""``dikmeans reproduce table`` as a user meets it: as a process, stopped, killed, and misused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dikmeans.paper.cli import commands
from dikmeans.paper.protocol.run_record import RunRecord
from tests.paper.toy_data import BAR_FINDER, PYTHON_PATH, write_bars

SLOW_APP = Path(__file__).with_name("slow_model_app.py")
RESULTS = Path("reproduction/runs.jsonl")
PATIENCE = 60


@pytest.fixture(autouse=True)
def _private_surroundings(tmp_path, monkeypatch):
    """Commands run in a folder of their own, and see neither the user's data nor colors."""
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("DIKMEANS_DATA", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def toy(tmp_path) -> Path:
    """A data set in the folder where commands run, called "bars"."""
    return write_bars(tmp_path / "bars")


def invoke(*arguments: str):
    return CliRunner().invoke(commands, ["table", *arguments])


def start_slow(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SLOW_APP), "table", "--data", "bars", "--models", "slow"]
    return subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lines() -> list[str]:
    return RESULTS.read_text().splitlines(keepends=True) if RESULTS.exists() else []


def wait_for_lines(count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(lines()) < count:
        assert time.monotonic() < deadline, "no run was finished in time"
        time.sleep(0.02)


def seeds() -> list[int]:
    return sorted(RunRecord.from_line(line).seed for line in lines())


def test_the_command_runs_as_a_process_and_its_table_is_on_standard_output(toy):
    command = [sys.executable, "-m", "dikmeans.cli", "reproduce", "table", "--data", "bars"]
    done = subprocess.run(
        [*command, "--runs", "2", "--models", "k-means"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    (row,) = (line for line in done.stdout.splitlines() if "K-means" in line)
    assert row.split() == [
        "bars",
        "K-means",
        "—",
        "100.0",
        "100.0",
        "75.8",
        "to",
        "100.0",
        "100.0",
        "±",
        "0.0",
        "2",
        "all",
        "30",
    ]
    assert "seed 1: 100.0 %" in done.stderr
    assert "| bars | K-means | — | 100.0 |" in Path("reproduction/table.md").read_text()
    assert Path("reproduction/table.csv").read_text().count("\n") == 2
    assert seeds() == [0, 1]


def test_killed_in_the_middle_it_goes_on_where_it_stopped(toy):
    victim = start_slow("--runs", "5")
    wait_for_lines(2)
    time.sleep(0.1)  # into the next run
    victim.kill()
    victim.communicate(timeout=PATIENCE)
    before = lines()
    assert 2 <= len(before) < 5
    with RESULTS.open("a") as stream:
        stream.write(before[0][: len(before[0]) // 2])  # as if it had died while writing, too
    heir = start_slow("--runs", "5")
    _, said = heir.communicate(timeout=PATIENCE)
    assert heir.returncode == 0, said
    assert f"{5 - len(before)} runs to make, {len(before)} exist already." in said
    assert lines()[: len(before)] == before  # nothing lost, nothing made anew
    assert seeds() == [0, 1, 2, 3, 4]


def test_two_processes_share_the_work(toy):
    both = [start_slow("--runs", "6", "--output", name, "--results", str(RESULTS)) for name in "ab"]
    said = [process.communicate(timeout=PATIENCE)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert seeds() == [0, 1, 2, 3, 4, 5]
    assert sum(text.count("seed ") for text in said) == 6  # each run made by one of them


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_exits_with_130_and_keeps_what_is_finished(toy):
    process = start_slow("--runs", "50")
    wait_for_lines(1)
    time.sleep(0.1)  # into the next run
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert f"Stopped. {len(lines())} finished runs of this table are in {RESULTS}" in said
    assert seeds() == list(range(len(lines())))
    assert f"{len(lines())} of 50" in Path("reproduction/table.md").read_text()


def test_a_time_budget_of_nothing_shows_what_is_there_without_any_data():
    done = invoke("--time-budget", "0", "--data", "mnist", "--models", "di-k-means")
    assert done.exit_code == 0, done.output
    (row,) = (line for line in done.stdout.splitlines() if "MNIST" in line)
    assert row.split() == ["MNIST", "DI", "K-means", "92.5", *4 * "—", "not", "run", "—"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "kmeans"], "no model 'kmeans'. Did you mean 'k-means'?"),
        (["--data", "mnits"], "no data set, folder or zip 'mnits'. Did you mean 'mnist'?"),
        (
            ["--data", "arabic-characters", "--data-home", "nowhere"],
            "nowhere/arabic does not have the train files. Get the files",
        ),
        (["--data", "mnist", "--data-home", "nowhere", "--no-download"], "train-images-idx3-ubyte"),
        (
            ["--data", "bars", "--train-size", "2"],
            "2 training images are too few for the 3 classes of bars",
        ),
        (["--data", "bars/train"], "bars/train"),
        (["--data", "bars", "--output", "taken/below"], "Cannot use taken"),
        (
            ["--data", "bars", "--results", "taken"],
            "taken is not a results file: line 1 is 'a file'",
        ),
        (["--data", "bars", "--results", "bars"], "is a directory"),
        (["--runs", "0"], "Invalid value for '--runs'"),
        (["--train-size", "many"], "Invalid value for '--train-size'"),
        (["--deep-steps", "0"], "Invalid value for '--deep-steps'"),
        (["--time-budget", "-1"], "Invalid value for '--time-budget'"),
    ],
)
def test_a_mistake_gets_a_message_and_exit_code_2(toy, arguments, message):
    Path("taken").write_text("a file")
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.output
    assert Path("taken").read_text() == "a file"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_cannot_be_written_is_said_before_the_work(toy):
    Path("locked").mkdir(mode=0o500)
    done = invoke("--data", "bars", "--output", "locked")
    assert done.exit_code == 2
    assert "Cannot use locked" in done.stderr


def test_a_model_that_fails_is_reported_with_exit_code_1(toy, monkeypatch):
    from dikmeans.paper.protocol import table_models as models

    class Broken:
        def fit(self, X):
            raise RuntimeError("out\nof luck")

    broken = models.TableModel("broken", "Broken", lambda n_clusters, seed: Broken())
    monkeypatch.setitem(models._MODELS, "broken", broken)
    monkeypatch.setitem(models._MODELS, "bar-finder", BAR_FINDER)
    done = invoke("--data", "bars", "--models", "broken", "--models", "bar-finder", "--runs", "1")
    assert done.exit_code == 1
    assert "Failed: broken on bars, seed 0: RuntimeError: out of luck" in done.stderr
    assert "not run" in done.stdout
    assert "100.0" in done.stdout


@pytest.fixture
def no_torch(monkeypatch):
    from dikmeans.paper.protocol import table_models as models

    find_spec = models.find_spec
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )


def test_without_torch_the_deep_rows_are_left_out_and_it_is_said_how_to_get_them(no_torch):
    done = invoke("--time-budget", "0", "--data", "mnist")
    assert done.exit_code == 0, done.output
    assert "DEC" not in done.stdout
    said = " ".join(done.stderr.split())
    assert "Without torch, left out: AE + K-means (MLP), AE + K-means (Conv), DEC (MLP)," in said
    assert "pip install 'dikmeans[deep]' adds them" in said


def test_without_torch_a_deep_row_asked_for_by_name_is_a_mistake(no_torch):
    done = invoke("--time-budget", "0", "--data", "mnist", "--models", "dec-mlp")
    assert done.exit_code == 2
    assert "'dec-mlp' needs the library 'torch', which is not installed" in " ".join(
        done.stderr.split()
    )
    assert "pip install 'dikmeans[deep]'" in " ".join(done.stderr.split())


def test_the_length_of_a_deep_training_is_told_with_the_table(toy):
    pytest.importorskip("torch")
    done = invoke(
        "--data", "bars", "--models", "ae-k-means-mlp", "--runs", "1", "--deep-steps", "3"
    )
    assert done.exit_code == 0, done.output
    for text in (done.stdout, Path("reproduction/table.md").read_text()):
        assert "AE + K-means (MLP)" in text
        assert "at most 3 batches" in " ".join(text.split())


def test_the_group_is_an_entry_point_of_the_command_line():
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    declared = tomllib.loads(pyproject.read_text())["project"]["entry-points"]["dikmeans.commands"]
    assert declared == {"reproduce": "dikmeans.paper.cli:commands"}
    assert "--time-budget" in invoke("--help").output


def test_the_group_is_imported_without_the_work_behind_it():
    code = "import sys, dikmeans.paper.cli; print({'sklearn', 'torch', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
