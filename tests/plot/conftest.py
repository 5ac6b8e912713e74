"""A fitted model of small real digits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, Search


@pytest.fixture(scope="session")
def small_digits() -> SimpleNamespace:
    """90 digits 0 to 3 of 8 x 8 pixels, their labels, and a model of them."""
    digits = load_digits()
    chosen = digits.target < 4
    X, y = digits.images[chosen][:90], digits.target[chosen][:90]
    model = DIKMeans(4, search=Search(n_swaps=0), random_state=0, n_jobs=1).fit(X)
    return SimpleNamespace(X=X, y=y, model=model)
