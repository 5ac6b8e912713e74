"""The cache of derived arrays writes files that are whole or absent."""

from __future__ import annotations

import os

import numpy as np
import pytest

from dikmeans.datasets.files.derived import derived_array
from dikmeans.datasets.files.paths import user_cache
from dikmeans.io.atomic import atomic_write

ARRAY = np.arange(6, dtype=np.uint8).reshape(2, 3)


def test_an_array_is_computed_once_for_the_same_dependencies():
    calls = []

    def compute():
        calls.append(1)
        return ARRAY

    for version in (1, 1, 2):
        result = derived_array("array", {"version": version}, compute, ARRAY.shape)
        np.testing.assert_array_equal(result, ARRAY)
    assert len(calls) == 2


def test_an_interrupted_computation_leaves_nothing_in_the_cache():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        derived_array("array", {}, interrupted, ARRAY.shape)
    assert not list(user_cache().rglob("*.npy"))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, interruption):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half():
        with atomic_write(path) as stream:
            stream.write(b"half of the n")
            stream.flush()
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_finished_write_replaces_the_old_file(tmp_path):
    path = tmp_path / "new" / "file"
    for content in (b"first", b"second"):
        with atomic_write(path) as stream:
            stream.write(content)
        assert path.read_bytes() == content
