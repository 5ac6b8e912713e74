"""The command `reproduce` with one more model, slow enough to be stopped in the middle of a run."""

from __future__ import annotations

from dikmeans.paper.cli import commands
from dikmeans.paper.protocol.table_models import TableModel, register
from tests.paper.toy_data import BarFinder


def make(n_clusters: int, seed: int) -> BarFinder:
    return BarFinder(seed, fit_seconds=0.4)


if __name__ == "__main__":  # pytest's collection imports this file too
    register(TableModel("slow", "Slow bar finder", make))
    commands()
