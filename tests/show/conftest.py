"""A small model of real digits, fitted once for all figures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn.datasets import load_digits

from dikmeans import DIKMeans


@pytest.fixture(scope="session")
def eights() -> SimpleNamespace:
    """8 x 8 digits 0 to 3, their labels, and a model of them."""
    digits = load_digits()
    chosen = digits.target < 4
    X, y = digits.images[chosen][:90], digits.target[chosen][:90]
    return SimpleNamespace(X=X, y=y, model=DIKMeans(4, n_swaps=0, random_state=0, n_jobs=1).fit(X))
