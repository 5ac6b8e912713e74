"""A toy set whose right answer is known, a stub model with known errors, and invented runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from PIL import Image

import dikmeans
from dikmeans.paper.protocol.run_record import RunRecord
from dikmeans.paper.protocol.table_models import TableModel

CLASSES = ("bottom", "left", "top")
SIDE = 8
N_TEST = 12

PYTHON_PATH = os.pathsep.join(
    map(str, (Path(dikmeans.__file__).parents[1], Path(__file__).parents[2]))
)
"""Where child processes find the package and the tests."""


def bars(n_each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A bright bar at the bottom, at the left or at the top of faint noise; images and classes."""
    rng = np.random.RandomState(seed)
    images = rng.randint(0, 25, (3 * n_each, SIDE, SIDE)).astype(np.uint8)
    labels = np.repeat(np.arange(3), n_each)
    images[labels == 0, -3:, :] += 200
    images[labels == 1, :, :3] += 200
    images[labels == 2, :3, :] += 200
    return images, labels


def write_bars(folder: Path, n_train_each: int = 10, n_test_each: int = N_TEST // 3) -> Path:
    """The bars as a folder of pictures with train and test parts."""
    for seed, (part, n_each) in enumerate((("train", n_train_each), ("test", n_test_each))):
        for number, (image, label) in enumerate(zip(*bars(n_each, seed), strict=True)):
            place = folder / part / CLASSES[label]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(place / f"{number}.png")
    return folder


class BarFinder:
    """Finds the position of the bar, then labels as many images wrong as its seed says."""

    n_jobs = 1

    def __init__(self, seed: int, fit_seconds: float = 0.0):
        self.seed = seed
        self.fit_seconds = fit_seconds

    def fit(self, X: np.ndarray) -> BarFinder:
        time.sleep(self.fit_seconds)
        self.inertia_ = 100.0 + self.seed  # fewer mistakes, less distortion
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        brightness = np.stack(
            [X[:, -3:].sum((1, 2)), X[:, :, :3].sum((1, 2)), X[:, :3].sum((1, 2))]
        )
        labels = brightness.argmax(axis=0)
        labels[: self.seed] = (labels[: self.seed] + 1) % 3
        return labels


BAR_FINDER = TableModel("bar-finder", "Bar finder", lambda n_clusters, seed: BarFinder(seed))


def invented_run(
    seed: int = 0, accuracy: float = 0.5, distortion: float | None = 1.0, **changes
) -> RunRecord:
    """A record with the given figures and something plausible in all other fields."""
    figures = {"accuracy": accuracy, "nmi": accuracy / 2, "ari": accuracy / 4}
    content = {
        "model": "bar-finder",
        "parameters": {},
        "data": "mnist",
        "data_title": "MNIST",
        "seed": seed,
        "n_clusters": 10,
        "train_size": 2000,
        "train_available": 60000,
        "test_size": 10000,
        "test": figures,
        "train": figures,
        "distortion": distortion,
        "fit_seconds": 2.0,
        "predict_seconds": 1.0,
        "n_jobs": -1,
        "cpus": 2,
        "versions": {"python": "3.11.0", "dikmeans": "0.1.0"},
    }
    return RunRecord(**{**content, **changes})
