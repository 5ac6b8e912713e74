"""``dikmeans reproduce figures`` as a user meets it: made, stopped, gone on with, and misused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from dikmeans.paper.cli import commands
from dikmeans.paper.protocol.results_file import read_results
from tests.paper.toy_data import invented_run

FIGURES = Path("reproduction/figures")
SMALL = ("--data", "digits", "--train-size", "60")


@pytest.fixture(autouse=True)
def _private_surroundings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("DIKMEANS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    write_digits(tmp_path / "digits")


def write_digits(folder: Path) -> None:
    """Write real 8 x 8 digits 0, 1 and 2 as pictures: 30 of each to train on, 10 to test."""
    digits = load_digits()
    for label in range(3):
        for number, picture in enumerate(digits.images[digits.target == label][:40]):
            place = folder / ("train" if number < 30 else "test") / f"digit {label}"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray((picture * 15).astype(np.uint8)).save(place / f"{number}.png")


def invoke(*arguments: str):
    return CliRunner().invoke(commands, ["figures", *arguments])


def sidecar(folder: Path = FIGURES) -> dict:
    return json.loads((folder / "figures.json").read_text())["figures"]


def test_all_figures_of_a_folder_are_made_and_say_what_made_them():
    done = invoke(*SMALL, "--seed", "1")
    assert done.exit_code == 0, done.output
    names = {
        "transformations",
        "time",
        "accuracy-distortion",
        "centroids-digits",
        "embedding-digits",
        "centroids-overview",
    }
    entries = sidecar()
    assert set(entries) == names
    assert "6 figures to make, 0 exist already." in done.stderr
    for name, entry in entries.items():
        with Image.open(FIGURES / f"{name}.png") as picture:
            assert min(picture.size) > 150
        assert entry["files"] == [f"{name}.png"]
        assert entry["parameters"]["data"] == ["digits"]
        assert entry["parameters"]["train_size"] == 60
        assert entry["parameters"]["seed"] == 1
        assert "dikmeans" in entry["versions"]
    models = entries["embedding-digits"]["parameters"]["models"]
    assert models["DI K-means"]["warp"] == "tps"
    assert models["DI K-means"]["smoothness"] == models["AI K-means"]["smoothness"] == 0.3
    assert set(entries["centroids-digits"]["facts"]["accuracy"]) == {
        "K-means",
        "AI K-means",
        "DI K-means",
    }
    seconds = entries["time"]["facts"]["seconds"]
    assert seconds["images"]["values"] == [15, 30, 60, 90]
    assert len(seconds["landmarks"]["DI K-means"]) == 6
    assert "ratios" in entries["time"]["caption"]
    runs = read_results(FIGURES / "accuracy-distortion-runs.jsonl")
    assert len(runs) == 36  # the paper's six grids times six rates
    assert {(run.train_size, run.test_size) for run in runs} == {(20, 30)}


def test_the_same_command_makes_nothing_twice_and_other_parameters_make_it_anew():
    arguments = [*SMALL, "--only", "transformations", "--only", "centroids"]
    assert invoke(*arguments).exit_code == 0
    before = {path.name: path.stat().st_mtime_ns for path in FIGURES.glob("*.png")}
    assert len(before) == 2
    done = invoke(*arguments)
    assert "0 figures to make, 2 exist already." in done.stderr
    assert {path.name: path.stat().st_mtime_ns for path in FIGURES.glob("*.png")} == before

    (FIGURES / "transformations.png").unlink()
    assert "1 figures to make, 1 exist already." in invoke(*arguments).stderr
    assert "2 figures to make, 0 exist already." in invoke(*arguments, "--seed", "5").stderr
    assert "2 figures to make" in invoke(*arguments, "--seed", "5", "--again").stderr


def test_every_format_that_was_asked_for_is_written():
    done = invoke(*SMALL, "--only", "transformations", "--format", "svg", "--format", "pdf")
    assert done.exit_code == 0, done.output
    assert (FIGURES / "transformations.svg").read_text().count("<svg") == 1
    assert (FIGURES / "transformations.pdf").read_bytes().startswith(b"%PDF")
    assert not (FIGURES / "transformations.png").exists()


def test_a_stopped_grid_of_runs_goes_on_where_it_stopped(monkeypatch):
    from dikmeans.paper.figures import grid_runs

    n_made = 0

    def counted(*arguments):
        nonlocal n_made
        if n_made == 5:
            raise KeyboardInterrupt
        n_made += 1
        return honest(*arguments)

    honest = grid_runs.execute_run
    monkeypatch.setattr(grid_runs, "execute_run", counted)
    stopped = invoke(*SMALL, "--only", "accuracy-distortion")
    assert stopped.exit_code == 130
    assert "Stopped. 0 figures made now" in stopped.stderr
    assert len(read_results(FIGURES / "accuracy-distortion-runs.jsonl")) == 5
    n_made = -31  # as many as are missing, and one more would be too many
    assert invoke(*SMALL, "--only", "accuracy-distortion").exit_code == 0
    assert n_made == 0


def test_given_runs_are_drawn_and_none_are_made():
    runs = [
        invented_run(
            seed, 0.5 + seed / 20, 100.0 - seed, data="digits", model="di-k-means-published"
        )
        for seed in range(4)
    ]
    Path("runs.jsonl").write_text("".join(run.to_line() + "\n" for run in runs))
    done = invoke(*SMALL, "--only", "accuracy-distortion", "--results", "runs.jsonl")
    assert done.exit_code == 0, done.output
    assert sidecar()["accuracy-distortion"]["facts"]["runs"] == 4
    assert not (FIGURES / "accuracy-distortion-runs.jsonl").exists()


def test_a_figure_that_fails_is_reported_and_the_others_are_made(monkeypatch):
    from dikmeans.paper.figures.paper_figures import KINDS

    def fail(*arguments):
        raise RuntimeError("out\nof luck")

    monkeypatch.setitem(KINDS, "centroids", replace(KINDS["centroids"], make=fail))
    done = invoke(*SMALL, "--only", "centroids", "--only", "transformations")
    assert done.exit_code == 1
    assert "Failed: centroids-digits: RuntimeError: out of luck" in done.stderr
    assert set(sidecar()) == {"transformations"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "centroid"], "no figure 'centroid'. Did you mean 'centroids'?"),
        (["--data", "mnits"], "no data set, folder or zip 'mnits'. Did you mean 'mnist'?"),
        (["--data", "mnist", "--data-home", "nowhere", "--no-download"], "train-images-idx3-ubyte"),
        (
            ["--data", "digits", "--train-size", "2"],
            "2 training images are too few for the 3 classes",
        ),
        (["--data", "digits", "--output", "taken/below"], "Cannot use taken"),
        (
            ["--data", "digits", "--output", "foreign"],
            "foreign/figures.json was not written by this",
        ),
        (
            ["--data", "digits", "--results", "nothing.jsonl"],
            "nothing.jsonl does not exist. Leave --results",
        ),
        (
            ["--data", "digits", "--results", "taken"],
            "taken is not a results file: line 1 is 'a file'",
        ),
        (
            ["--data", "digits", "--results", "empty"],
            "empty has 0 runs of di-k-means-published on digits",
        ),
        (["--format", "gif"], "Invalid value for '--format'"),
        (["--train-size", "0"], "Invalid value for '--train-size'"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
    ],
)
def test_a_mistake_gets_a_message_and_exit_code_2(arguments, message):
    Path("taken").write_text("a file")
    Path("empty").touch()
    Path("foreign").mkdir()
    Path("foreign/figures.json").write_text('{"mine": 1}')
    done = invoke(*arguments)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.output
    assert Path("taken").read_text() == "a file"
    assert Path("foreign/figures.json").read_text() == '{"mine": 1}'


def test_without_matplotlib_it_says_what_to_install_before_any_work(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = invoke(*SMALL)
    assert done.exit_code == 2
    assert "pip install 'dikmeans[plot]'" in done.stderr
    assert not FIGURES.exists()
