"""A fit that goes on from its checkpoint ends as if it had never been interrupted; any other is refused."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpointed_fits import FITS, content, make_model, pictures, weights
from safetensors import safe_open

from dikmeans import DIKMeans
from dikmeans.align import Adam, make_aligner
from dikmeans.cluster import CheckpointError, CheckpointWriteError, swaps
from dikmeans.cluster import checkpoint as checkpoint_module
from dikmeans.cluster.checkpoint import Checkpoint
from dikmeans.cluster.checkpoint_folder import FORMAT, LOCK, MANIFEST, CheckpointFolder
from dikmeans.cluster.memory import state_bytes
from dikmeans.cluster.population import Population
from dikmeans.cluster.progress import FitListener, listening
from dikmeans.cluster.task import Task
from dikmeans.tensor_file import TensorFileError, read_tensor_file, write_tensor_file

SOURCES = str(Path(__file__).parents[2] / "src")


@pytest.fixture(name="X", scope="module")
def ninety_digits():
    return pictures()


@pytest.fixture(autouse=True)
def fast_disk(request, monkeypatch):
    """What is flushed when has a test of its own; the others need not wait for the disk."""
    if "flushed" not in request.node.name:
        monkeypatch.setattr(os, "fsync", lambda _: None)


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def checkpoints_of(monkeypatch, model, X, folder: Path, **fit) -> list[Path]:
    """Fit with a checkpoint; a copy of every state its folder was in."""
    copies: list[Path] = []
    write = Checkpoint._write

    def write_and_copy(self, *args, **kwargs):
        write(self, *args, **kwargs)
        copies.append(folder.with_name(f"{folder.name}-{len(copies)}"))
        shutil.copytree(folder, copies[-1])

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "_write", write_and_copy)
        model.fit(X, checkpoint=folder, **fit)
    return copies


def begun(model, X, folder: Path, *, iterations: int = 3) -> Path:
    """A checkpoint of a fit that was stopped after some iterations."""

    class Stop(FitListener):
        left = iterations

        def iteration(self, iteration):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    with listening(model, Stop()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, checkpoint=folder)
    return folder


class Enough(Exception):  # noqa: N818 -- ends a fit, as a kill would
    pass


def next_checkpoint(monkeypatch, model, X, folder: Path, **fit) -> None:
    """Go on from a checkpoint until the next one is there."""
    write = Checkpoint._write

    def write_and_die(self, *args, **kwargs):
        write(self, *args, **kwargs)
        raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "_write", write_and_die)
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
    assert name != "tps" or (phases.count("after a swap") > 1 and {"search", "all images"} <= set(phases))
    copies = checkpoints_of(monkeypatch, make_model(name), X, tmp_path / "c", **fit)
    assert len(copies) >= 1 + len(phases) + make_model(name).n_init
    middle, last = copies[len(copies) // 2], copies[-1]
    shutil.copytree(middle, tmp_path / "middle")
    for here, after in pairwise(copies):
        next_checkpoint(monkeypatch, make_model(name), X, here, **fit)
        assert meaning(here) == meaning(after), here
    assert content(make_model(name).fit(X, checkpoint=tmp_path / "middle", **fit)) == expected
    assert content(make_model(name).fit(X, checkpoint=last, **fit)) == expected


def test_with_given_centroids_in_colour_and_double_precision_too(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.stack([np.repeat(pictures()[:40, :, :, None], 3, axis=3) * rng.uniform(0.2, 1, 3)][0], dtype=float)
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
    with pytest.raises(CheckpointError, match=r"random_state was 'a generator, about to draw \d+' and is"):
        make_model("none", random_state=np.random.RandomState(4)).fit(X, checkpoint=folder)


def test_threads_and_words_may_change_on_the_way(X, tmp_path):
    folder = begun(make_model(), X, tmp_path / "c")
    again = make_model(n_jobs=2).fit(X.reshape(90, 8, 8), checkpoint=str(folder))
    assert content(again) == content(make_model().fit(X))
    flat = make_model(image_shape=(8, 8)).fit(X.reshape(90, 64), checkpoint=folder)
    assert content(flat) == content(again)


def test_a_finished_fit_is_read_not_made_again(X, tmp_path, monkeypatch):
    expected = content(make_model("none").fit(X, checkpoint=tmp_path / "c"))
    before = listing(tmp_path / "c")
    monkeypatch.setattr(Task, "assign", lambda *_, **__: pytest.fail("it worked"))
    assert content(make_model("none").fit(X, checkpoint=tmp_path / "c")) == expected
    assert listing(tmp_path / "c") == before
    assert sorted(before) == sorted([LOCK, MANIFEST, next(n for n in before if n.startswith("best-"))])


def test_ctrl_c_keeps_the_best_so_far_and_the_checkpoint_goes_on(X, tmp_path):
    model = make_model()
    folder = begun(model, X, tmp_path / "c", iterations=5)
    assert model.history_.stopped == "interrupted"
    assert model.n_iter_ == 5
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    resumed = make_model()
    with listening(resumed, heard := Listening()):
        resumed.fit(X, checkpoint=folder)
    assert content(resumed) == content(make_model().fit(X))
    assert heard.resumed == 5


class Listening(FitListener):
    resumed = 0

    def resume(self, iterations):
        self.resumed = len(iterations)


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_clusters": 6}, lambda X: X, "n_clusters was 5 and is 6"),
        ({"random_state": 2}, lambda X: X, "random_state was 1 and is 2"),
        ({"tol": 1e-3}, lambda X: X, "tol was 0.0001 and is 0.001"),
        ({"solver": "adam"}, lambda X: X, "solver was 'quasi-newton' and is 'adam'"),
        ({"n_init": 3}, lambda X: X, "n_init was 2 and is 3"),
        ({"init": pictures()[:5]}, lambda X: X, "init was 'random' and is 'pictures"),
        (
            {"max_iter": 5, "warp": "affine"},
            lambda X: X,
            "max_iter was 4 and is 5; warp was 'tps'",
        ),
        ({}, lambda X: X[:80], "there were 90 images and are 80"),
        ({}, lambda X: X[::-1], "the images have other pixels"),
        ({}, lambda X: X.astype(float), "the images were float32 and are float64"),
        ({}, lambda X: X[:, :7], r"the images were of shape \(8, 8\) and are \(7, 8\)"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused_with_the_difference(X, tmp_path, parameters, data, message):
    folder = begun(make_model(), X, tmp_path / "c")
    before = listing(folder)
    model = make_model(**parameters)
    with pytest.raises(CheckpointError, match=f"checkpoint of another fit: .*{message}.*To go on with"):
        model.fit(data(X), checkpoint=folder)
    assert listing(folder) == before
    assert not hasattr(model, "labels_")


def test_other_weights_and_another_version_are_refused(X, tmp_path, monkeypatch):
    folder = begun(make_model(), X, tmp_path / "c")
    with pytest.raises(CheckpointError, match="the images have other weights"):
        make_model().fit(X, sample_weight=weights(), checkpoint=folder)
    monkeypatch.setattr("dikmeans.cluster.fingerprint.version", lambda _: "99.1")
    with pytest.raises(CheckpointError, match=r"it was dikmeans \d+\.\d+\.\d+ and is 99.1"):
        make_model().fit(X, checkpoint=folder)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


def rewrite(folder: Path, **changes) -> None:
    """The manifest with other entries, as something else than this library could write it."""
    header, tensors = read_tensor_file(folder / MANIFEST, FORMAT, 1, "checkpoint")
    write_tensor_file(folder / MANIFEST, FORMAT, header["version"], {**header, **changes}, tensors)


def state_of(folder: Path) -> Path:
    return next(folder.glob("state-*"))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda c: (c / MANIFEST).write_bytes(b"garbage"), "damaged or not a checkpoint"),
        (lambda c: (c / MANIFEST).write_bytes(b""), "damaged or not a checkpoint"),
        (lambda c: (c / MANIFEST).unlink(), "checkpoint.safetensors is missing"),
        (lambda c: os.truncate(c / MANIFEST, 9000), "damaged or not a checkpoint"),
        (lambda c: flip(c / MANIFEST, -1), "damaged: its content does not have the checksum"),
        (lambda c: rewrite(c, version=99), "has format version 99"),
        (lambda c: rewrite(c, format="dikmeans-model"), "but not a checkpoint of a fit"),
        (lambda c: rewrite(c, run={}), "is damaged: KeyError"),
        (lambda c: rewrite(c, seeds=[1]), "1 seeds for 2 runs"),
        (lambda c: rewrite(c, finished={"runs": 2, "iterations": 0, "best": None}), "names no best run"),
        (lambda c: rewrite(c, fingerprint=None), "is damaged: TypeError"),
        (lambda c: state_of(c).unlink(), r"a file is missing: There is no file .*state-"),
        (lambda c: state_of(c).write_bytes(b"x" * 100), r"state-\d+.safetensors is damaged"),
        (lambda c: flip(state_of(c), -7), r"state-\d+.safetensors is damaged: .* checksum"),
        (lambda c: shutil.copy(c / MANIFEST, state_of(c)), "but not a state of a fit"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_left_alone(X, tmp_path, harm, message):
    folder = begun(make_model(), X, tmp_path / "c")
    harm(folder)
    before = listing(folder)
    with pytest.raises(CheckpointError, match=message) as refused:
        make_model().fit(X, checkpoint=folder)
    assert str(folder) in str(refused.value)
    assert "To start anew, use another folder, or delete this one." in str(refused.value)
    assert listing(folder) == before


def test_the_state_of_other_images_is_refused(X, tmp_path):
    population = Population(X[:, None], np.ones(90))
    task = population.under(make_aligner((8, 8), warp="none"), unit_norm=False, n_jobs=1)
    names = population.write_state(task.assign(task.images[:3]), tmp_path, 7)
    again = population.read_state(tmp_path, names, task.images[:3])
    np.testing.assert_array_equal(again.fits.costs, task.assign(task.images[:3]).fits.costs)
    with pytest.raises(TensorFileError, match="does not hold the alignments of 90 images with 4"):
        population.read_state(tmp_path, names, task.images[:4])


@pytest.mark.parametrize("name", ["thesis.txt", "model.safetensors", "states", "lock.txt"])
def test_a_folder_that_is_no_checkpoint_is_refused_and_left_alone(X, tmp_path, name):
    (tmp_path / name).write_text("ten years of work")
    (tmp_path / "zzz").write_text("more")
    before = listing(tmp_path)
    with pytest.raises(CheckpointError, match=f"is not a checkpoint: it holds '{name}' and 1 more"):
        make_model("none").fit(X, checkpoint=tmp_path)
    assert listing(tmp_path) == before
    with pytest.raises(CheckpointError, match="is a file; a checkpoint is a folder"):
        make_model("none").fit(X, checkpoint=tmp_path / name)


def test_leftovers_of_a_killed_writer_are_deleted_and_nothing_else(X, tmp_path):
    folder = begun(make_model("none"), X, tmp_path / "c")
    leftovers = [
        f".{MANIFEST}.0123456789abcdef.part",
        ".state-000009.safetensors.0123456789abcdef.part",
        "state-000009.safetensors",
        "best-000009.safetensors",
    ]
    for name in [*leftovers, "notes.txt", ".other.part"]:
        (folder / name).write_text("?")
    make_model("none").fit(X, checkpoint=folder)
    left = set(listing(folder))
    assert not left & set(leftovers)
    assert {"notes.txt", ".other.part"} <= left


def test_a_folder_is_made_and_an_empty_or_hardly_begun_one_taken(X, tmp_path):
    begun(make_model("none"), X, tmp_path / "new" / "deeper")
    hardly = tmp_path / "hardly"
    hardly.mkdir()
    (hardly / LOCK).write_bytes(b"")
    (hardly / f".{MANIFEST}.0123456789abcdef.part").write_bytes(b"cut")
    make_model("none").fit(X, checkpoint=hardly)


def test_one_folder_serves_one_process_at_a_time(X, tmp_path):
    code = (
        "import sys\n"
        "from dikmeans.cluster.checkpoint_folder import CheckpointFolder\n"
        "with CheckpointFolder(sys.argv[1]):\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(CheckpointError, match="is in use: another process is fitting with it"):
            make_model("none").fit(X, checkpoint=tmp_path / "c")
        other.kill()  # the system lets go of the lock
    with CheckpointFolder(tmp_path / "c"), pytest.raises(CheckpointError, match="is in use"):
        make_model("none").fit(X, checkpoint=tmp_path / "c")
    make_model("none").fit(X, checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("number", "which"),
    [
        (errno.ENOSPC, "state-"),
        (errno.EDQUOT, "checkpoint"),
        (errno.EACCES, "state-"),
        (errno.ENOSPC, "best-"),
    ],
)
def test_a_failing_disk_leaves_the_checkpoint_before(X, tmp_path, monkeypatch, number, which):
    calls = {"left": 3 if which == "best-" else 6}

    def fail_later(path, *args):
        calls["left"] -= path.name.startswith("state-") and which != "best-"
        if path.name.startswith(which) and (calls["left"] <= 0 or which == "best-"):
            raise OSError(number, os.strerror(number))
        write_tensor_file(path, *args)

    monkeypatch.setattr("dikmeans.cluster.state_file.write_tensor_file", fail_later)
    monkeypatch.setattr("dikmeans.cluster.checkpoint_folder.write_tensor_file", fail_later)
    monkeypatch.setattr(checkpoint_module, "write_tensor_file", fail_later)
    folder = tmp_path / "c"
    with pytest.raises(CheckpointWriteError) as failed:
        make_model().fit(X, checkpoint=folder)
    assert failed.value.errno == number
    assert isinstance(failed.value, OSError)
    text = str(failed.value)
    assert f"The checkpoint {folder} could not be written: {os.strerror(number)}." in text
    last = {"state-": "run 1, iteration 5", "checkpoint": "run 1, iteration 5", "best-": "run 1, iteration "}
    assert f"The one before, of {last[which]}" in text
    assert len(listing(folder)) == 3  # lock, manifest, one state: the room of what was cut short is free
    monkeypatch.undo()
    assert content(make_model().fit(X, checkpoint=folder)) == content(make_model().fit(X))


def test_a_place_where_nothing_can_be_made_is_said_before_the_work(X, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Task, "assign", lambda *_, **__: pytest.fail("it worked"))
    with pytest.raises(CheckpointWriteError, match=r"no checkpoint in .*file/c: Not a directory"):
        make_model("none").fit(X, checkpoint=tmp_path / "file" / "c")


FULL_DISK = """
import json, resource, signal, sys
from checkpointed_fits import make_model, pictures
from dikmeans.cluster import CheckpointWriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    make_model(**json.loads(sys.argv[3])).fit(pictures(), checkpoint=folder)
except CheckpointWriteError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_limit_on_the_size_of_files_is_met_in_the_middle_of_writing(X, tmp_path):
    # the search works on 70 images, the last step on all 90: its state is the first that is too large
    limit = state_bytes(80, n_clusters=5, n_basis=9)
    folder = tmp_path / "c"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(folder), str(limit), json.dumps({"n_swaps": 0})],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, str(Path(__file__).parent)])},
    )
    assert f"The checkpoint {folder} could not be written: File too large." in done.stdout, done
    assert "The one before, of run 1, iteration" in done.stdout
    assert max(path.stat().st_size for path in folder.iterdir()) <= limit
    assert not list(folder.glob("*.part"))
    assert not list(folder.glob(".*.part"))
    assert content(make_model(n_swaps=0).fit(X, checkpoint=folder)) == content(make_model(n_swaps=0).fit(X))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a megabyte, where one may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if not sys.platform.startswith("linux") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_and_with_more_room_the_fit_goes_on(X, small_disk):
    folder = begun(make_model(), X, small_disk / "c", iterations=4)
    before = listing(folder)
    with open(small_disk / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(4096)):
            pass
    with pytest.raises(CheckpointWriteError, match=r"No space left on device\. The one before, of run 1, it"):
        make_model().fit(X, checkpoint=folder)
    assert listing(folder) == before
    (small_disk / "ballast").unlink()
    assert content(make_model().fit(X, checkpoint=folder)) == content(make_model().fit(X))


