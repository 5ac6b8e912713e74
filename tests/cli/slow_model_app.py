"""The command line with one model more, slow enough to be stopped in the middle of a run."""

from __future__ import annotations

from toy_sets import Glance

from dikmeans.cli import app
from dikmeans.paper import Model, register

if __name__ == "__main__":  # the tests' collection imports this file too
    register(Model("slow", "Slow glance", lambda n_clusters, seed: Glance(seed, fit_seconds=0.4)))
    app()
