"""Small real pictures, in small shards."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from dikmeans import estimator


@pytest.fixture(scope="session")
def pictures(tiny_digits) -> np.ndarray:
    """240 real digits of 8 x 8 pixels, float32."""
    return tiny_digits[0][:240]


@pytest.fixture
def small_shards(monkeypatch) -> None:
    """A local shard takes 70 images."""
    monkeypatch.setattr(estimator, "images_per_shard", lambda *_: 70)


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """The folder for temporary files, empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def on_disk(tmp_path):
    """Puts an array into a file, and gives it back as a memory map."""

    def write(array: np.ndarray) -> np.memmap:
        np.save(tmp_path / "images.npy", array)
        return np.load(tmp_path / "images.npy", mmap_mode="r")

    return write
