"""The folder of a checkpoint: whose it is, how it is written, what a failing disk leaves."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dikmeans.checkpoint.folder import (
    FORMAT,
    LOCK,
    MANIFEST,
    VERSION,
    CheckpointError,
    CheckpointFolder,
    CheckpointProblem,
    CheckpointWriteError,
)
from dikmeans.io.tensor_file import read_tensor_file, write_tensor_file
from dikmeans.kmeans.dataset import Dataset
from dikmeans.monitoring.memory import fits_bytes
from tests.checkpoint.checkpointed_fits import begun, content, listing, make_model

pytestmark = pytest.mark.usefixtures("fast_disk")

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


@pytest.mark.parametrize("name", ["thesis.txt", "model.safetensors", "fits", "lock.txt"])
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
        ".fits-000009-000000.safetensors.0123456789abcdef.part",
        "fits-000009-000000.safetensors",
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
        "from dikmeans.checkpoint.folder import CheckpointFolder\n"
        "with CheckpointFolder(sys.argv[1]):\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
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
        (errno.ENOSPC, "fits-"),
        (errno.EDQUOT, "checkpoint"),
        (errno.EACCES, "fits-"),
        (errno.ENOSPC, "best-"),
    ],
)
def test_a_failing_disk_leaves_the_checkpoint_before(X, tmp_path, monkeypatch, number, which):
    calls = {"left": 3 if which == "best-" else 6}

    def fail_later(path, *args):
        calls["left"] -= path.name.startswith("fits-") and which != "best-"
        if path.name.startswith(which) and (calls["left"] <= 0 or which == "best-"):
            raise OSError(number, os.strerror(number))
        write_tensor_file(path, *args)

    monkeypatch.setattr("dikmeans.kmeans.shard.write_tensor_file", fail_later)
    monkeypatch.setattr("dikmeans.checkpoint.folder.write_tensor_file", fail_later)
    monkeypatch.setattr("dikmeans.checkpoint.store.write_tensor_file", fail_later)
    folder = tmp_path / "c"
    with pytest.raises(CheckpointWriteError) as failed:
        make_model().fit(X, checkpoint=folder)
    assert failed.value.errno == number
    assert isinstance(failed.value, OSError)
    text = str(failed.value)
    assert f"The checkpoint {folder} could not be written: {os.strerror(number)}." in text
    last = {
        "fits-": "run 1, iteration 5",
        "checkpoint": "run 1, iteration 5",
        "best-": "run 1, iteration ",
    }
    assert f"The one before, at {last[which]}" in text
    assert (
        len(listing(folder)) == 3
    )  # lock, manifest, one state: the room of what was cut short is free
    monkeypatch.undo()
    assert content(make_model().fit(X, checkpoint=folder)) == content(make_model().fit(X))


def test_an_error_tells_its_facts_as_fields(X, tmp_path):
    folder = begun(make_model("none"), X, tmp_path / "c")
    with pytest.raises(CheckpointError) as caught:
        make_model("none", n_clusters=4).fit(X, checkpoint=folder)
    assert caught.value.path == folder
    assert caught.value.problem is CheckpointProblem.OTHER_FIT
    assert "n_clusters was 5 and is 4" in caught.value.reason
    with CheckpointFolder(folder), pytest.raises(CheckpointError) as caught:
        make_model("none").fit(X, checkpoint=folder)
    assert caught.value.problem is CheckpointProblem.IN_USE
    (folder / MANIFEST).write_bytes(b"?")
    with pytest.raises(CheckpointError) as caught:
        make_model("none").fit(X, checkpoint=folder)
    assert caught.value.problem is CheckpointProblem.DAMAGED


def test_a_checkpoint_is_discarded_with_its_folder_unless_something_else_is_in_it(X, tmp_path):
    for name in ("alone", "shared"):
        folder = begun(make_model("none"), X, tmp_path / name)
        if name == "shared":
            (folder / "notes.txt").write_text("mine")
        with CheckpointFolder(folder) as entered:
            entered.discard()
    assert not (tmp_path / "alone").exists()
    assert list(listing(tmp_path / "shared")) == ["notes.txt"]


def test_a_place_where_nothing_can_be_made_is_said_before_the_work(X, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Dataset, "assign", lambda *_, **__: pytest.fail("it worked"))
    with pytest.raises(CheckpointWriteError, match=r"file/c could not be written: Not a directory"):
        make_model("none").fit(X, checkpoint=tmp_path / "file" / "c")


FULL_DISK = """
import json, resource, signal, sys
from dikmeans.checkpoint.folder import CheckpointWriteError
from tests.checkpoint.checkpointed_fits import make_model, pictures
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
    # the search works on 70 images, the last step on all 90: its file is the first that is too
    # large
    limit = fits_bytes(80, n_clusters=5, n_basis=9)
    folder = tmp_path / "c"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            FULL_DISK,
            str(folder),
            str(limit),
            json.dumps({"search__n_swaps": 0}),
        ],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert f"The checkpoint {folder} could not be written: File too large." in done.stdout, done
    assert "The one before, at run 1, iteration" in done.stdout
    assert max(path.stat().st_size for path in folder.iterdir()) <= limit
    assert not list(folder.glob("*.part"))
    assert not list(folder.glob(".*.part"))
    assert content(make_model(search__n_swaps=0).fit(X, checkpoint=folder)) == content(
        make_model(search__n_swaps=0).fit(X)
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a megabyte, where one may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if (
        not sys.platform.startswith("linux")
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("may not mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_and_with_more_room_the_fit_goes_on(X, small_disk):
    folder = begun(make_model(), X, small_disk / "c", iterations=4)
    before = listing(folder)
    with open(small_disk / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(4096)):
            pass
    with pytest.raises(
        CheckpointWriteError, match=r"No space left on device\. The one before, at run 1, it"
    ):
        make_model().fit(X, checkpoint=folder)
    assert listing(folder) == before
    (small_disk / "ballast").unlink()
    assert content(make_model().fit(X, checkpoint=folder)) == content(make_model().fit(X))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which file a number is")
def test_files_are_flushed_before_the_manifest_names_them_and_deleted_after(
    X, tmp_path, monkeypatch
):
    """At every moment there is a manifest on the disk whose files are on the disk."""
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
        assert Path(source).name in flushed, (
            "a file gets its name before its content is on the disk"
        )
        if Path(target).name == MANIFEST:
            header, _ = read_tensor_file(Path(source), FORMAT, VERSION, "checkpoint")
            named = [*(header["run"] or {"fits": []})["fits"], header["finished"]["best"]]
            assert {name for name in named if name} <= on_disk
            seen["manifests"] += 1
        flushed.add(Path(target).name)
        replace(source, target)

    def see_unlink(path, **options):
        if MANIFEST in on_disk and path.name.startswith(("fits-", "best-")):
            header, _ = read_tensor_file(folder / MANIFEST, FORMAT, VERSION, "checkpoint")
            assert path.name not in json.dumps(header)
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", see_fsync)
    monkeypatch.setattr(os, "replace", see_replace)
    monkeypatch.setattr(Path, "unlink", see_unlink)
    model = make_model("none").fit(X, checkpoint=folder)
    assert seen["manifests"] > len(model.history_.iterations)
