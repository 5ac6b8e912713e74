"""What the tests of checkpoints share: small fits of real digits, and when two results are the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from dikmeans.monitoring.progress import FitListener, listening

FITS: dict[str, dict[str, Any]] = {
    # on a sample, with swaps that are kept, two runs, clusters divided into forms
    "tps": {"landmarks": 3, "search_size": 70, "n_prototypes": 2, "random_state": 5},
    "affine": {"warp": "affine", "direction": "image-to-centroid", "unit_norm_centroids": True},
    "none": {"warp": "none", "n_swaps": 3},
    "uniform": {
        "stiffness": "uniform",
        "curriculum": False,
        "n_swaps": 0,
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
        "max_iter": 4,
        "n_swaps": 4,
        "n_jobs": 1,
    }
    return DIKMeans(**{**common, **FITS[name], **parameters})


def pictures() -> np.ndarray:
    """Ninety real digits of 8 x 8 pixels."""
    return load_digits().images[:90].astype(np.float32)


def weights() -> np.ndarray:
    """A weight an image."""
    return np.random.default_rng(0).uniform(0.5, 2.0, 90)


def content(model: DIKMeans) -> dict[str, Any]:
    """Everything a fit has found, but how many seconds it took."""
    return {
        "labels": model.labels_.tobytes(),
        "forms": (
            model.prototypes_.dtype.name,
            model.prototypes_.tobytes(),
            model.prototype_clusters_.tobytes(),
        ),
        "first centroids": model.init_centers_.tobytes(),
        "stiffness": None
        if model.deformation_precision_ is None
        else model.deformation_precision_.tobytes(),
        "inertia": float(model.inertia_).hex(),
        "history": [
            (line.phase, line.distortion.hex(), line.moved) for line in model.history_.iterations
        ],
        "stopped": model.history_.stopped,
    }


def listing(folder: Path) -> dict[str, bytes]:
    """What is in a folder, byte for byte."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def begun(model, X, folder: Path, *, iterations: int = 3) -> Path:
    """A checkpoint of a fit that was stopped after some iterations."""

    class Stop(FitListener):
        left = iterations

        def iteration(self, iteration):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    with listening(model, Stop()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, checkpoint=folder)
    return folder
