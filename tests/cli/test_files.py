"""Folders as people have them on the command line: sounds, labels, shapes, single files."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
import soundfile
from PIL import Image
from sklearn.datasets import load_digits

from dikmeans.runs import open_run
from tests.cli.conftest import invoke, message

RATE = 8000


def glide(start, stop, seed):
    """A tone that glides from one pitch to another, between silences, with noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(round((0.4 + 0.1 * rng.random()) * RATE)) / RATE
    hertz = start + (stop - start) * time / time[-1]
    sound = np.sin(2 * np.pi * np.cumsum(hertz) / RATE) * np.hanning(len(time))
    silence = np.zeros(800)
    padded = np.concatenate([silence, sound, silence])
    return rng.uniform(0.05, 0.9) * padded + 1e-3 * rng.normal(size=len(padded))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Twelve glides up and twelve down, as files of several formats in two folders."""
    folder = tmp_path_factory.mktemp("recordings")
    for name, pitches in (("up", (300, 2000)), ("down", (2000, 300))):
        (folder / name).mkdir()
        for number in range(12):
            kind = ("wav", "flac", "ogg")[number % 3]
            sound = glide(*pitches, seed=100 * len(name) + number)
            soundfile.write(folder / name / f"{number}.{kind}", sound, RATE)
    return folder


@pytest.fixture(scope="module")
def heard(recordings, tmp_path_factory):
    """A run of the recordings, and what the command said."""
    run = tmp_path_factory.mktemp("runs") / "run"
    done = invoke("fit", recordings, "-k", 2, "-o", run, "-q")
    assert done.exit_code == 0, done.output
    return run, done


def test_a_folder_of_sounds_is_clustered_like_one_of_pictures(recordings, heard):
    run, done = heard
    assert "2 clusters of 24 sounds" in done.stdout
    assert "100% agree with the folders" in done.stdout
    opened = open_run(run)
    assert opened.model.preprocessing_.name == "band-whitening"
    assert opened.info["input"]["kind"] == "sound"
    with opened.source.files() as read:  # so that a report can play them
        for row in opened.labels:
            assert read(row.file) == (recordings / row.file).read_bytes()


def test_one_more_sound_of_another_rate_finds_its_cluster(heard, tmp_path):
    run, _ = heard
    clusters = {row.file: row.cluster for row in open_run(run).labels}
    sound = np.interp(np.arange(0, 4000, 0.25), np.arange(4000), glide(300, 2000, 7)[:4000])
    soundfile.write(tmp_path / "more.wav", sound, 4 * RATE)
    done = invoke("predict", run, tmp_path / "more.wav", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["file"], row["cluster"]) == ("more.wav", clusters["up/0.wav"])
    assert "1 sound, compared at" in done.stderr


def test_choose_k_hears_too(recordings):
    words = ("--from", 2, "--to", 3, "--splits", 1, "--warp", "none", "-q", "--json")
    done = invoke("choose-k", recordings, *words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["recommended"] == 2


def test_pictures_cannot_join_clusters_of_sounds(heard, pictures):
    run, _ = heard
    done = invoke("predict", run, pictures)
    assert done.exit_code == 2
    assert "was made from sounds" in message(done)


def test_options_of_pictures_cannot_be_used_with_sounds(recordings, tmp_path):
    done = invoke("fit", recordings, "-k", 2, "--invert", "-o", tmp_path / "run")
    assert done.exit_code == 2
    assert "--invert cannot be used with" in message(done)


FAST = ("-k", 2, "--warp", "none", "-q", "-o")


@pytest.fixture
def some(pictures, tmp_path):
    """A dozen pictures, half of them in two folders, the others loose."""
    folder = tmp_path / "some"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
    for number in range(12):
        place = folder / ("a", "b", "", "")[number % 4] / f"{number}.png"
        shutil.copy(pictures / f"{number}.png", place)
    return folder


def test_loose_files_beside_folders_are_fine_and_nobody_speaks_of_labels(some, tmp_path):
    done = invoke("fit", some, *FAST, tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "2 clusters of 12 pictures" in done.stdout
    assert "agree" not in done.output
    asked = invoke("fit", some, *FAST, tmp_path / "other", "--labels", "folders")
    assert asked.exit_code == 2
    assert "use --labels FILE.csv or --labels none" in message(asked)


def test_folders_are_called_folders_and_can_be_switched_off(some, tmp_path):
    for number in range(12):
        (some / f"{number}.png").unlink(missing_ok=True)
    done = invoke("fit", some, *FAST, tmp_path / "run")
    assert "agree with the folders" in done.stdout
    assert open_run(tmp_path / "run").info["input"]["label_source"] == "folders"
    silent = invoke("fit", some, *FAST, tmp_path / "other", "--labels", "none")
    assert silent.exit_code == 0
    assert "agree" not in silent.stdout


def test_labels_come_from_a_table_which_the_run_remembers(some, tmp_path, monkeypatch):
    files = sorted(path.relative_to(some).as_posix() for path in some.rglob("*.png"))
    monkeypatch.chdir(tmp_path)
    lines = [f"{file},{number % 2}" for number, file in enumerate(files)]
    (tmp_path / "truth.csv").write_text("\n".join(["file,label", *lines]))
    done = invoke("fit", some, *FAST, tmp_path / "run", "--labels", "truth.csv")
    assert "agree with the labels in truth.csv" in done.stdout
    assert open_run(tmp_path / "run").load_images().class_names == ("0", "1")
    (tmp_path / "truth.csv").write_text("\n".join([*lines[1:], "gone.png,0"]))
    wrong = invoke("fit", some, *FAST, tmp_path / "other", "--labels", "truth.csv")
    assert wrong.exit_code == 2
    assert "names 1 file(s) that are not there: 'gone.png'" in message(wrong)


def test_pictures_of_other_sizes_and_single_files_are_predicted(tmp_path):
    digits = load_digits()
    folder = tmp_path / "digits"
    folder.mkdir()
    for number in range(40):
        picture = Image.fromarray((255 - 15 * digits.images[number]).astype(np.uint8))
        picture.resize((40 + number, 60)).save(folder / f"{number}.png")
    run = tmp_path / "run"
    done = invoke("fit", folder, "-k", 3, "--warp", "none", "-q", "-o", run)
    assert done.exit_code == 0, done.output
    assert "padded with their ground" in message(done)
    fitted = {row.file: row.cluster for row in open_run(run).labels}
    one = invoke("predict", run, folder / "7.png", "--json", "-q")
    assert one.exit_code == 0, one.output
    assert [row["cluster"] for row in json.loads(one.stdout)] == [fitted["7.png"]]
    assert open_run(run).load_images().shape == open_run(run).model.image_shape_


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX systems only")
def test_names_that_are_not_utf8_are_kept(some, tmp_path):
    name = os.fsdecode(b"\xe9t\xe9.png")
    shutil.copy(some / "2.png", some / name)
    done = invoke("fit", some, *FAST, tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert name in [row.file for row in open_run(tmp_path / "run").labels]


def test_one_picture_is_too_few_for_two_clusters(some, tmp_path):
    done = invoke("fit", some / "2.png", *FAST, tmp_path / "run")
    assert done.exit_code == 2
    assert "has 1 picture; --clusters 2 needs at least 2" in message(done)
