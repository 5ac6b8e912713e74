"""Folders that are whole or absent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dikmeans.io import atomic
from dikmeans.io.atomic import atomic_folder, check_can_make, remove_leftovers


def fill(folder, text: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(text)


def content(path) -> str:
    return (path / "inner" / "file").read_text()


def test_a_folder_appears_with_all_that_is_in_it(tmp_path):
    with atomic_folder(tmp_path / "above" / "place") as folder:
        fill(folder, "new")
        assert not (tmp_path / "above" / "place").exists()
    assert content(tmp_path / "above" / "place") == "new"
    assert os.listdir(tmp_path / "above") == ["place"]


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_replaced_as_a_whole(tmp_path, monkeypatch, exchange):
    if not exchange:  # as on systems that cannot swap names
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    for text in ("old", "new"):
        with atomic_folder(tmp_path / "place", replace=True) as folder:
            fill(folder, text)
    assert content(tmp_path / "place") == "new"
    assert os.listdir(tmp_path) == ["place"]


def test_whatever_goes_wrong_what_was_there_stays(tmp_path):
    with atomic_folder(tmp_path / "place") as folder:
        fill(folder, "old")

    def run_out_of_space() -> None:
        with atomic_folder(tmp_path / "place", replace=True) as folder:
            fill(folder, "new")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        run_out_of_space()
    assert content(tmp_path / "place") == "old"
    assert os.listdir(tmp_path) == ["place"]


def test_if_the_new_folder_cannot_take_its_place_the_old_one_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    with atomic_folder(tmp_path / "place") as folder:
        fill(folder, "old")
    rename = os.rename

    def fail_for_the_new_one(source, target):
        if str(source).endswith(".part"):
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_for_the_new_one)
    with (
        pytest.raises(OSError, match="no"),
        atomic_folder(tmp_path / "place", replace=True) as folder,
    ):
        fill(folder, "new")
    assert content(tmp_path / "place") == "old"
    assert os.listdir(tmp_path) == ["place"]


def test_without_leave_nothing_is_replaced_but_an_empty_folder(tmp_path):
    (tmp_path / "place").mkdir()
    with atomic_folder(tmp_path / "place") as folder:
        fill(folder, "old")
    with pytest.raises(FileExistsError), atomic_folder(tmp_path / "place") as folder:
        fill(folder, "new")
    assert content(tmp_path / "place") == "old"


def test_whether_a_folder_can_be_made_is_known_beforehand(tmp_path):
    check_can_make(tmp_path / "place")
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        check_can_make(tmp_path / "file" / "place")


FILL_AND_WAIT = """
import sys, time
from pathlib import Path
from dikmeans.io.atomic import atomic_folder
with atomic_folder(Path(sys.argv[1])) as folder:
    (folder / "half").write_bytes(b"half")
    print("filling", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_what_a_killed_program_leaves_is_removed_but_not_what_is_being_filled(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-c", FILL_AND_WAIT, str(tmp_path / "place")], stdout=subprocess.PIPE
    )
    assert program.stdout.readline() == b"filling\n"
    (begun,) = tmp_path.iterdir()
    foreign = tmp_path / ".other.0123456789abcdef.part"
    foreign.mkdir()
    try:
        assert remove_leftovers(tmp_path, lambda name: name == "place") == []
        with atomic_folder(tmp_path / "place") as folder:  # another one, at the same time
            (folder / "whole").write_bytes(b"whole")
        assert (begun / "half").exists()
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    assert remove_leftovers(tmp_path, lambda name: name == "place") == [begun]
    assert sorted(path.name for path in tmp_path.iterdir()) == [foreign.name, "place"]


def test_the_next_folder_for_the_same_place_removes_leftovers(tmp_path):
    (tmp_path / ".place.0123456789abcdef.part").mkdir()
    (tmp_path / ".place.notes.part").mkdir()  # not ours
    with atomic_folder(tmp_path / "place"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".place.notes.part", "place"]