def test_no_checkpoint_no_files(X, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_model("none").fit(X)
    assert list(tmp_path.iterdir()) == []


def test_a_solver_of_the_users_own_cannot_be_put_down(X, tmp_path):
    class Mine(Adam):
        pass

    with pytest.raises(ValueError, match="cannot be saved"):
        DIKMeans(2, solver=Mine(), max_iter=1).fit(X[:20], checkpoint=tmp_path / "c")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which file a number is")
def test_files_are_flushed_before_the_manifest_names_them_and_deleted_after(X, tmp_path, monkeypatch):
    """What a power cut leaves: at every moment, a manifest on the disk whose files are on the disk."""
    folder, flushed, on_disk = tmp_path / "c", set(), set()
    fsync, replace, unlink = os.fsync, os.replace, Path.unlink
    seen = {"manifests": 0}

    def see_fsync(handle):
        fsync(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path == folder:
            on_disk.update(entry.name for entry in folder.iterdir() if entry.name in flushed)
        else:
            flushed.add(path.name)

    def see_replace(source, target):
        assert Path(source).name in flushed, "a file gets its name before its content is on the disk"
        if Path(target).name == MANIFEST:
            header, _ = read_tensor_file(Path(source), FORMAT, 1, "checkpoint")
            named = [*(header["run"] or {"states": []})["states"], header["finished"]["best"]]
            assert {name for name in named if name} <= on_disk
            seen["manifests"] += 1
        flushed.add(Path(target).name)
        replace(source, target)

    def see_unlink(path, **options):
        if MANIFEST in on_disk and path.name.startswith(("state-", "best-")):
            header, _ = read_tensor_file(folder / MANIFEST, FORMAT, 1, "checkpoint")
            assert path.name not in json.dumps(header)
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", see_fsync)
    monkeypatch.setattr(os, "replace", see_replace)
    monkeypatch.setattr(Path, "unlink", see_unlink)
    model = make_model("none").fit(X, checkpoint=folder)
    assert seen["manifests"] > model.n_iter_
