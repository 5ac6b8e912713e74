"""What the tests of checkpoints are about, and how fast their disk is."""

from __future__ import annotations

import os

import pytest

from dikmeans.checkpoint import store
from tests.checkpoint.checkpointed_fits import pictures


@pytest.fixture(name="X", scope="session")
def ninety_digits():
    return pictures()


@pytest.fixture
def fast_disk(request, monkeypatch):
    """What is flushed when has a test of its own; the others need not wait for the disk.

    Nor do they leave out a state where the machine happens to be slow.
    """
    monkeypatch.setattr(store, "QUICK", float("inf"))
    if "flushed" not in request.node.name:
        monkeypatch.setattr(os, "fsync", lambda _: None)
