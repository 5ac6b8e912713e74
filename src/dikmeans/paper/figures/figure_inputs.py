"""What the figures are made from: data sets and fits, computed once and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dikmeans._typing import JSON, Array, PathLike
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.paper.progress import WorkProgress
from dikmeans.paper.protocol.data_tasks import DataTask, TaskData
from dikmeans.registration.warps import WarpName

if TYPE_CHECKING:
    from dikmeans import DIKMeans

COMPARED_WARPS: dict[str, WarpName] = {
    "K-means": "none",
    "AI K-means": "affine",
    "DI K-means": "tps",
}
"""The three models that the figures compare: name and warp."""


@dataclass
class FigureInputs:
    """Data sets cut to size, and the three models fitted to them.

    Attributes
    ----------
    train_size : int
        At most so many training images.
    seed : int
        Of the fits and of everything else that is drawn at random.
    data_home : path or None
    download : bool
        As in `dikmeans.datasets.load`.
    progress : WorkProgress
    """

    train_size: int
    seed: int = 0
    data_home: PathLike | None = None
    download: bool = True
    progress: WorkProgress = field(default_factory=WorkProgress)
    _data: tuple[tuple[str, int], TaskData] | None = field(default=None, init=False)
    _fits: tuple[str, dict[str, DIKMeans]] | None = field(default=None, init=False)
    _centroids: dict[str, tuple[dict[str, Array], JSON]] = field(default_factory=dict, init=False)

    def data(self, task: DataTask, train_size: int | None = None) -> TaskData:
        """Return the images of a task; the last ones requested stay in memory."""
        key = task.name, train_size or self.train_size
        if self._data is None or self._data[0] != key:
            self.progress.step(f"reading {task.title}")
            self._data = key, task.load(key[1], self.data_home, download=self.download)
        return self._data[1]

    def fits(self, task: DataTask) -> dict[str, DIKMeans]:
        """Return the three models, fitted with their defaults; the last ones requested are kept.

        All start from the same images and seed, and so from the same centroids. Unlike the K-means
        of the table, this one preprocesses images as the others do: only the warp differs.
        """
        from dikmeans import DIKMeans

        if self._fits is None or self._fits[0] != task.name:
            data = self.data(task)
            models = {}
            for name, warp in COMPARED_WARPS.items():
                self.progress.step(f"{name} on {task.title}")
                model = DIKMeans(data.n_classes, warp=warp, n_init=1, random_state=self.seed)
                models[name] = model.fit(data.train.images)
            self._fits = task.name, models
        return self._fits[1]

    def centroids(self, task: DataTask) -> tuple[dict[str, Array], JSON]:
        """Return rows of centroids, the common start first, and facts about the models; kept."""
        if task.name not in self._centroids:
            data, fits = self.data(task), self.fits(task)
            labels = data.train.labels
            assert labels is not None
            accuracy = {
                name: clustering_accuracy(labels, fit.labels_) for name, fit in fits.items()
            }
            rows = {"start": next(iter(fits.values())).init_centers_}
            for name, fit in fits.items():
                rows[f"{name}\n{100 * accuracy[name]:.0f} %"] = fit.cluster_centers_
            facts = {
                "data_title": data.title,
                "images": len(data.train),
                "clusters": data.n_classes,
                "accuracy": accuracy,
                "distortion": {name: fit.inertia_ for name, fit in fits.items()},
            }
            self._centroids[task.name] = rows, facts
        return self._centroids[task.name]
