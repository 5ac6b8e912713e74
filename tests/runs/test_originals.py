"""Originals of a run: found again, named where they cannot be used, sorted by cluster."""

from __future__ import annotations

import csv
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from dikmeans import DIKMeans
from dikmeans.datasets import Card, ImageSet, ImageSource
from dikmeans.report import write_report
from dikmeans.runs import (
    RunFolderError,
    RunFolderProblem,
    export_clusters,
    find_originals,
    open_run,
    write_run,
)

INK, PAPER = np.array([200, 30, 60]), np.array([250, 240, 220])


@pytest.fixture(scope="module")
def folder(real_digits, tmp_path_factory) -> Path:
    """Red digits on yellowish paper, 112 x 112, in folders `a` and `b`."""
    root = tmp_path_factory.mktemp("pictures")
    for i, digit in enumerate(real_digits[0][:24]):
        large = np.kron(digit, np.ones((4, 4)))[..., None]
        colored = PAPER + large * (INK - PAPER)
        (root / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.fromarray(colored.astype(np.uint8)).save(root / "ab"[i % 2] / f"{i:02d}.png")
    return root


@pytest.fixture(scope="module")
def fitted(folder):
    source = ImageSource.resolve(str(folder), options={"size": (28, 28)})
    images = source.load()
    return DIKMeans(3, random_state=0, n_prototypes=1).fit(images.images), images, source


@pytest.fixture
def run(fitted, folder, tmp_path):
    """A run of a copy of the folder, which tests may spoil."""
    model, images, _ = fitted
    shutil.copytree(folder, tmp_path / "pictures")
    source = ImageSource.resolve(str(tmp_path / "pictures"), options={"size": (28, 28)})
    write_run(tmp_path / "run", model, images, source, seconds=0)
    return open_run(tmp_path / "run")


def test_centroids_have_the_colors_and_the_resolution_of_the_files(run):
    for k in range(3):
        with Image.open(run.path / "centroids" / f"cluster-{k}.png") as picture:
            assert (picture.mode, picture.size) == ("RGB", (112, 112))
            pixels = np.asarray(picture).astype(float)
        np.testing.assert_allclose(pixels[:8, :8].mean(axis=(0, 1)), PAPER, atol=3)
        darkest = pixels.reshape(-1, 3)[pixels[..., 1].argmin()]
        np.testing.assert_allclose(darkest, INK, atol=45)
        with Image.open(run.path / "centroids" / "as-compared" / f"cluster-{k}.png") as picture:
            assert (picture.mode, picture.size) == ("L", (28, 28))


def test_originals_are_the_files_in_color(run, folder):
    images = run.load_images()
    originals = run.find_originals(images)
    assert originals.problems == {}
    with Image.open(folder / images.names[5]) as picture:
        np.testing.assert_array_equal(originals.read(5, 512), np.asarray(picture))
    assert originals.read(5, 50).shape == (50, 50, 3)
    assert originals.content(5) == (folder / images.names[5]).read_bytes()


def test_files_that_are_gone_changed_or_damaged_are_named_and_replaced(run, tmp_path):
    images = run.load_images()
    gone, changed, damaged, touched = images.names[:4]
    root = tmp_path / "pictures"
    (root / gone).unlink()
    Image.new("RGB", (30, 30)).save(root / changed)
    stamp = (root / damaged).stat()
    (root / damaged).write_bytes(bytes(stamp.st_size))
    os.utime(root / damaged, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    os.utime(root / touched, ns=(0, 0))
    originals = run.find_originals(images)
    assert originals.problems[0] == f"is not in {root} any more"
    assert originals.problems[1] == originals.problems[3] == "has changed since the fit"
    assert 2 not in originals.problems  # only reading tells
    for number in range(4):
        expected = np.rint(255 * images.images[number]).astype(np.uint8)
        shown = originals.read(number, 512)
        np.testing.assert_array_equal(shown, expected)
    assert originals.problems[2].startswith("cannot be read")
    assert set(originals.problems) == {0, 1, 2, 3}


def test_a_folder_that_moved_is_named_once_for_all_and_followed_if_one_says_where(run, tmp_path):
    images = run.load_images()
    os.rename(tmp_path / "pictures", tmp_path / "elsewhere")
    lost = run.find_originals(images)
    assert len(lost.problems) == len(images)
    assert "does not exist" in lost.problems[0]
    np.testing.assert_array_equal(lost.read(0, 512), images.images[0])
    found = run.find_originals(images, str(tmp_path / "elsewhere"))
    assert found.problems == {}
    assert found.read(0, 512).shape == (112, 112, 3)


def test_copies_of_files_have_another_time_and_are_the_same(run, folder, tmp_path):
    images = run.load_images()
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    assert run.find_originals(images, str(tmp_path / "copy")).problems == {}


def test_a_zip_with_a_folder_around_everything_is_read(fitted, folder, tmp_path):
    model, images, _ = fitted
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(folder.rglob("*.png")):
            archive.write(path, f"my pictures/{path.relative_to(folder)}")
    source = ImageSource.resolve(str(tmp_path / "all.zip"), options={"size": (28, 28)})
    assert source.load().names == images.names
    write_run(tmp_path / "run", model, images, source, seconds=0)
    run = open_run(tmp_path / "run")
    originals = run.find_originals(images)
    assert originals.problems == {}
    assert originals.read(3, 512).shape == (112, 112, 3)
    assert originals.path(3) is None
    with zipfile.ZipFile(tmp_path / "all.zip", "a") as archive:
        archive.writestr("more.txt", "changed")
    changed = run.find_originals(images)
    assert changed.problems[0] == f"{tmp_path / 'all.zip'} has changed"


def test_arrays_are_shown_as_they_were_before_they_were_resized(real_digits, tmp_path):
    np.save(tmp_path / "x.npy", np.kron(real_digits[0][:20], np.ones((1, 3, 3))))
    source = ImageSource.resolve(
        str(tmp_path / "x.npy"), options={"size": (28, 28), "invert": True}, limit=10
    )
    images = source.load()
    originals = find_originals(images, source)
    assert originals.read(0, 512).shape == (84, 84)
    assert originals.read(0, 512)[0, 0] == 0  # not inverted
    np.save(tmp_path / "x.npy", real_digits[0][:5])
    assert "holds other pictures now" in find_originals(images, source).problems[0]


def test_sounds_are_played_and_their_spectrograms_shown(tmp_path):
    for name in ("one.wav", "two.wav"):
        wavfile.write(tmp_path / name, 8000, np.zeros(800, np.int16))
    card = Card("sounds", "-", "-", "-", "-")
    images = ImageSet(
        np.random.default_rng(0).random((2, 9, 12)).astype(np.float32),
        *(None, (), ("one.wav", "two.wav"), card),
    )
    originals = find_originals(images, ImageSource(str(tmp_path)))
    sound = originals.sound(1)
    assert sound.media_type == "audio/wav"
    assert sound.content == (tmp_path / "two.wav").read_bytes()
    assert originals.read(1, 512).shape == (9, 12, 3)
    assert originals.problems == {}


def records_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("links", [False, True])
def test_an_export_holds_exactly_the_files_of_each_cluster(run, tmp_path, links):
    originals = run.find_originals(run.load_images())
    exported = export_clusters(run, tmp_path / "sorted", originals, links=links)
    assert (exported.n_files, exported.missing) == (24, {})
    records = records_of(tmp_path / "sorted" / "labels.csv")
    assert [record["file"] for record in records] == list(run.names)
    for row, record in zip(run.labels, records, strict=True):
        assert record["copy"].startswith(f"cluster-{row.cluster}/")
        assert float(record["cost"]) == row.cost
        assert float(record["margin"]) == row.margin
        assert int(record["prototype"]) == row.prototype
        copy, original = tmp_path / "sorted" / record["copy"], tmp_path / "pictures" / row.file
        assert copy.is_symlink() == links
        assert copy.read_bytes() == original.read_bytes()  # which is still in its place
    copies = list((tmp_path / "sorted").rglob("*.png"))
    assert len(copies) == 24


def test_an_export_names_what_it_does_not_hold_and_replaces_nothing(run, tmp_path):
    (tmp_path / "pictures" / run.names[0]).unlink()
    originals = run.find_originals(run.load_images())
    exported = export_clusters(run, tmp_path / "sorted", originals)
    assert exported.n_files == 23
    assert list(exported.missing) == [run.names[0]]
    assert records_of(tmp_path / "sorted" / "labels.csv")[0]["copy"] == ""
    with pytest.raises(RunFolderError, match="exists already") as caught:
        export_clusters(run, tmp_path / "sorted", originals)
    assert caught.value.problem is RunFolderProblem.EXPORT_EXISTS


def test_an_export_of_arrays_writes_pictures_and_no_name_leads_out_of_it(real_digits, tmp_path):
    names = ["../../out", "/etc/passwd", "a", "A", "a", "b\nc"] + [f"n{i}" for i in range(14)]
    np.savez(tmp_path / "x.npz", images=real_digits[0][:20], names=names)
    source = ImageSource.resolve(str(tmp_path / "x.npz"))
    images = source.load()
    model = DIKMeans(2, warp="none", random_state=0).fit(images.images)
    run = write_run(tmp_path / "run", model, images, source, seconds=0)
    export_clusters(run, tmp_path / "sorted", run.find_originals(images))
    files = set((tmp_path / "sorted").rglob("*.png"))
    assert len(files) == 20
    assert {path.name for path in tmp_path.iterdir()} == {"x.npz", "run", "sorted"}
    for record, digit in zip(
        records_of(tmp_path / "sorted" / "labels.csv"), images.images, strict=True
    ):
        with Image.open(tmp_path / "sorted" / record["copy"]) as picture:
            np.testing.assert_allclose(np.asarray(picture) / 255, digit, atol=0.003)


def test_a_report_of_a_new_run_uses_the_portraits_that_the_run_was_written_with(
    fitted, tmp_path, monkeypatch
):
    model, images, source = fitted
    run = write_run(tmp_path / "run", model, images, source, seconds=0)
    assert run.portraits is not None
    assert open_run(run.path).portraits is None
    small = run.portraits.reduced(28)
    assert small.pictures.shape == small.spread.shape == (3, 28, 28, 3)
    blocks = run.portraits.pictures.reshape(3, 28, 4, 28, 4, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(small.pictures, blocks, atol=0.01)

    def refuse(*_, **__):
        raise AssertionError("makes portraits again")

    monkeypatch.setattr(DIKMeans, "average_originals", refuse)
    originals = run.find_originals(images)
    page = write_report(
        tmp_path / "page.html",
        run.model,
        images,
        originals=originals,
        assignment=run.model.assignment_,
        portraits=run.portraits,
    )
    assert page.exists()


def test_where_links_cannot_be_made_it_says_so_and_leaves_nothing(run, tmp_path, monkeypatch):
    def refuse(*_):  # as Windows does without a privilege
        raise OSError(22, "A required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refuse)
    originals = run.find_originals(run.load_images())
    with pytest.raises(RunFolderError, match=r"privilege .* links=False") as caught:
        export_clusters(run, tmp_path / "sorted", originals, links=True)
    assert caught.value.problem is RunFolderProblem.NO_LINKS
    assert not (tmp_path / "sorted").exists()
