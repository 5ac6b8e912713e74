"""The commands as a user meets them: as processes, on good input."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from dikmeans.cli import app
from dikmeans.runs import open_run


def invoke(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_fit_leaves_a_whole_run_and_says_what_to_do_next(fitted, pictures):
    run, done = fitted
    assert sorted(path.name for path in run.iterdir()) == [
        "centroids",
        "labels.csv",
        "model.safetensors",
        "run.json",
    ]
    assert f"dikmeans report {run}" in done.stdout
    assert "3 clusters of 60 pictures (8x8)" in done.stdout
    assert "iteration" in done.stderr
    assert "time left" in done.stderr or "left" in done.stderr
    assert [path.name for path in run.parent.iterdir()] == ["run"]  # nothing temporary beside it
    rows = rows_of((run / "labels.csv").read_bytes().decode())
    assert {row["file"] for row in rows} == {path.name for path in pictures.iterdir()}
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    assert all(float(row["cost"]) >= 0 and float(row["margin"]) >= 0 for row in rows)


def test_the_labels_are_what_the_kept_model_predicts_and_margins_are_to_the_second_choice(fitted):
    run = open_run(fitted[0])
    images = run.load_images()
    assert images.names == tuple(row.file for row in run.labels)
    costs = np.sort(run.model.transform(images.images), axis=1)
    assert [row.cluster for row in run.labels] == run.model.predict(images.images).tolist()
    np.testing.assert_allclose([row.cost for row in run.labels], costs[:, 0], rtol=1e-2)
    margins = np.array([row.margin for row in run.labels])
    # every pair refined to the end can only cost less than hopeless ones that were left alone
    assert (margins >= (costs[:, 1] - costs[:, 0]) * 0.98 - 1e-3).all()


def test_centroids_are_pictures_of_the_models_centroids(fitted):
    run = open_run(fitted[0])
    files = sorted((run.path / "centroids").iterdir())
    assert [file.name for file in files] == ["cluster-0.png", "cluster-1.png", "cluster-2.png"]
    for file, centroid in zip(files, run.model.cluster_centers_, strict=True):
        pixels = np.asarray(Image.open(file), float)
        assert pixels.shape == centroid.shape
        assert np.corrcoef(pixels.ravel(), centroid.ravel())[0, 1] > 0.999
        assert pixels.max() == 255


def test_run_json_says_how_the_run_was_made(fitted, pictures):
    info = json.loads((fitted[0] / "run.json").read_text())
    assert info["parameters"]["n_clusters"] == 3
    assert info["parameters"]["random_state"] == 0
    assert info["input"]["name"] == str(pictures)
    assert info["input"]["n_images"] == sum(info["sizes"]) == 60
    assert info["history"]["iterations"]
    assert {"dikmeans", "python", "numpy", "numba"} <= set(info["versions"])
    assert info["interrupted"] is False


def test_a_fit_on_a_device_leaves_a_run_that_needs_none(pictures, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    done = invoke(
        "fit",
        pictures,
        "-k",
        2,
        "--warp",
        "affine",
        "--device",
        "cpu",
        "-o",
        tmp_path / "run",
        "-q",
    )
    assert done.exit_code == 0, done.output
    monkeypatch.setitem(sys.modules, "torch", None)
    run = open_run(tmp_path / "run")
    assert run.model.device is None
    predicted = run.model.predict(run.load_images().images)
    assert np.mean([row.cluster for row in run.labels] == predicted) >= 0.95


def test_json_is_all_there_is_on_standard_output(command, pictures, tmp_path):
    np.savez(
        tmp_path / "x.npz",
        images=np.stack([np.asarray(Image.open(path)) for path in sorted(pictures.iterdir())]),
    )
    done = command(
        "fit",
        tmp_path / "x.npz",
        "-k",
        2,
        "--warp",
        "affine",
        "-o",
        tmp_path / "run",
        "--json",
        "-q",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["run"] == str(tmp_path / "run")
    assert sum(result["sizes"]) == 60
    assert result["parameters"]["warp"] == "affine"
    assert [line["size"] for line in result["clusters"]] == result["sizes"]


def test_predicting_the_fitted_pictures_gives_the_runs_labels(command, fitted, pictures, tmp_path):
    run, _ = fitted
    done = command("predict", run, pictures)
    assert done.returncode == 0, done.stderr
    # a pipe that is read as text makes a line break of the carriage return in a name
    assert done.stdout == (run / "labels.csv").read_bytes().decode().replace("\r", "\n")
    assert "compared at 8x8" in done.stderr


def test_predicting_pictures_of_another_size_brings_them_to_the_runs(
    command, fitted, pictures, tmp_path
):
    run, _ = fitted
    (tmp_path / "large").mkdir()
    for path in pictures.iterdir():
        Image.open(path).resize((24, 24), Image.Resampling.BILINEAR).save(
            tmp_path / "large" / path.name
        )
    done = command("predict", run, tmp_path / "large", "-o", tmp_path / "found.csv", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = rows_of((tmp_path / "found.csv").read_bytes().decode())
    before = {row.file: str(row.cluster) for row in open_run(run).labels}
    same = [before[row["file"]] == row["cluster"] for row in found]
    assert len(same) == 60
    assert np.mean(same) > 0.9


def test_info_sums_a_run_up_for_people_and_for_scripts(fitted):
    run, _ = fitted
    shown, found = invoke("info", run), invoke("info", run, "--json")
    assert (shown.exit_code, found.exit_code) == (0, 0)
    assert "3 clusters of 60 pictures (8x8)" in shown.stdout
    assert "n_clusters=3" in shown.stdout
    assert "normalize: unit" in shown.stdout
    result = json.loads(found.stdout)
    assert sum(line["size"] for line in result["clusters"]) == 60
    assert result["input"]["n_images"] == 60


def test_a_dry_run_estimates_and_writes_nothing(command, pictures, tmp_path):
    done = command("fit", pictures, "-k", 3, "--dry-run", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "60 pictures of 8x8, 3 clusters" in done.stdout
    assert "time    about" in done.stdout
    assert "memory  at most" in done.stdout
    assert "estimate" in done.stdout
    assert list(tmp_path.iterdir()) == []
    result = json.loads(invoke("fit", pictures, "-k", 3, "--dry-run", "--json").stdout)
    assert 0 < result["seconds_from"] < result["seconds"] < result["seconds_to"]
    assert result["memory_bytes"] > 60 * 64 * 4


def test_choose_k_recommends_the_number_that_halves_agree_on(command, pictures):
    done = command("choose-k", pictures, "--from", 2, "--to", 4, "--splits", 1, "--json", "-q")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    by_number = {line["n_clusters"]: line for line in result["numbers"]}
    assert list(by_number) == [2, 3, 4]
    assert by_number[4]["distortion"] < by_number[2]["distortion"]
    best = max(line["mean_stability"] for line in by_number.values())
    assert by_number[3]["mean_stability"] == best
    assert result["recommended"] == 3  # there are zeros, ones and twos


def test_a_reader_that_leaves_early_is_no_error(fitted, pictures, begin):
    process = begin("predict", fitted[0], pictures, "-q")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, said = process.communicate(timeout=120)
    assert said == ""


def test_help_and_version_need_neither_numba_nor_scikit_learn():
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from dikmeans.cli import app\n"
        "for words in (['--help'], ['--version'], ['fit', '--help'], ['choose-k', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_fit_keeps_the_best_so_far(begin, pictures, tmp_path, number, code):
    process = begin("fit", pictures, "-k", 3, "-o", tmp_path / "run", "--runs", 100_000, "--json")
    assert process.stderr is not None
    for line in process.stderr:
        if "run 2 of 100000" in line:
            break
    process.send_signal(number)
    out, said = process.communicate(timeout=120)
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert "stopped early; the best clusters so far are in" in said
    assert json.loads(out)["interrupted"] is True
    run = open_run(tmp_path / "run")
    assert run.info["interrupted"] is True
    assert math.isfinite(run.model.inertia_)
    assert run.model.predict(run.load_images().images).tolist() == [
        row.cluster for row in run.labels
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_while_writing_it_leaves_no_half_written_run(
    begin, fitted, pictures, tmp_path, replacing
):
    run = tmp_path / "run"
    if replacing:
        shutil.copytree(fitted[0], run)
    slow = [str(Path(__file__).with_name("slow_writing_app.py"))]
    process = begin("fit", pictures, "-k", 2, "-o", run, "--force", "--warp", "none", module=slow)
    assert process.stderr is not None
    for line in process.stderr:
        if line == "writing\n":
            break
    process.kill()
    process.communicate(timeout=120)
    if replacing:
        assert open_run(run).model.n_clusters == 3  # the old run, whole
    else:
        assert not run.exists()


def test_report_gets_the_runs_own_pictures_and_says_where_the_page_is(
    fitted, tmp_path, monkeypatch
):
    calls = []

    def write_report(path, model, image_set, *, max_pictures=2000, title=None, progress=None):
        progress(0.5, "half")
        calls.append((path, model.n_clusters, image_set.names, max_pictures, title))

    monkeypatch.setitem(sys.modules, "dikmeans.report", SimpleNamespace(write_report=write_report))
    run = open_run(fitted[0])
    done = invoke(
        "report", run.path, "-o", tmp_path / "page.html", "--max-pictures", 7, "--title", "Mine"
    )
    assert done.exit_code == 0, done.output
    assert calls == [(tmp_path / "page.html", 3, tuple(row.file for row in run.labels), 7, "Mine")]
    assert done.stdout == f"Report: {tmp_path / 'page.html'}\n"
    invoke("report", run.path)
    assert calls[1][0] == run.path / "report.html"
