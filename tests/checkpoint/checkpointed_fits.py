"""What the tests of checkpoints share: small fits of real digits, and when two are the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from tests.helpers import quick

FITS: dict[str, dict[str, Any]] = {
    # on a sample, with swaps that are kept, two runs, clusters divided into prototypes
    "tps": {"landmarks": 3, "search__sample_size": 70, "n_prototypes": 2, "random_state": 4},
    "affine": {"warp": "affine", "direction": "image-to-centroid"},
    "none": {"warp": "none", "search__n_swaps": 3},
    "affine intensity": {"intensity": "affine", "landmarks": 3, "n_init": 1},
    "bending": {
        "search__deformation_prior": "bending",
        "search__warm_up": False,
        "search__n_swaps": 0,
        "landmarks": 2,
        "n_init": 1,
    },
    "one cluster": {"n_clusters": 1, "landmarks": 2, "n_init": 1},
}


def make_model(name: str = "tps", **parameters: Any) -> DIKMeans:
    """An estimator that is done within a second."""
    common: dict[str, Any] = {
        "n_clusters": 5,
        "random_state": 1,
        "init": "random",
        "n_init": 2,
        "search__n_swaps": 4,
        "n_jobs": 1,
    }
    return quick(**{**common, **FITS[name], **parameters})


def pictures() -> np.ndarray:
    """Ninety real digits of 8 x 8 pixels; also for programs without fixtures."""
    return load_digits().images[:90].astype(np.float32)


def weights() -> np.ndarray:
    """One weight per image."""
    return np.random.default_rng(0).uniform(0.5, 2.0, 90)


def content(model: DIKMeans) -> dict[str, Any]:
    """Everything a fit has found, but how many seconds it took."""
    return {
        "assignment": [
            None if column is None else column.tobytes() for column in model.assignment_
        ],
        "prototypes": (
            model.prototypes_.dtype.name,
            model.prototypes_.tobytes(),
            model.prototype_clusters_.tobytes(),
            model.prototype_weights_.tobytes(),
        ),
        "first centroids": model.init_centers_.tobytes(),
        "prior": None
        if model.deformation_precision_ is None
        else model.deformation_precision_.tobytes(),
        "inertia": float(model.inertia_).hex(),
        "history": [
            (line.phase, line.inertia.hex(), line.moved) for line in model.history_.iterations
        ],
        "stopped": model.history_.stopped,
    }


def listing(folder: Path) -> dict[str, bytes]:
    """What is in a folder, byte for byte."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def begun(model, X, folder: Path, *, iterations: int = 3) -> Path:
    """A checkpoint of a fit that was interrupted after some iterations."""
    left = iter(range(iterations - 1, -1, -1))

    def interrupt(event):
        if event.record is not None and next(left) == 0:
            raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, checkpoint=folder, progress=interrupt)
    return folder
