"""Bad input to the commands: a message that names what is wrong, exit code 2, nothing lost, no traceback."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from dikmeans.cli import app


def invoke(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


def told(result) -> str:
    assert "Traceback" not in result.output
    return " ".join(result.stderr.replace("│", " ").split())


def test_a_missing_folder_is_said_by_a_real_process_too(command, tmp_path):
    done = command("fit", tmp_path / "nowhere", "-k", 3, "-o", tmp_path / "run")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "There is no data set, folder, zip or array file" in done.stderr
    assert "nowhere" in done.stderr
    assert not (tmp_path / "run").exists()


def test_one_corrupt_file_among_good_ones_is_left_out_and_named(command, pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "some")
    (tmp_path / "some" / "broken.png").write_bytes(b"no picture")
    done = command("fit", tmp_path / "some", "-k", 2, "--warp", "none", "-o", tmp_path / "run")
    assert done.returncode == 0
    assert "note: 1 unreadable file(s)" in done.stderr
    assert "broken.png" in done.stderr
    assert "2 clusters of 60 pictures" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "empty", "-k", "3", "-o", "run"], "There are no pictures in"),
        (["fit", "unreadable", "-k", "1", "-o", "run"], "None of the 1 picture file(s)"),
        (["fit", "few", "-k", "5", "-o", "run"], "There are 4 pictures in"),
        (["fit", "few", "-k", "5", "-o", "run"], "--clusters 5 needs at least 5"),
        (["fit", "few", "-k", "5", "--dry-run"], "--clusters 5 needs at least 5"),
        (["fit", "few", "-k", "0", "-o", "run"], "Invalid value for '--clusters'"),
        (["fit", "few", "-k", "two", "-o", "run"], "Invalid value for '--clusters'"),
        (["fit", "few", "-o", "run"], "Missing option '--clusters'"),
        (["fit", "few", "-k", "2"], "Say where to write the run: -o RUN"),
        (["fit", "few", "-k", "2", "-o", "run", "--warp", "elastic"], "'warp' parameter"),
        (["fit", "few", "-k", "2", "-o", "run", "--landmarks", "99"], "99"),
        (["fit", "few", "-k", "2", "-o", "run", "--landmarks", "many"], "expected rows x columns"),
        (
            ["fit", "few", "-k", "2", "-o", "run", "--smoothness", "-1"],
            "Invalid value for '--smoothness'",
        ),
        (
            ["fit", "few", "-k", "2", "-o", "run", "--device", "gpu"],
            "device='gpu': expected 'cuda'",
        ),
        (
            ["fit", "few", "-k", "2", "-o", "run", "--size", "0x5"],
            "expected rows x columns, such as 28x28",
        ),
        (["fit", "few", "-k", "2", "-o", "run", "--split", "test"], "has no part 'test'"),
        (["fit", "few", "-k", "2", "-o", "run", "--split", "valid"], "Invalid value for '--split'"),
        (["fit", "mnits", "-k", "2", "-o", "run"], "Did you mean 'mnist'?"),
        (["fit", "mnist", "-k", "2", "-o", "run", "--size", "9x9"], "'mnist' has no option 'size'"),
        (["fit", "flat.npy", "-k", "2", "-o", "run"], "Flat rows need their shape back"),
        (["fit", "few", "-k", "2", "-o", "taken"], "taken is a file; a run is a folder"),
        (["fit", "few", "-k", "2", "-o", "taken/run"], "Cannot use"),
        (
            ["fit", "few", "-k", "2", "-o", "kept"],
            "kept exists already. Choose another name, or pass --force",
        ),
        (["fit", "few", "-k", "2", "-o", "kept", "--force"], "it holds 'thesis.txt'"),
        (["predict", "nowhere", "few"], "nowhere does not exist. Make a run with"),
        (["predict", "taken", "few"], "taken is a file, not a run folder"),
        (["predict", "kept", "few"], "kept is not a run: there is no run.json in it"),
        (["info", "nowhere"], "nowhere does not exist"),
        (["report", "nowhere"], "nowhere does not exist"),
        (["choose-k", "few"], "a sample to judge --to 20 needs at least 80"),
        (["choose-k", "few", "--from", "5", "--to", "3"], "--from 5 is more than --to 3"),
        (["demo", "--images", "3"], "Invalid value for '--images'"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_a_mistake_gets_a_message_and_exit_code_2(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DIKMEANS_DATA", raising=False)
    for name in ("empty", "unreadable", "few", "kept"):
        Path(name).mkdir()
    Path("unreadable/a.png").write_bytes(b"nothing")
    Path("taken").write_text("a file")
    Path("kept/thesis.txt").write_text("ten years of work")
    np.save("flat.npy", np.zeros((5, 64)))
    for number in range(4):
        Image.fromarray(np.full((8, 8), 50 * number, np.uint8)).save(f"few/{number}.png")
    done = invoke(*arguments)
    assert done.exit_code == 2, done.output
    assert message in told(done)
    assert done.stdout == ""
    assert not Path("run").exists()
    assert Path("kept/thesis.txt").read_text() == "ten years of work"
    assert Path("taken").read_text() == "a file"


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="a place where not even root may write"
)
def test_a_place_that_cannot_be_written_is_said_before_the_work(pictures, monkeypatch):
    from dikmeans.kmeans import DIKMeans

    monkeypatch.setattr(DIKMeans, "fit", lambda *_: pytest.fail("it worked before it looked"))
    done = invoke("fit", pictures, "-k", 2, "-o", "/proc/nothing/run")
    assert done.exit_code == 2
    assert "Cannot use /proc" in told(done)


def test_a_run_is_replaced_only_with_force(fitted, pictures, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    before = (run / "model.safetensors").read_bytes()
    refused = invoke("fit", pictures, "-k", 2, "--warp", "none", "-o", run)
    assert refused.exit_code == 2
    assert "exists already" in told(refused)
    assert (run / "model.safetensors").read_bytes() == before
    done = invoke("fit", pictures, "-k", 2, "--warp", "none", "-o", run, "--force", "-q")
    assert done.exit_code == 0, done.output
    assert "2 clusters of 60" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("words", [("predict", "PICTURES"), ("info",), ("report",)])
def test_a_damaged_run_is_refused_by_the_name_of_the_file(fitted, pictures, tmp_path, words):
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    (run / "labels.csv").write_text("file,cluster,cost,margin\n")
    rest = [pictures if word == "PICTURES" else word for word in words[1:]]
    done = invoke(words[0], run, *rest)
    assert done.exit_code == 2
    assert f"The run {run} is damaged: labels.csv" in told(done)


def test_pictures_that_have_moved_are_asked_for(fitted, pictures, tmp_path):
    import json

    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    info = json.loads((run / "run.json").read_text())
    info["input"]["name"] = str(tmp_path / "gone")
    (run / "run.json").write_text(json.dumps(info))
    done = invoke("report", run)
    assert done.exit_code == 2
    assert f"cannot be read again from {tmp_path / 'gone'}" in told(done)


def test_dark_pictures_on_white_get_a_hint(pictures, tmp_path):
    (tmp_path / "dark").mkdir()
    for path in pictures.iterdir():
        pixels = np.asarray(Image.open(path))
        Image.fromarray(255 - pixels).save(tmp_path / "dark" / path.name)
    plain = invoke("fit", tmp_path / "dark", "-k", 2, "--warp", "none", "-o", tmp_path / "a", "-q")
    inverted = invoke(
        "fit", tmp_path / "dark", "-k", 2, "--warp", "none", "-o", tmp_path / "b", "-q", "--invert"
    )
    assert "get better with --invert" in told(plain)
    assert inverted.stderr == ""


def test_a_device_without_pytorch_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = invoke("fit", tmp_path, "-k", 2, "-o", tmp_path / "run", "--device", "cuda")
    assert done.exit_code == 2
    assert "pip install 'dikmeans[deep]'" in told(done)


def test_a_demo_without_its_libraries_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    done = invoke("demo", "-o", tmp_path / "x.png")
    assert done.exit_code == 2
    assert "pip install 'dikmeans[demo]'" in told(done)
