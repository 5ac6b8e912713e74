"""An unfinished fit on the command line is continued with --resume."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest

from dikmeans.estimator import DIKMeans
from dikmeans.runs import open_run, run_folder
from tests.cli.conftest import TIMEOUT, invoke, message, start, wait_for

OPTIONS = ("-k", 3, "--runs", 5, "--warp", "affine")
QUIET = (*OPTIONS, "-q")


def model_of(run: Path) -> tuple[object, ...]:
    model = open_run(run).model
    history = [(line.phase, line.inertia, line.moved) for line in model.history_.iterations]
    return model.cluster_centers_.tobytes(), model.labels_.tobytes(), model.inertia_, history


@pytest.fixture(scope="module")
def whole(pictures, tmp_path_factory) -> Path:
    """The run without interruption, and without a checkpoint."""
    run = tmp_path_factory.mktemp("whole") / "run"
    done = invoke("fit", pictures, *QUIET, "-o", run, "--no-checkpoint")
    assert done.exit_code == 0, done.output
    return run


@pytest.fixture(scope="module")
def killed(pictures, tmp_path_factory) -> Path:
    """The checkpoint of a fit that was killed in its second run."""
    run = tmp_path_factory.mktemp("killed") / "run"
    process = start("fit", pictures, *OPTIONS, "-o", run)
    wait_for(process, "run 2 of 5")
    process.kill()
    process.communicate(timeout=TIMEOUT)
    assert not run.exists()
    return run.with_name("run.checkpoint")


@pytest.fixture
def place(killed, tmp_path) -> Path:
    """Where a run is to be, with the checkpoint beside it."""
    shutil.copytree(killed, tmp_path / "run.checkpoint")
    return tmp_path / "run"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_fit_is_continued_and_ends_as_if_it_had_not_been(whole, place, pictures):
    process = start("fit", pictures, *OPTIONS, "-o", place, "--resume")
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, err
    assert "run 1 of 5" not in err
    assert "run 2 of 5, resumed: " in err
    assert model_of(place) == model_of(whole)
    assert names(place.parent) == ["run"]


def test_an_unfinished_fit_is_neither_ignored_nor_deleted(place, pictures):
    before = {path.name: path.read_bytes() for path in place.with_name("run.checkpoint").iterdir()}
    refused = invoke("fit", pictures, *QUIET, "-o", place)
    assert refused.exit_code == 2
    assert "run.checkpoint holds an unfinished fit. Use --resume to continue it" in message(refused)
    other = invoke("fit", pictures, *QUIET, "-o", place, "--resume", "--seed", 7, "--clusters", 4)
    assert other.exit_code == 2
    assert (
        "is the checkpoint of another fit: n_clusters was 3 and is 4; random_state was 0 and is 7."
        in message(other)
    )
    assert "To start again, use --force without --resume." in message(other)
    assert {
        path.name: path.read_bytes() for path in place.with_name("run.checkpoint").iterdir()
    } == before
    assert names(place.parent) == ["run.checkpoint"]


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (
            lambda path: path.write_bytes(b"garbage"),
            "is a damaged checkpoint: checkpoint.safetensors",
        ),
        (lambda path: path.unlink(), "checkpoint.safetensors is missing"),
    ],
)
def test_with_force_it_starts_again_even_if_the_checkpoint_is_damaged(
    whole, place, pictures, harm, reason
):
    harm(place.with_name("run.checkpoint") / "checkpoint.safetensors")
    assert "Use --resume" in message(invoke("fit", pictures, *QUIET, "-o", place))
    refused = invoke("fit", pictures, *QUIET, "-o", place, "--resume")
    assert refused.exit_code == 2
    assert reason in message(refused)
    assert "To start again, use --force" in message(refused)
    done = invoke("fit", pictures, *QUIET, "-o", place, "--force")
    assert done.exit_code == 0, done.output
    assert model_of(place) == model_of(whole)
    assert names(place.parent) == ["run"]


def test_if_the_pictures_cannot_be_read_force_has_deleted_nothing(place, tmp_path):
    refused = invoke("fit", tmp_path / "nowhere", *QUIET, "-o", place, "--force")
    assert refused.exit_code == 2
    assert "checkpoint.safetensors" in names(place.with_name("run.checkpoint"))


def test_with_nothing_to_resume_the_fit_starts_from_the_beginning(whole, pictures, tmp_path):
    done = invoke("fit", pictures, *QUIET, "-o", tmp_path / "run", "--resume")
    assert done.exit_code == 0, done.output
    place = tmp_path / "run.checkpoint"
    expected = f"There is no checkpoint {place} to resume; the fit starts from the beginning."
    assert message(done) == f"dikmeans: {expected}"
    assert model_of(tmp_path / "run") == model_of(whole)
    assert names(tmp_path) == ["run"]


def test_resume_without_a_checkpoint_is_a_contradiction(pictures, tmp_path):
    words = ("--resume", "--no-checkpoint")
    done = invoke("fit", pictures, *QUIET, "-o", tmp_path / "run", *words)
    assert done.exit_code == 2
    assert "--resume needs the checkpoint that --no-checkpoint forbids" in message(done)
    assert list(tmp_path.iterdir()) == []


def test_something_else_of_that_name_is_left_alone(pictures, tmp_path):
    (tmp_path / "run.checkpoint").mkdir()
    (tmp_path / "run.checkpoint" / "thesis.txt").write_text("ten years of work")
    for arguments in ((), ("--force",)):
        done = invoke("fit", pictures, *QUIET, "-o", tmp_path / "run", *arguments)
        assert done.exit_code == 2
        assert (
            "is not a checkpoint: it holds 'thesis.txt'. Choose another name for the run"
            in message(done)
        )
    assert (tmp_path / "run.checkpoint" / "thesis.txt").read_text() == "ten years of work"


def test_a_full_disk_is_said_and_the_checkpoint_kept(whole, place, pictures, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dikmeans.checkpoint.store.write_fits", full)
        done = invoke("fit", pictures, *QUIET, "-o", place, "--resume")
    assert done.exit_code == 2
    assert (
        "run.checkpoint could not be written: No space left on device. The one before, at run 2"
        in message(done)
    )
    assert "then give the same command with --resume" in message(done)
    assert invoke("fit", pictures, *QUIET, "-o", place, "--resume").exit_code == 0
    assert model_of(place) == model_of(whole)


def test_the_checkpoint_outlives_a_run_that_cannot_be_written(whole, place, pictures, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_picture", full)
        assert invoke("fit", pictures, *QUIET, "-o", place, "--resume").exit_code == 2
    assert not place.exists()
    monkeypatch.setattr(
        "dikmeans.kmeans.run.Run.states", lambda *_: pytest.fail("the fit was over")
    )
    words = ("-o", place, "--resume", "--no-report")  # a report would fit K-means beside it
    assert invoke("fit", pictures, *QUIET, *words).exit_code == 0
    assert model_of(place) == model_of(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_after_ctrl_c_there_is_a_run_and_the_fit_can_be_continued(whole, pictures, tmp_path):
    run = tmp_path / "run"
    process = start("fit", pictures, *OPTIONS, "-o", run)
    wait_for(process, "run 2 of 5")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130, err
    assert "To continue, give the same command with --resume." in err
    assert json.loads((run / "run.json").read_text())["interrupted"] is True
    refused = invoke("fit", pictures, *QUIET, "-o", run)
    assert refused.exit_code == 2
    assert "holds an unfinished fit. Use --resume to continue it" in message(refused)
    done = invoke("fit", pictures, *QUIET, "-o", run, "--resume")
    assert done.exit_code == 0, done.output
    assert model_of(run) == model_of(whole)
    assert names(tmp_path) == ["run"]


def test_stopped_before_there_is_anything_no_checkpoint_is_left(pictures, tmp_path, monkeypatch):
    fit = DIKMeans.fit

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def fit_and_stop(self, X, **options):
        monkeypatch.setattr("dikmeans.kmeans.run.Run.states", interrupt)
        return fit(self, X, **options)

    monkeypatch.setattr(DIKMeans, "fit", fit_and_stop)
    done = invoke("fit", pictures, *QUIET, "-o", tmp_path / "run")
    assert done.exit_code == 130
    assert "nothing was written" in message(done)
    assert list(tmp_path.iterdir()) == []
