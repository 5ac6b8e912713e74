"""What several figures need: data and fits, made once and kept while they are of use."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dikmeans.kmeans import DIKMeans
from dikmeans.paper import Task, TaskData, clustering_accuracy, fit_family


@dataclass
class Workshop:
    """Data sets cut to size, and the three kinds of K-means fitted to them.

    Attributes
    ----------
    train_size : int
        At most so many training images.
    seed : int
        Of the fits and whatever else is drawn.
    data_home : path or None
    download : bool
        As in `dikmeans.datasets.load`.
    step : callable
        Hears what is being done.
    """

    train_size: int
    seed: int = 0
    data_home: str | os.PathLike[str] | None = None
    download: bool = True
    step: Callable[[str], Any] = lambda text: None
    _data: tuple[tuple[str, int], TaskData] | None = field(default=None, init=False)
    _fits: tuple[str, dict[str, DIKMeans]] | None = field(default=None, init=False)
    _centroids: dict[str, tuple[dict[str, np.ndarray], dict[str, Any]]] = field(
        default_factory=dict, init=False
    )

    def data(self, task: Task, train_size: int | None = None) -> TaskData:
        """The images of a task; the last ones asked for stay in memory."""
        key = task.name, train_size or self.train_size
        if self._data is None or self._data[0] != key:
            self.step(f"reading {task.title}")
            self._data = key, task.load(key[1], self.data_home, download=self.download)
        return self._data[1]

    def fits(self, task: Task) -> dict[str, DIKMeans]:
        """The three kinds of K-means on the training images; the last ones asked for are kept."""
        if self._fits is None or self._fits[0] != task.name:
            data = self.data(task)
            fitted = fit_family(
                data.train.images,
                data.n_classes,
                self.seed,
                step=lambda name: self.step(f"{name} on {task.title}"),
            )
            self._fits = task.name, fitted
        return self._fits[1]

    def centroids(self, task: Task) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Rows of centroids, the common start first, and how good each model is; kept for all tasks."""
        if task.name not in self._centroids:
            data, fits = self.data(task), self.fits(task)
            assert data.train.labels is not None
            right = {name: clustering_accuracy(data.train.labels, fit.labels_) for name, fit in fits.items()}
            rows = {"start": next(iter(fits.values())).init_centers_}
            rows |= {f"{name}\n{100 * right[name]:.0f} %": fit.cluster_centers_ for name, fit in fits.items()}
            facts = {
                "data_title": data.title,
                "images": len(data.train),
                "clusters": data.n_classes,
                "accuracy": right,
                "distortion": {name: fit.inertia_ for name, fit in fits.items()},
            }
            self._centroids[task.name] = rows, facts
        return self._centroids[task.name]
