"""Small real pictures, in small shards."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dikmeans.outofcore import population


@pytest.fixture(scope="session")
def pictures() -> np.ndarray:
    """240 real digits of 8 x 8 pixels, float32."""
    images = load_digits().images[:240].astype(np.float32)
    images.flags.writeable = False
    return images


@pytest.fixture
def small_shards(monkeypatch) -> None:
    """A local shard takes 70 images."""
    monkeypatch.setattr(population, "images_per_shard", lambda *_: 70)


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
