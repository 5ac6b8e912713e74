"""A fit on the command line that was cut short goes on with --resume."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dikmeans.cli import app
from dikmeans.kmeans import DIKMeans
from dikmeans.runs import open_run, run_folder

OPTIONS = ("-k", 3, "--runs", 5, "--warp", "affine", "-q")


def invoke(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


def told(result) -> str:
    assert "Traceback" not in result.output
    return " ".join(result.stderr.replace("│", " ").split())


def model_of(run: Path) -> tuple[object, ...]:
    model = open_run(run).model
    history = [(line.phase, line.distortion, line.moved) for line in model.history_.iterations]
    return model.cluster_centers_.tobytes(), model.labels_.tobytes(), model.inertia_, history


@pytest.fixture(scope="module")
def whole(pictures, tmp_path_factory) -> Path:
    """The run without interruption, and without a checkpoint."""
    run = tmp_path_factory.mktemp("whole") / "run"
    done = invoke("fit", pictures, *OPTIONS, "-o", run, "--no-checkpoint")
    assert done.exit_code == 0, done.output
    return run


@pytest.fixture(scope="module")
def killed(pictures, begin, tmp_path_factory) -> Path:
    """The checkpoint of a fit that was killed in its second run."""
    run = tmp_path_factory.mktemp("killed") / "run"
    options = [option for option in OPTIONS if option != "-q"]
    process = begin("fit", pictures, *options, "-o", run)
    for line in process.stderr:
        if "run 2 of 5" in line:
            break
    process.kill()
    process.communicate(timeout=120)
    assert not run.exists()
    return run.with_name("run.checkpoint")


@pytest.fixture
def place(killed, tmp_path) -> Path:
    """Where a run is to be, with the checkpoint beside it."""
    shutil.copytree(killed, tmp_path / "run.checkpoint")
    return tmp_path / "run"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_fit_goes_on_and_ends_as_if_it_had_not_been(whole, place, pictures, begin):
    options = [option for option in OPTIONS if option != "-q"]
    process = begin("fit", pictures, *options, "-o", place, "--resume")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "run 1 of 5" not in said
    assert "run 2 of 5, going on after: " in said
    assert model_of(place) == model_of(whole)
    assert names(place.parent) == ["run"]


def test_what_is_left_of_a_fit_is_neither_ignored_nor_deleted(place, pictures):
    before = {path.name: path.read_bytes() for path in place.with_name("run.checkpoint").iterdir()}
    refused = invoke("fit", pictures, *OPTIONS, "-o", place)
    assert refused.exit_code == 2
    assert "run.checkpoint is left of a fit that was cut short. Pass --resume" in told(refused)
    other = invoke("fit", pictures, *OPTIONS, "-o", place, "--resume", "--seed", 7, "--clusters", 4)
    assert other.exit_code == 2
    assert (
        "is the checkpoint of another fit: --clusters was 3 and is 4; --seed was 0 and is 7."
        in told(other)
    )
    assert "To start anew, pass --force, not --resume." in told(other)
    assert {
        path.name: path.read_bytes() for path in place.with_name("run.checkpoint").iterdir()
    } == before
    assert names(place.parent) == ["run.checkpoint"]


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: path.write_bytes(b"garbage"), "safetensors is damaged or not a checkpoint"),
        (lambda path: path.unlink(), "checkpoint.safetensors is missing"),
    ],
)
def test_with_force_it_starts_anew_even_if_the_checkpoint_is_damaged(
    whole, place, pictures, harm, message
):
    harm(place.with_name("run.checkpoint") / "checkpoint.safetensors")
    assert "Pass --resume" in told(invoke("fit", pictures, *OPTIONS, "-o", place))
    refused = invoke("fit", pictures, *OPTIONS, "-o", place, "--resume")
    assert refused.exit_code == 2
    assert message in told(refused)
    assert "To start anew, pass --force" in told(refused)
    done = invoke("fit", pictures, *OPTIONS, "-o", place, "--force")
    assert done.exit_code == 0, done.output
    assert model_of(place) == model_of(whole)
    assert names(place.parent) == ["run"]


def test_if_the_pictures_cannot_be_read_force_has_deleted_nothing(place, tmp_path):
    refused = invoke("fit", tmp_path / "nowhere", *OPTIONS, "-o", place, "--force")
    assert refused.exit_code == 2
    assert "checkpoint.safetensors" in names(place.with_name("run.checkpoint"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--resume",), "There is nothing to resume: no checkpoint in"),
        (("--resume", "--no-checkpoint"), "There is nothing to --resume with --no-checkpoint"),
    ],
)
def test_nothing_to_resume_is_said(pictures, tmp_path, arguments, message):
    done = invoke("fit", pictures, *OPTIONS, "-o", tmp_path / "run", *arguments)
    assert done.exit_code == 2
    assert message in told(done)
    assert list(tmp_path.iterdir()) == []


def test_something_else_of_that_name_is_left_alone(pictures, tmp_path):
    (tmp_path / "run.checkpoint").mkdir()
    (tmp_path / "run.checkpoint" / "thesis.txt").write_text("ten years of work")
    for arguments in ((), ("--force",)):
        done = invoke("fit", pictures, *OPTIONS, "-o", tmp_path / "run", *arguments)
        assert done.exit_code == 2
        assert (
            "is not a checkpoint: it holds 'thesis.txt'. Choose another name for the run"
            in told(done)
        )
    assert (tmp_path / "run.checkpoint" / "thesis.txt").read_text() == "ten years of work"


def test_a_full_disk_is_said_and_the_checkpoint_kept(whole, place, pictures, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dikmeans.outofcore.fits_file.write_tensor_file", full)
        done = invoke("fit", pictures, *OPTIONS, "-o", place, "--resume")
    assert done.exit_code == 2
    assert (
        "run.checkpoint could not be written: No space left on device. The one before, of run 2"
        in told(done)
    )
    assert "the same command with --resume goes on from there" in told(done)
    assert invoke("fit", pictures, *OPTIONS, "-o", place, "--resume").exit_code == 0
    assert model_of(place) == model_of(whole)


def test_the_checkpoint_outlives_a_run_that_cannot_be_written(whole, place, pictures, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_picture", full)
        assert invoke("fit", pictures, *OPTIONS, "-o", place, "--resume").exit_code == 2
    assert not place.exists()
    monkeypatch.setattr("dikmeans.kmeans.run.Run.go", lambda *_: pytest.fail("the fit was over"))
    assert invoke("fit", pictures, *OPTIONS, "-o", place, "--resume").exit_code == 0
    assert model_of(place) == model_of(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_after_ctrl_c_there_is_a_run_and_the_fit_can_go_on(whole, pictures, tmp_path, begin):
    run = tmp_path / "run"
    options = [option for option in OPTIONS if option != "-q"]
    process = begin("fit", pictures, *options, "-o", run)
    for line in process.stderr:
        if "run 2 of 5" in line:
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "To go on from there, give the command again with --resume --force." in said
    assert json.loads((run / "run.json").read_text())["interrupted"] is True
    refused = invoke("fit", pictures, *OPTIONS, "-o", run, "--resume")
    assert refused.exit_code == 2
    assert "run exists already" in told(refused)
    done = invoke("fit", pictures, *OPTIONS, "-o", run, "--resume", "--force")
    assert done.exit_code == 0, done.output
    assert model_of(run) == model_of(whole)
    assert names(tmp_path) == ["run"]


def test_stopped_before_there_is_anything_no_checkpoint_is_left(pictures, tmp_path, monkeypatch):
    fit = DIKMeans.fit

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def fit_and_stop(self, X, checkpoint):
        monkeypatch.setattr("dikmeans.kmeans.run.Run.go", interrupt)
        return fit(self, X, checkpoint=checkpoint)

    monkeypatch.setattr(DIKMeans, "fit", fit_and_stop)
    done = invoke("fit", pictures, *OPTIONS, "-o", tmp_path / "run")
    assert done.exit_code == 130
    assert "nothing was written" in told(done)
    assert list(tmp_path.iterdir()) == []
