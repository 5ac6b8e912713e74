"""RUN folders: written whole or not at all, checked when read, able to load their images again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.datasets import ImageSource
from dikmeans.runs import (
    RunFolderError,
    RunFolderProblem,
    check_place,
    open_run,
    run_folder,
    write_run,
)


@pytest.fixture
def made(tmp_path, real_digits):
    """A fitted model with its images, and a function that writes a run of it."""
    np.savez(
        tmp_path / "digits.npz", images=real_digits[0][:30], names=[f"d{i}\n" for i in range(30)]
    )
    source = ImageSource.resolve(str(tmp_path / "digits.npz"), limit=20)
    images = source.load()
    model = DIKMeans(3, warp="none", random_state=0).fit(images.images)

    def write(path: Path, **options) -> Path:
        write_run(path, model, images, source, seconds=1.5, **options)
        return path

    return model, images, write


def test_what_is_written_is_what_is_read(made, tmp_path):
    model, images, write = made
    run = open_run(write(tmp_path / "run"))
    np.testing.assert_array_equal(run.model.cluster_centers_, model.cluster_centers_)
    assert [row.file for row in run.labels] == list(images.names)
    assert [row.cluster for row in run.labels] == model.labels_.tolist()
    assert sum(row.cost for row in run.labels) == pytest.approx(model.inertia_, rel=1e-4)
    assert run.info["parameters"] == model.get_params(deep=False)
    assert run.info["inertia"] == model.inertia_
    assert run.info["sizes"] == np.bincount(model.labels_).tolist()
    np.testing.assert_array_equal(run.load_images().images, images.images)


def test_the_run_that_is_returned_is_the_one_that_is_read_later(tmp_path, real_digits):
    np.save(tmp_path / "x.npy", real_digits[0][:60])
    source = ImageSource.resolve(str(tmp_path / "x.npy"))
    images = source.load()
    model = DIKMeans(2, warp="affine", n_prototypes=2, random_state=0).fit(images.images)
    written = write_run(tmp_path / "run", model, images, source, seconds=1.23456)
    read = open_run(tmp_path / "run")
    assert written.labels == read.labels
    assert written.info == read.info
    assert (written.path, written.source) == (read.path, read.source)
    for name, column in model.assignment_._asdict().items():
        np.testing.assert_array_equal(getattr(read.model.assignment_, name), column)


def test_every_prototype_is_a_picture_and_labels_name_it(tmp_path, real_digits):
    np.save(tmp_path / "x.npy", real_digits[0][:60])
    source = ImageSource.resolve(str(tmp_path / "x.npy"))
    images = source.load()
    model = DIKMeans(2, warp="affine", n_prototypes=2, random_state=0).fit(images.images)
    assert model.prototype_clusters_.tolist() == [0, 0, 1, 1]
    run = write_run(tmp_path / "run", model, images, source, seconds=0)
    names = sorted(path.name for path in (run.path / "centroids").glob("*.png"))
    compared = run.path / "centroids" / "as-compared"
    assert names == sorted(path.name for path in compared.iterdir())
    assert names == [
        "cluster-0.png",
        "cluster-0_prototype-1.png",
        "cluster-1.png",
        "cluster-1_prototype-1.png",
    ]
    numbers = [2 * row.cluster + row.prototype for row in run.labels]
    assert numbers == model.assignment_.prototypes.tolist()
    assert set(numbers) == {0, 1, 2, 3}


def test_one_cluster_has_no_margin(tmp_path, real_digits):
    np.save(tmp_path / "x.npy", real_digits[0][:5])
    source = ImageSource.resolve(str(tmp_path / "x.npy"))
    images = source.load()
    model = DIKMeans(1, warp="none").fit(images.images)
    write_run(tmp_path / "run", model, images, source, seconds=0)
    assert all(np.isnan(row.margin) for row in open_run(tmp_path / "run").labels)


@pytest.fixture
def too_large_to_keep(monkeypatch):
    """Runs do not keep their pictures: their sources must stay where they are."""
    monkeypatch.setattr("dikmeans.runs.pictures_file.MAX_BYTES", 0)


def test_a_run_keeps_its_pictures_with_their_labels(tmp_path, real_digits):
    X, y = real_digits
    np.savez(tmp_path / "x.npz", images=(255 * X[:40]).astype(np.uint8), labels=y[:40])
    source = ImageSource.resolve(str(tmp_path / "x.npz"))
    images = source.load()
    model = DIKMeans(2, warp="none", random_state=0).fit(images.images)
    write_run(tmp_path / "run", model, images, source, seconds=0)
    (tmp_path / "x.npz").unlink()
    kept = open_run(tmp_path / "run").load_images()
    np.testing.assert_array_equal(kept.images, images.images)
    np.testing.assert_array_equal(kept.labels, images.labels)
    assert (kept.class_names, kept.names, kept.card) == (
        images.class_names,
        images.names,
        images.card,
    )
    assert (tmp_path / "run" / "pictures.safetensors").stat().st_size < 40 * 784 + 4000


def test_kept_pictures_that_are_damaged_or_of_another_run_are_refused(made, tmp_path):
    run = made[2](tmp_path / "run")
    file = run / "pictures.safetensors"
    content = file.read_bytes()
    for damaged in (content[:-100], content[:-1] + bytes([content[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        with pytest.raises(RunFolderError, match=r"damaged: pictures.safetensors") as caught:
            open_run(run).load_images()
        assert caught.value.problem is RunFolderProblem.DAMAGED


@pytest.mark.usefixtures("too_large_to_keep")
def test_images_that_moved_are_followed_if_one_says_where(made, tmp_path):
    _, images, write = made
    run = open_run(write(tmp_path / "run"))
    os.rename(tmp_path / "digits.npz", tmp_path / "elsewhere.npz")
    with pytest.raises(
        RunFolderError, match=r"made from images in .*digits.npz, which does not exist"
    ) as caught:
        run.load_images()
    assert caught.value.problem is RunFolderProblem.IMAGES_UNREADABLE
    assert run.load_images(str(tmp_path / "elsewhere.npz")).names == images.names


@pytest.mark.usefixtures("too_large_to_keep")
def test_images_that_changed_are_noticed(made, tmp_path, real_digits):
    _, _, write = made
    run = open_run(write(tmp_path / "run"))
    names = [f"d{i}\n" for i in range(30)]
    pixels = real_digits[0][:30].copy()
    pixels[:, 14, 14] += 0.01
    np.savez(tmp_path / "digits.npz", images=pixels / pixels.max(), names=names)
    with pytest.raises(RunFolderError, match="the names are the same, the pixels differ"):
        run.load_images()
    np.savez(tmp_path / "digits.npz", images=real_digits[0][:29], names=names[:29])
    with pytest.raises(RunFolderError, match=r"[1-9]\d* of 20 are gone and \d+ are new"):
        run.load_images()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def swap_labels(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")


def forget_the_input(path: Path) -> None:
    info = json.loads(path.read_text())
    del info["input"]["checksum"]
    path.write_text(json.dumps(info))


def other_shape(path: Path) -> None:
    info = json.loads(path.read_text())
    info["input"]["shape"] = [5, 5]
    path.write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(
            (name, how)
            for name in ("model.safetensors", "labels.csv", "run.json")
            for how in (cut, empty)
        ),
        *((name, Path.unlink) for name in ("model.safetensors", "labels.csv", "run.json")),
        ("labels.csv", swap_labels),
        ("run.json", lambda path: path.write_text("[]")),
        ("run.json", lambda path: path.write_text('{"format": "dikmeans-run", "version": 1}')),
        ("run.json", forget_the_input),
        ("run.json", other_shape),
    ],
)
def test_a_damaged_run_is_refused_by_the_name_of_the_file(made, tmp_path, name, damage):
    run = made[2](tmp_path / "run")
    damage(run / name)
    with pytest.raises(RunFolderError, match=name) as caught:
        open_run(run)
    missing_info = damage is Path.unlink and name == "run.json"
    expected = RunFolderProblem.NOT_A_RUN if missing_info else RunFolderProblem.DAMAGED
    assert (caught.value.path, caught.value.problem) == (run, expected)
    assert str(caught.value) == f"{run} {caught.value.reason.rstrip('.')}. {expected.value}"


def test_a_run_of_a_later_version_says_so(made, tmp_path):
    run = made[2](tmp_path / "run")
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "version": 2}))
    with pytest.raises(
        RunFolderError, match=r"version 2 of the run format; dikmeans .* reads version 1"
    ) as caught:
        open_run(run)
    assert caught.value.problem is RunFolderProblem.OTHER_VERSION


def test_a_full_disk_costs_neither_the_old_run_nor_leaves_a_half_one(made, tmp_path, monkeypatch):
    run = made[2](tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    def disk_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "write_picture", disk_full)
    for place, replace in ((run, True), (tmp_path / "other", False)):
        with pytest.raises(OSError, match="No space left"):
            made[2](place, replace=replace)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.npz", "run"]


def test_a_run_is_replaced_if_asked_and_nothing_else_ever_is(made, tmp_path):
    write = made[2]
    run = write(tmp_path / "run")
    with pytest.raises(RunFolderError, match="exists already"):
        write(run)
    (run / "report.html").write_text("a report belongs to a run")
    write(run, replace=True)
    assert not (run / "report.html").exists()
    (run / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match=r"holds 'notes.txt'"):
        write(run, replace=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "labels.csv").write_text("mine")
    with pytest.raises(RunFolderError, match=r"is not replaced: it holds 'labels.csv'"):
        check_place(tmp_path / "home", replace=True)
    assert (tmp_path / "home" / "labels.csv").read_text() == "mine"


def test_a_link_is_followed_and_stays_a_link(made, tmp_path):
    write = made[2]
    write(tmp_path / "run")
    (tmp_path / "latest").symlink_to(tmp_path / "run")
    write(tmp_path / "latest", replace=True)
    assert (tmp_path / "latest").is_symlink()
    open_run(tmp_path / "latest")


def test_many_clusters_are_numbered_so_that_they_sort(tmp_path, real_digits):
    np.save(tmp_path / "x.npy", real_digits[0][:40])
    source = ImageSource.resolve(str(tmp_path / "x.npy"))
    images = source.load()
    model = DIKMeans(11, warp="none", random_state=0).fit(images.images)
    write_run(tmp_path / "run", model, images, source, seconds=0)
    files = sorted(path.name for path in (tmp_path / "run" / "centroids").glob("*.png"))
    assert files == [f"cluster-{number:02d}.png" for number in range(11)]


def test_pictures_of_any_number_of_channels_can_be_looked_at(tmp_path):
    from PIL import Image

    from dikmeans.runs.picture_file import write_picture

    modes = {}
    for channels in (2, 3, 5):
        write_picture(tmp_path / "x.png", np.random.default_rng(0).uniform(-1, 2, (6, 7, channels)))
        with Image.open(tmp_path / "x.png") as image:
            modes[channels] = image.mode, image.size
    assert modes == {2: ("L", (7, 6)), 3: ("RGB", (7, 6)), 5: ("L", (7, 6))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda info: info["input"].update(shape=5), r"run.json .*'shape' is '5'"),
        (
            lambda info: info["input"].update(limit=float("inf")),
            "does not say where the images come from",
        ),
        (lambda info: info["input"].update(limit="5"), "does not say where the images come from"),
        (lambda info: info.update(inertia=[]), r"'inertia' is"),
        (lambda info: info.update(sizes=3), r"'sizes' is '3'"),
        (lambda info: info.pop("sizes"), r"'sizes' is missing"),
    ],
)
def test_entries_of_the_wrong_kind_are_refused(made, tmp_path, change, message):
    _, _, write = made
    place = write(tmp_path / "run") / "run.json"
    info = json.loads(place.read_text())
    change(info)
    place.write_text(json.dumps(info))
    with pytest.raises(RunFolderError, match=message):
        open_run(tmp_path / "run")


@pytest.mark.usefixtures("too_large_to_keep")
def test_options_that_do_not_exist_are_refused_when_images_are_loaded(made, tmp_path):
    _, _, write = made
    place = write(tmp_path / "run") / "run.json"
    info = json.loads(place.read_text())
    info["input"]["options"] = {"sizes": 5}
    place.write_text(json.dumps(info))
    with pytest.raises(RunFolderError, match="cannot be read again"):
        open_run(tmp_path / "run").load_images()
