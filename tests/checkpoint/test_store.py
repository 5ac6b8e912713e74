"""A fit continued from its checkpoint ends as if it had never been interrupted."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.base import clone

from dikmeans.checkpoint import store
from dikmeans.checkpoint.folder import FORMAT, LOCK, MANIFEST, VERSION, CheckpointError
from dikmeans.checkpoint.store import FolderStore
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file
from dikmeans.kmeans import swaps
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.registration import Adam, QuasiNewton
from tests.checkpoint.checkpointed_fits import (
    FITS,
    begun,
    content,
    listing,
    make_model,
    pictures,
    weights,
)
from tests.helpers import build_measure

pytestmark = pytest.mark.usefixtures("fast_disk")


def checkpoints_of(monkeypatch, model, X, folder: Path, **fit) -> list[Path]:
    """Fit with a checkpoint; returns a copy of every state its folder was in."""
    copies: list[Path] = []
    write = FolderStore._write

    def write_and_copy(self, *args, **kwargs):
        write(self, *args, **kwargs)
        copies.append(folder.with_name(f"{folder.name}-{len(copies)}"))
        shutil.copytree(folder, copies[-1])

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "_write", write_and_copy)
        model.fit(X, checkpoint=folder, **fit)
    return copies


class Enough(Exception):  # noqa: N818 -- ends a fit, as a kill would
    pass


def next_checkpoint(monkeypatch, model, X, folder: Path, **fit) -> None:
    """Continue from a checkpoint until the next one is written."""
    write = FolderStore._write

    def write_and_die(self, *args, **kwargs):
        write(self, *args, **kwargs)
        raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "_write", write_and_die)
        with pytest.raises(Enough):
            model.fit(X, checkpoint=folder, **fit)


def without_seconds(record):
    """What JSON has read, without the entries that differ from fit to fit."""
    if isinstance(record, dict):
        return {name: without_seconds(value) for name, value in record.items() if name != "seconds"}
    return [without_seconds(value) for value in record] if isinstance(record, list) else record


def meaning(folder: Path) -> dict[str, Any]:
    """All that is in a checkpoint, but for seconds."""
    found: dict[str, Any] = {}
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            found[path.name] = without_seconds(json.loads(file.metadata()["dikmeans"]))
            for name in file.keys():  # noqa: SIM118 -- no mapping
                tensor = file.get_tensor(name)
                found[path.name, name] = tensor.dtype.name, tensor.shape, tensor.tobytes()
    return found


@pytest.mark.parametrize("name", FITS)
def test_from_every_checkpoint_the_next_one_follows_to_the_last_bit(name, X, tmp_path, monkeypatch):
    monkeypatch.setattr(swaps, "TRIAL_ITERATIONS", 1)  # more is left to settle after a swap
    fit = {"sample_weight": weights()} if name == "affine" else {}
    expected = content(make_model(name).fit(X, **fit))
    phases = [phase for phase, *_ in expected["history"]]
    if name == "tps":
        assert phases.count(PhaseKind.SWAPS.value) > 1
        assert {"search", "shared prior", "relearning", "all images"} <= set(phases)
    copies = checkpoints_of(monkeypatch, make_model(name), X, tmp_path / "c", **fit)
    assert len(copies) >= 1 + len(phases) + make_model(name).n_init
    middle, last = copies[len(copies) // 2], copies[-1]
    shutil.copytree(middle, tmp_path / "middle")
    for before, after in pairwise(copies):
        next_checkpoint(monkeypatch, make_model(name), X, before, **fit)
        assert meaning(before) == meaning(after), before
    assert content(make_model(name).fit(X, checkpoint=tmp_path / "middle", **fit)) == expected
    assert content(make_model(name).fit(X, checkpoint=last, **fit)) == expected


def test_with_given_centroids_in_color_and_double_precision_too(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.stack(
        [np.repeat(pictures()[:40, :, :, None], 3, axis=3) * rng.uniform(0.2, 1, 3)][0], dtype=float
    )
    parameters = {"init": X[:3], "n_clusters": 3}
    expected = content(make_model(**parameters).fit(X))
    for copy in checkpoints_of(monkeypatch, make_model(**parameters), X, tmp_path / "c"):
        assert content(make_model(**parameters).fit(X, checkpoint=copy)) == expected


def test_without_a_seed_the_seeds_of_the_checkpoint_are_used(X, tmp_path, monkeypatch):
    model = make_model("none", random_state=None)
    first, *_, last = checkpoints_of(monkeypatch, model, X, tmp_path / "c")
    for copy in (first, last):
        again = make_model("none", random_state=None).fit(X, checkpoint=copy)
        assert content(again) == content(model)


def test_a_generator_is_told_from_others_by_what_it_draws(X, tmp_path):
    folder = begun(make_model("none", random_state=np.random.RandomState(3)), X, tmp_path / "c")
    make_model("none", random_state=np.random.RandomState(3)).fit(X, checkpoint=folder)
    with pytest.raises(
        CheckpointError, match=r"random_state was 'a generator, about to draw \d+' and is"
    ):
        make_model("none", random_state=np.random.RandomState(4)).fit(X, checkpoint=folder)


def test_threads_and_words_may_change_on_the_way(X, tmp_path):
    folder = begun(make_model(), X, tmp_path / "c")
    again = make_model(n_jobs=2).fit(X.reshape(90, 8, 8), checkpoint=str(folder))
    assert content(again) == content(make_model().fit(X))
    flat = make_model(image_shape=(8, 8)).fit(X.reshape(90, 64), checkpoint=folder)
    assert content(flat) == content(again)


@pytest.mark.parametrize(("seconds_to_write", "least_kept"), [(0.1, 1.0), (2.0, 0.0)])
def test_what_takes_long_to_write_is_kept_less_often(
    X, tmp_path, monkeypatch, seconds_to_write, least_kept
):
    """The clock stands still but for writing, and ten seconds between two states."""
    clock, write, written, saved = [0.0], FolderStore._write, [], []
    save = FolderStore.save

    def slow_write(self, *args, **kwargs):
        write(self, *args, **kwargs)
        clock[0] += seconds_to_write
        written.append(clock[0])

    def timed_save(self, *args, **kwargs):
        clock[0] += 10.0
        save(self, *args, **kwargs)
        saved.append(clock[0])

    monkeypatch.setattr(store, "QUICK", 0.5)
    monkeypatch.setattr(store.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(FolderStore, "_write", slow_write)
    monkeypatch.setattr(FolderStore, "save", timed_save)
    model = make_model().fit(X, checkpoint=tmp_path / "c")
    kept = [when for when in saved if when in written]
    assert len(kept) >= max(2, least_kept * len(saved))
    if least_kept < 1:
        assert np.diff(kept).min() >= store.PATIENCE * seconds_to_write
    assert content(make_model().fit(X, checkpoint=tmp_path / "c")) == content(model)


def test_a_finished_fit_is_read_not_made_again(X, tmp_path, monkeypatch):
    expected = content(make_model("none").fit(X, checkpoint=tmp_path / "c"))
    before = listing(tmp_path / "c")
    monkeypatch.setattr(Dataset, "assign", lambda *_, **__: pytest.fail("it worked"))
    assert content(make_model("none").fit(X, checkpoint=tmp_path / "c")) == expected
    assert listing(tmp_path / "c") == before
    assert sorted(before) == sorted(
        [LOCK, MANIFEST, next(n for n in before if n.startswith("best-"))]
    )


def test_ctrl_c_keeps_the_best_so_far_and_the_checkpoint_goes_on(X, tmp_path):
    model = make_model()
    folder = begun(model, X, tmp_path / "c", iterations=5)
    assert model.history_.stopped == "interrupted"
    assert len(model.history_.iterations) == 5
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    events = []
    resumed = make_model().fit(X, checkpoint=folder, progress=events.append)
    assert content(resumed) == content(make_model().fit(X))
    assert [event.resumed for event in events] == [True] + [False] * (len(events) - 1)
    assert len(events[0].history) == 5
    assert events[0].record is None
    assert [record.inertia for record in events[0].history] == model.history_.inertia


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_clusters": 6}, lambda X: X, "n_clusters was 5 and is 6"),
        ({"random_state": 2}, lambda X: X, "random_state was 4 and is 2"),
        ({"search__tol": 1e-3}, lambda X: X, "'tol': 0.0001.* and is .*'tol': 0.001"),
        ({"solver": "adam"}, lambda X: X, "solver was 'quasi-newton' and is 'adam'"),
        ({"n_init": 3}, lambda X: X, "n_init was 2 and is 3"),
        ({"init": pictures()[:5]}, lambda X: X, "init was 'random' and is 'pictures"),
        (
            {"max_iter": 5, "search__max_iter": 4, "warp": "affine"},
            lambda X: X,
            "max_iter was 4 and is 5; warp was 'tps'",
        ),
        ({}, lambda X: X[:80], "there were 90 images and are 80"),
        ({}, lambda X: X[::-1], "the images have other pixels"),
        ({}, lambda X: X.astype(float), "the images were float32 and are float64"),
        ({}, lambda X: X[:, :7], r"the images were of shape \(8, 8\) and are \(7, 8\)"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused_with_the_difference(
    X, tmp_path, parameters, data, message
):
    folder = begun(make_model(), X, tmp_path / "c")
    before = listing(folder)
    model = make_model(**parameters)
    with pytest.raises(
        CheckpointError, match=f"checkpoint of another fit: .*{message}.*To continue it"
    ):
        model.fit(data(X), checkpoint=folder)
    assert listing(folder) == before
    assert not hasattr(model, "labels_")


def test_other_weights_and_another_version_are_refused(X, tmp_path, monkeypatch):
    folder = begun(make_model(), X, tmp_path / "c")
    with pytest.raises(CheckpointError, match="the images have other weights"):
        make_model().fit(X, sample_weight=weights(), checkpoint=folder)
    monkeypatch.setattr("dikmeans.checkpoint.fingerprint.version", lambda _: "99.1")
    with pytest.raises(CheckpointError, match=r"it was dikmeans \d+\.\d+\.\d+ and is 99.1"):
        make_model().fit(X, checkpoint=folder)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


def rewrite(folder: Path, **changes) -> None:
    """The manifest with other entries, as something else than this library could write it."""
    header, tensors = read_tensor_file(folder / MANIFEST, FORMAT, VERSION, "checkpoint")
    write_tensor_file(folder / MANIFEST, FORMAT, header["version"], {**header, **changes}, tensors)


def fits_of(folder: Path) -> Path:
    return next(folder.glob("fits-*"))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda c: (c / MANIFEST).write_bytes(b"garbage"), "damaged, or not a checkpoint"),
        (lambda c: (c / MANIFEST).write_bytes(b""), "damaged, or not a checkpoint"),
        (lambda c: (c / MANIFEST).unlink(), "checkpoint.safetensors is missing"),
        (lambda c: os.truncate(c / MANIFEST, 9000), "damaged, or not a checkpoint"),
        (lambda c: flip(c / MANIFEST, -1), "damaged: its content does not have the checksum"),
        (lambda c: rewrite(c, version=99), "has format version 99"),
        (lambda c: rewrite(c, format="dikmeans-model"), "but not a checkpoint of a fit"),
        (lambda c: rewrite(c, run={}), "is a damaged checkpoint: KeyError"),
        (lambda c: rewrite(c, seeds=[1]), "1 seeds for 2 runs"),
        (
            lambda c: rewrite(c, finished={"runs": 2, "iterations": 0, "best": None}),
            "names no best run",
        ),
        (lambda c: rewrite(c, fingerprint=None), "is a damaged checkpoint: TypeError"),
        (lambda c: fits_of(c).unlink(), r"a file is missing: There is no file .*fits-"),
        (lambda c: fits_of(c).write_bytes(b"x" * 100), r"fits-[\d-]+.safetensors: damaged"),
        (lambda c: flip(fits_of(c), -7), r"fits-[\d-]+.safetensors: damaged: .* checksum"),
        (lambda c: shutil.copy(c / MANIFEST, fits_of(c)), "but not a state of a fit"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_left_alone(X, tmp_path, harm, message):
    folder = begun(make_model(), X, tmp_path / "c")
    harm(folder)
    before = listing(folder)
    with pytest.raises(CheckpointError, match=message) as refused:
        make_model().fit(X, checkpoint=folder)
    assert str(folder) in str(refused.value)
    assert "To start again, use another folder, or delete this one." in str(refused.value)
    assert listing(folder) == before


def test_the_alignments_of_other_images_are_refused(X, tmp_path):
    dataset, measure = (
        Dataset.in_memory(X[:, None].astype(float)),
        build_measure((8, 8), warp="none"),
    )
    first = X[:4, None].astype(float)
    clustering = dataset.assign(measure, first[:3])
    names = dataset.write_fits(clustering, tmp_path, 7)
    again = dataset.read_clustering(tmp_path, names, first[:3])
    assert again.inertia == clustering.inertia
    np.testing.assert_array_equal(again.fits[0].costs, clustering.fits[0].costs)
    with pytest.raises(TensorFileError, match="does not hold the alignments of 90 images with 4"):
        dataset.read_clustering(tmp_path, names, first)


def test_no_checkpoint_no_files(X, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_model("none").fit(X)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("solver", [QuasiNewton(evaluations=5), Adam(steps=5)])
def test_a_solver_with_its_own_parameters_is_part_of_the_fit(X, tmp_path, solver):
    folder = begun(make_model("affine", solver=solver), X, tmp_path / "c")
    resumed = make_model("affine", solver=clone(solver)).fit(X, checkpoint=folder)
    assert content(resumed) == content(make_model("affine", solver=solver).fit(X))
    other = clone(solver).set_params(
        **dict.fromkeys({"steps", "evaluations"} & vars(solver).keys(), 6)
    )
    with pytest.raises(CheckpointError, match=r"solver was .*: 5.* and is .*: 6"):
        make_model("affine", solver=other).fit(X, checkpoint=folder)
