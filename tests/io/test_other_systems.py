"""What Windows does differently, by doubles of it: open files, renames, flushing, text mode."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dikmeans.checkpoint.folder import LOCK, CheckpointFolder
from dikmeans.io import atomic
from dikmeans.io.atomic import atomic_folder, atomic_write
from dikmeans.runs.export import folder_name


@pytest.fixture
def windows(monkeypatch) -> list[float]:
    """`io.atomic` believes to be on Windows; returns the pauses that it makes."""
    pauses: list[float] = []
    monkeypatch.setattr(atomic, "_is_windows", lambda: True)
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    monkeypatch.setattr(atomic.time, "sleep", pauses.append)
    return pauses


def fail_at_first(times: int, function):
    """`function`, but as if another program had the file open at the first calls."""
    calls = iter(range(times))

    def call(source, target):
        if next(calls, None) is not None:
            raise PermissionError(13, "The process cannot access the file", str(target))
        return function(source, target)

    return call


def test_a_file_that_a_scanner_has_open_for_a_moment_is_replaced_all_the_same(
    tmp_path, windows, monkeypatch
):
    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(atomic.os, "replace", fail_at_first(3, os.replace))
    with atomic_write(tmp_path / "file") as stream:
        stream.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert windows == list(atomic.PAUSES[:3])


def test_a_file_that_stays_open_is_an_error_and_what_was_there_stays(
    tmp_path, windows, monkeypatch
):
    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(atomic.os, "replace", fail_at_first(100, os.replace))
    with pytest.raises(PermissionError), atomic_write(tmp_path / "file") as stream:
        stream.write(b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_elsewhere_a_refused_rename_is_an_error_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.os, "replace", fail_at_first(1, os.replace))
    with pytest.raises(PermissionError), atomic_write(tmp_path / "file") as stream:
        stream.write(b"new")


def test_an_empty_folder_is_taken_over_where_a_rename_does_not_replace_it(
    tmp_path, windows, monkeypatch
):
    rename = os.rename

    def rename_as_on_windows(source, target):
        if os.path.exists(target):
            raise FileExistsError(17, "Cannot create a file when it already exists", str(target))
        rename(source, target)

    monkeypatch.setattr(atomic.os, "rename", rename_as_on_windows)
    (tmp_path / "place").mkdir()
    for text in ("first", "second"):
        with atomic_folder(tmp_path / "place", replace=True) as folder:
            (folder / "file").write_text(text)
        assert (tmp_path / "place" / "file").read_text() == text
    assert os.listdir(tmp_path) == ["place"]


def test_only_files_that_may_be_written_to_are_flushed_and_no_folders(
    tmp_path, windows, monkeypatch
):
    flags: dict[int, int] = {}
    opened, flushed, fsync = os.open, [], os.fsync

    def open_file(path, mode, *rest, **options):
        assert not os.path.isdir(path)
        handle = opened(path, mode, *rest, **options)
        flags[handle] = mode
        return handle

    def flush(handle):
        if flags.get(handle, os.O_RDWR) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(9, "Bad file descriptor")
        flushed.append(handle)
        fsync(handle)

    monkeypatch.setattr(atomic.os, "open", open_file)
    monkeypatch.setattr(atomic.os, "fsync", flush)
    with atomic_folder(tmp_path / "place") as folder:
        (folder / "file").write_text("text")
    assert len(flushed) == 1


def test_a_checkpoint_is_discarded_where_an_open_lock_cannot_be_deleted(tmp_path, monkeypatch):
    unlink = Path.unlink
    with CheckpointFolder(tmp_path / "fit.checkpoint") as folder:

        def refuse_open(path, missing_ok=False):
            if path.name == LOCK and folder._lock is not None:
                raise PermissionError(32, "The file is used by another process", str(path))
            unlink(path, missing_ok=missing_ok)

        monkeypatch.setattr(Path, "unlink", refuse_open)
        folder.discard()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "lpt9.txt", "Aux.tar.gz"])
def test_no_folder_has_the_name_of_a_device(name):
    assert folder_name(name) == f"_{name}"
    assert folder_name(f"{name}x") == f"{name}x" or "." in name


def test_no_folder_ends_in_what_windows_drops():
    assert folder_name("sevens. . ") == "sevens"


def test_a_port_is_never_shared_with_another_program(monkeypatch):
    pytest.importorskip("uvicorn")
    from dikmeans.studio.server import PortTakenError, listen

    with listen(0) as first, pytest.raises(PortTakenError):
        listen(first.getsockname()[1])

    options = []

    class Recorder(socket.socket):
        def setsockopt(self, *arguments):
            options.append(arguments[1])

    monkeypatch.setattr(socket, "socket", Recorder)
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)  # as Windows has it
    listen(0).close()
    assert options == [-5]
