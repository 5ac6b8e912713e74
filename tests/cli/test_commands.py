"""The commands on good input, as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from dikmeans.estimator import DIKMeans
from dikmeans.runs import open_run
from tests.cli.conftest import TIMEOUT, dikmeans, invoke, start, wait_for


def records_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_fit_writes_a_whole_run_and_ends_with_the_path_of_its_report(fitted, pictures):
    run, done = fitted
    assert sorted(path.name for path in run.iterdir()) == [
        "centroids",
        "labels.csv",
        "model.safetensors",
        "pictures.safetensors",
        "report.html",
        "run.json",
    ]
    assert done.stdout.endswith(f"\nReport: {run / 'report.html'}\n")
    assert "3 clusters of 60 pictures (8x8)" in done.stdout
    assert "Every picture is scaled to unit norm" in done.stdout
    assert "warming up without warps, iteration 1 · inertia 0." in done.stderr
    assert "fitting all pictures, iteration 1" in done.stderr
    assert "s left" in done.stderr
    assert [path.name for path in run.parent.iterdir()] == ["run"]  # nothing temporary beside it
    records = records_of((run / "labels.csv").read_bytes().decode())
    assert {record["file"] for record in records} == {path.name for path in pictures.iterdir()}
    assert {record["cluster"] for record in records} == {"0", "1", "2"}
    assert all(float(record["cost"]) >= 0 <= float(record["margin"]) for record in records)


def test_labels_are_what_the_saved_model_predicts_and_margins_are_to_the_second_best(fitted):
    run = open_run(fitted[0])
    images = run.load_images()
    assert images.names == tuple(row.file for row in run.labels)
    costs = np.sort(run.model.transform(images.images), axis=1)
    assert [row.cluster for row in run.labels] == run.model.predict(images.images).tolist()
    np.testing.assert_allclose([row.cost for row in run.labels], costs[:, 0], rtol=1e-2)
    margins = np.array([row.margin for row in run.labels])
    # a second choice that is refined to the end can only cost less than one that is not
    assert (margins >= (costs[:, 1] - costs[:, 0]) * 0.98 - 1e-3).all()


def test_after_the_fit_no_image_is_aligned_again_and_no_run_is_read(
    pictures, tmp_path, monkeypatch
):
    def refuse(*_, **__):
        pytest.fail("done twice")

    for name in ("assign", "predict", "transform", "align", "load"):
        monkeypatch.setattr(DIKMeans, name, refuse)
    monkeypatch.setattr("dikmeans.runs.run_folder.rows_from_csv", refuse)
    words = ("-k", 2, "--warp", "affine", "--no-report", "-q")
    done = invoke("fit", pictures, *words, "-o", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "2 clusters of 60 pictures" in done.stdout
    assert done.stdout.endswith(f"\nNext: dikmeans report {tmp_path / 'run'}\n")


def test_centroids_are_pictures_of_the_models_centroids(fitted):
    run = open_run(fitted[0])
    for cluster, centroid in enumerate(run.model.cluster_centers_):
        file = run.path / "centroids" / "as-compared" / f"cluster-{cluster}.png"
        pixels = np.asarray(Image.open(file), float)
        assert pixels.shape == centroid.shape
        assert np.corrcoef(pixels.ravel(), centroid.ravel())[0, 1] > 0.999
        assert pixels.max() == 255
    n_files = len(list((run.path / "centroids").glob("*.png")))
    assert n_files == len(run.model.prototypes_)


def test_run_json_says_how_the_run_was_made(fitted, pictures):
    info = json.loads((fitted[0] / "run.json").read_text())
    assert info["parameters"]["n_clusters"] == 3
    assert info["parameters"]["random_state"] == 0
    assert info["input"]["name"] == str(pictures)
    assert info["input"]["n_images"] == sum(info["sizes"]) == 60
    assert info["history"]["iterations"]
    assert {"dikmeans", "python", "numpy", "numba"} <= set(info["versions"])
    assert info["interrupted"] is False


def test_options_become_parameters(pictures, tmp_path):
    words = "-k 2 --warp tps --landmarks 3 --smoothness 0.5 --prototypes 2 --runs 2 --seed 7"
    more = "--preprocessing none --jobs 1 --size 9x10 --limit 30 --invert -q"
    run = tmp_path / "run"
    done = invoke("fit", pictures, *words.split(), *more.split(), "-o", run)
    assert done.exit_code == 0, done.output
    opened = open_run(run)
    parameters = opened.model.get_params(deep=False)
    assert parameters == DIKMeans(
        2,
        landmarks=(3, 3),
        smoothness=0.5,
        n_prototypes=2,
        n_init=2,
        random_state=7,
        preprocessing=None,
        n_jobs=1,
    ).get_params(deep=False)
    assert opened.model.image_shape_ == (9, 10)
    chosen = {"color": False, "alpha": False}
    assert opened.source.options == {"size": (9, 10), "invert": True, **chosen}
    assert opened.source.limit == len(opened.labels) == 30


def test_color_is_kept_if_asked_for(pictures, tmp_path):
    run = tmp_path / "run"
    done = invoke("fit", pictures, "-k", 2, "--warp", "none", "--color", "-o", run, "-q")
    assert done.exit_code == 0, done.output
    assert open_run(run).model.image_shape_ == (8, 8, 3)


def test_a_fit_on_a_device_leaves_a_run_that_needs_none(pictures, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    words = ("-k", 2, "--warp", "affine", "--device", "cpu", "-q")
    done = invoke("fit", pictures, *words, "-o", tmp_path / "run")
    assert done.exit_code == 0, done.output
    monkeypatch.setitem(sys.modules, "torch", None)
    run = open_run(tmp_path / "run")
    assert run.model.solver.device is None
    predicted = run.model.predict(run.load_images().images)
    assert np.mean(run.model.labels_ == predicted) >= 0.95


def test_json_is_all_there_is_on_standard_output(pictures, tmp_path):
    arrays = [np.asarray(Image.open(path)) for path in sorted(pictures.iterdir())]
    np.savez(tmp_path / "x.npz", images=np.stack(arrays))
    words = ("-k", 2, "--warp", "affine", "--json", "-q")
    done = dikmeans("fit", tmp_path / "x.npz", *words, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["run"] == str(tmp_path / "run")
    assert sum(result["sizes"]) == 60
    assert result["parameters"]["warp"] == "affine"
    assert result["preprocessing"] == ["unit-norm"]
    assert [cluster["size"] for cluster in result["clusters"]] == result["sizes"]


def test_predicting_the_fitted_pictures_gives_the_labels_of_the_run(fitted, pictures):
    run, _ = fitted
    done = dikmeans("predict", run, pictures)
    assert done.returncode == 0, done.stderr
    # a pipe that is read as text makes a line break of the carriage return in a name
    assert done.stdout == (run / "labels.csv").read_bytes().decode().replace("\r", "\n")
    assert "compared at 8x8" in done.stderr


def test_pictures_of_another_size_are_resized_to_that_of_the_run(fitted, pictures, tmp_path):
    run, _ = fitted
    (tmp_path / "large").mkdir()
    for path in pictures.iterdir():
        large = Image.open(path).resize((24, 24), Image.Resampling.BILINEAR)
        large.save(tmp_path / "large" / path.name)
    done = dikmeans("predict", run, tmp_path / "large", "-o", tmp_path / "labels.csv", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    records = records_of((tmp_path / "labels.csv").read_bytes().decode())
    before = {row.file: str(row.cluster) for row in open_run(run).labels}
    same = [before[record["file"]] == record["cluster"] for record in records]
    assert len(same) == 60
    assert np.mean(same) > 0.9


def test_the_report_does_not_tell_where_the_pictures_are(fitted, pictures):
    page = (fitted[0] / "report.html").read_text()
    assert f"pictures in {pictures.name}" in page
    assert str(pictures.parent) not in page


def test_info_summarizes_a_run_for_people_and_for_scripts(fitted):
    run, done = fitted
    shown, as_json = invoke("info", run), invoke("info", run, "--json")
    assert (shown.exit_code, as_json.exit_code) == (0, 0)
    table = done.stdout.split("\nReport:")[0]
    assert shown.stdout.startswith(table)  # `fit` has shown the same, without reading the run
    assert "parameters n_clusters=3, random_state=0\n" in shown.stdout
    assert f"{run}/centroids/, labels.csv, " in shown.stdout
    assert "report.html, run.json\n" in shown.stdout
    result = json.loads(as_json.stdout)
    labels = open_run(run).labels
    for cluster in result["clusters"]:
        members = [row for row in labels if row.cluster == cluster["cluster"]]
        typical = min(members, key=lambda row: row.cost)
        assert cluster["size"] == len(members)
        assert cluster["most_typical"] == typical.file
        assert cluster["mean_cost"] == pytest.approx(np.mean([row.cost for row in members]))
        assert cluster["unsure"] == sum(row.margin < 0.1 * row.cost for row in members)
    assert result["input"]["n_images"] == 60


def test_a_dry_run_estimates_and_writes_nothing(pictures, tmp_path):
    done = dikmeans("fit", pictures, "-k", 3, "--dry-run", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "60 pictures of 8x8, 3 clusters" in done.stdout
    assert "time    about" in done.stdout
    assert "memory  at most" in done.stdout
    assert list(tmp_path.iterdir()) == []
    words = ("fit", pictures, "-k", 3, "--dry-run", "--json", "--runs")
    result = json.loads(invoke(*words, 1).stdout)
    assert 0 < result["seconds_from"] < result["seconds"] < result["seconds_to"]
    assert result["memory_bytes"] > 60 * 64 * 4
    assert json.loads(invoke(*words, 50).stdout)["seconds"] > 10 * result["seconds"]


def test_choose_k_recommends_the_number_that_halves_agree_on(pictures):
    words = ("--from", 2, "--to", 4, "--splits", 1, "--json", "-q")
    done = dikmeans("choose-k", pictures, *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    by_number = {line["n_clusters"]: line for line in result["numbers"]}
    assert list(by_number) == [2, 3, 4]
    assert by_number[4]["cost"] < by_number[2]["cost"]
    best = max(line["mean_stability"] for line in by_number.values())
    assert by_number[3]["mean_stability"] == best
    assert result["recommended"] == 3  # there are zeros, ones and twos


def test_choose_k_prints_a_next_command_with_the_options_it_was_given(
    pictures, tmp_path, monkeypatch
):
    shutil.copytree(pictures, tmp_path / "my pictures")
    monkeypatch.chdir(tmp_path)
    words = "--invert --color --size 9x9 --warp affine --smoothness 0.2 --preprocessing unit-norm"
    limits = "--from 2 --to 2 --splits 1 --sample 20 --seed 3 -q"
    done = invoke("choose-k", "my pictures", *words.split(), *limits.split())
    assert done.exit_code == 0, done.output
    following = done.stdout.splitlines()[-1].removeprefix("Next: dikmeans ")
    assert shlex.split(following) == [
        *("fit", "my pictures", "-k", "2", "-o", "RUN", "--size", "9x9", "--invert", "--color"),
        *("--preprocessing", "unit-norm", "--warp", "affine", "--smoothness", "0.2"),
        *("--seed", "3"),
    ]
    assert invoke(*shlex.split(following), "-q").exit_code == 0
    chosen = {"size": (9, 9), "invert": True, "color": True, "alpha": False}
    assert open_run("RUN").source.options == chosen


def test_a_reader_that_leaves_early_is_not_an_error(fitted, pictures):
    process = start("predict", fitted[0], pictures, "-q")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=TIMEOUT)
    assert err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_fit_keeps_the_best_clusters_so_far(pictures, tmp_path, number, code):
    words = ("-k", 3, "--runs", 100_000, "--json")
    process = start("fit", pictures, *words, "-o", tmp_path / "run")
    wait_for(process, "run 2 of 100000")
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "stopped early; the best clusters so far are in" in err
    assert "note:" not in err
    assert json.loads(out)["interrupted"] is True
    run = open_run(tmp_path / "run")
    assert run.info["interrupted"] is True
    assert math.isfinite(run.model.inertia_)
    assert run.model.predict(run.load_images().images).tolist() == run.model.labels_.tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("replacing", [False, True])
def test_a_fit_killed_while_writing_leaves_no_half_written_run(
    fitted, pictures, tmp_path, replacing
):
    run = tmp_path / "run"
    if replacing:
        shutil.copytree(fitted[0], run)
    slow = (str(Path(__file__).with_name("slow_writing_app.py")),)
    words = ("-k", 2, "--force", "--warp", "none")
    process = start("fit", pictures, *words, "-o", run, module=slow)
    wait_for(process, "writing")
    process.kill()
    process.communicate(timeout=TIMEOUT)
    if replacing:
        assert open_run(run).model.n_clusters == 3  # the old run, whole
    else:
        assert not run.exists()


def test_report_gets_the_pictures_and_the_assignment_of_the_run(fitted, tmp_path, monkeypatch):
    calls = []

    def write_report(path, model, image_set, *, max_pictures, title, **options):
        options["progress"](0.5, "half")
        assert options["assignment"] is model.assignment_
        assert options["originals"].problems == {}
        calls.append((path, model.n_clusters, image_set.names, max_pictures, title))

    monkeypatch.setitem(sys.modules, "dikmeans.report", SimpleNamespace(write_report=write_report))
    run = open_run(fitted[0])
    page = tmp_path / "page.html"
    done = invoke("report", run.path, "-o", page, "--max-pictures", 7, "--title", "Mine")
    assert done.exit_code == 0, done.output
    assert calls == [(page, 3, tuple(row.file for row in run.labels), 7, "Mine")]
    assert done.stdout == f"Report: {page}\n"
    invoke("report", run.path)
    assert calls[1][0] == run.path / "report.html"


def test_a_fit_with_a_report_ends_with_the_path_of_the_report(pictures, tmp_path):
    run = tmp_path / "run"
    words = ("-k", 2, "--warp", "affine", "-q")
    done = invoke("fit", pictures, *words, "-o", run)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"Report: {run / 'report.html'}"
    assert (run / "report.html").read_text().startswith("<!doctype html>")
    assert open_run(run).model.n_clusters == 2  # a report is part of a run


def test_the_demo_ends_with_the_path_of_its_report(tmp_path):
    done = invoke("demo", "--images", 60, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    names = [line.split()[:-3] for line in done.stdout.splitlines()[3:6]]
    assert done.stdout.splitlines()[-1] == f"Report:    {tmp_path / 'out' / 'demo-report.html'}"
    assert [" ".join(words[:2]) for words in names][1:] == ["AI K-means", "DI K-means"]
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["demo-centroids.png", "demo-report.html"]


def test_an_export_sorts_the_files_of_a_run_and_says_where(fitted, pictures, tmp_path):
    run, place = open_run(fitted[0]), tmp_path / "sorted"
    done = invoke("export", run.path, "-o", place)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"60 originals in {place}, with labels.csv\n"
    records = records_of((place / "labels.csv").read_bytes().decode())
    for row, record in zip(run.labels, records, strict=True):
        copy = place / record["copy"]
        assert copy.parent.name == f"cluster-{row.cluster}"
        assert copy.read_bytes() == (pictures / row.file).read_bytes()
    again = invoke("export", run.path, "-o", place)
    assert again.exit_code == 2
    assert "exists already. Choose another folder" in again.stderr


def test_a_single_picture_is_predicted_as_in_its_folder(fitted, pictures):
    row = open_run(fitted[0]).labels[12]
    done = invoke("predict", fitted[0], pictures / row.file, "-q")
    assert done.exit_code == 0, done.output
    (record,) = records_of(done.stdout)
    assert record["file"] == row.file
    assert int(record["cluster"]) == row.cluster
    assert float(record["cost"]) == pytest.approx(row.cost, rel=1e-4)


def test_a_report_of_pictures_that_have_gone_shows_what_the_run_has_kept(
    fitted, pictures, tmp_path
):
    info = json.loads((fitted[0] / "run.json").read_text())
    info["input"]["name"] = str(tmp_path / "gone")
    shutil.copytree(fitted[0], tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(json.dumps(info))
    done = invoke("report", tmp_path / "run", "-o", tmp_path / "page.html", "-q")
    assert done.exit_code == 0, done.output
    assert "60 of 60 originals are not shown" in done.stderr
    assert f"{tmp_path / 'gone'} does not exist" in done.stderr
    words = ("--input", pictures, "-o", tmp_path / "page.html", "-q")
    assert "not shown" not in invoke("report", tmp_path / "run", *words).stderr
