"""A population in shards: the same algorithm, the work done where the images are.

What is kept here is the same for a thousand images and for a billion: centroids and sums. The labels come
last, four bytes an image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.kmeans.costs import Summary, evaluate
from dikmeans.monitoring.memory import images_per_shard
from dikmeans.preprocessing import Normaliser
from dikmeans.kmeans.population import Population, digest, draw_indices
from dikmeans.outofcore import work
from dikmeans.outofcore.sources import Source
from dikmeans.outofcore.workers import Handle, Workers, workers_for
from dikmeans.kmeans.task import Verdict
from dikmeans.kmeans.centroid_update import Sums, move
from dikmeans.images import ImageShape
from dikmeans.io.tensor_file import TensorFileError


@dataclass(frozen=True)
class ShardedClustering:
    """Centroids, and how the images of every shard fit every one of them.

    Attributes
    ----------
    centroids : array of shape (K, C, rows, columns)
    fits : list of handles
        Of each shard, with the workers.
    tally : Tally
        Over all shards.
    workers : Workers
    """

    centroids: np.ndarray
    fits: list[Handle]
    tally: work.Tally
    workers: Workers

    @property
    def distortion(self) -> float:
        """Weighted sum of the images' costs to their own centroids."""
        return self.tally.distortion

    @property
    def sizes(self) -> np.ndarray:
        """Weight of the members of each cluster."""
        return self.tally.sizes

    @property
    def labels(self) -> np.ndarray:
        """The cheapest centroid of every image: of all shards."""
        call = self.workers.call
        return np.concatenate(self.workers.fetch([call(work.labels, fits) for fits in self.fits]))

    def moved_since(self, before: ShardedClustering) -> int:
        """How many images had another centroid before."""
        return self.tally.moved


@dataclass(frozen=True)
class ShardedPopulation(AbstractContextManager):
    """Images in shards. When they are left behind (``with``), all room taken for them is given back.

    Attributes
    ----------
    source : Source
    workers : Workers
    images, weights : lists of handles
        Of each shard.
    bounds : int array of shape (n_shards + 1,)
        Number of the first image of each shard, and of all.
    dtype : dtype
        Of the pixels.
    all_weights : array of shape (N,), optional
        The weights once more, here: they decide who is drawn. None if all are one.
    """

    source: Source
    workers: Workers
    images: list[Handle]
    weights: list[Handle]
    bounds: np.ndarray
    dtype: Any
    all_weights: np.ndarray | None

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def __exit__(self, *_: object) -> None:
        self.workers.close()
        self.source.close()

    def look_through(self) -> None:
        """Read every image once; raises ValueError if one of them holds NaN or infinity."""
        self.workers.fetch(self.workers.call(len, images) for images in self.images)

    def evaluate(
        self,
        measure: Any,
        centroids: np.ndarray,
        *,
        prune: float,
        summarise: Summary,
        n_jobs: int | None,
    ) -> np.ndarray:
        """What `summarise` makes of the costs of all images to all centroids."""
        workers = self.workers
        shared = workers.share(measure), workers.share(centroids)
        return np.concatenate(
            workers.fetch(
                workers.call(evaluate, images, *shared, prune, summarise, workers.n_jobs)
                for images in self.images
            )
        )

    def in_memory(self) -> Population:
        """All of them, here."""
        weights = np.ones(len(self)) if self.all_weights is None else self.all_weights
        return Population(self.take(np.arange(len(self))), weights)

    def draw(self, size: int, rng: np.random.RandomState) -> Population:
        """At most `size` of the images that have a weight, in their order, in memory."""
        if len(self) <= size:
            return self.in_memory()
        weights = np.broadcast_to(1.0, len(self)) if self.all_weights is None else self.all_weights
        chosen = draw_indices(self.all_weights, len(self), size, rng)
        return Population(self.take(chosen), np.ascontiguousarray(weights[chosen]))

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Images by number, ascending."""
        shard_of = np.searchsorted(self.bounds, numbers, side="right") - 1
        return np.concatenate(
            self.workers.fetch(
                self.workers.call(work.pick, self.images[i], numbers[shard_of == i] - self.bounds[i])
                for i in np.unique(shard_of)
            )
        )

    def under(self, measure: Any, *, unit_norm: bool, n_jobs: int | None) -> ShardedTask:
        """The images to be clustered under a measure."""
        return ShardedTask(self, measure, self.workers.share(measure), unit_norm)

    def cluster(
        self, centroids: np.ndarray, fits: Sequence[Handle], before: Sequence[Handle] | None = None
    ) -> ShardedClustering:
        """A clustering, given how the shards fit the centroids, now and `before`."""
        earlier = [None] * len(fits) if before is None else before
        tallies = (
            self.workers.call(work.tally, *shard) for shard in zip(self.weights, fits, earlier, strict=True)
        )
        return ShardedClustering(centroids, list(fits), self.workers.total(tallies), self.workers)

    def shards(self) -> Iterator[tuple[Handle, Handle]]:
        """Images and weights, shard by shard."""
        return zip(self.images, self.weights, strict=True)

    # -- checkpoints -----------------------------------------------------------------------------

    def fingerprint(self) -> dict[str, Any]:
        """What tells these images, and the way they are divided, from others, as JSON knows it."""
        return {
            "shape": [len(self), *self.source.shape[1:]],
            "dtype": np.dtype(self.dtype).name,
            "pixels": self._seal(self.images),
            "weights": self._seal(self.weights),
        }

    def write_state(self, clustering: ShardedClustering, folder: Path, number: int) -> list[str]:
        """Keep what a clustering knows of the images in files of `folder`, one a shard; their names.

        Parameters
        ----------
        clustering : ShardedClustering
            Of these images.
        folder : pathlib.Path
            With Dask's workers, on a file system that all of them share.
        number : int
            Part of the names, so that they do not replace files of other numbers.
        """
        names = [f"state-{number:06d}-{shard:06d}.safetensors" for shard in range(len(self.images))]
        self.workers.write(clustering.fits, [folder / name for name in names])
        return names

    def read_state(self, folder: Path, names: Sequence[str], centroids: np.ndarray) -> ShardedClustering:
        """The clustering that `write_state` has kept.

        Parameters
        ----------
        folder : pathlib.Path
        names : sequence of str
            What `write_state` gave.
        centroids : array of shape (K, C, rows, columns)

        Raises
        ------
        TensorFileError
            A file is damaged, or does not belong to these images.
        OSError
            It cannot be read, or is not there.
        """
        if len(names) != len(self.images):
            raise TensorFileError(
                f"{folder} has the state of {len(names)} shards of images, but there are {len(self.images)}."
            )
        shapes = [(int(n), len(centroids)) for n in np.diff(self.bounds)]
        return self.cluster(centroids, self.workers.read([folder / name for name in names], shapes))

    def _seal(self, arrays: Iterable[Handle]) -> str:
        seals = self.workers.fetch([self.workers.call(digest, array) for array in arrays])
        return digest(np.frombuffer("".join(seals).encode(), np.uint8))


@dataclass(frozen=True)
class ShardedTask:
    """The face of `Task`, over shards.

    Attributes
    ----------
    population : ShardedPopulation
    measure : WarpedMeasure or EuclideanMeasure
    shared_aligner : handle
        The same, with the workers.
    unit_norm : bool
        Whether centroids are kept at unit norm.
    """

    population: ShardedPopulation
    measure: Any
    shared_aligner: Handle
    unit_norm: bool = False

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.population)

    @property
    def pixel_variance(self) -> float:
        """Variance of a pixel over the images, on average."""
        workers = self.population.workers
        return workers.total(workers.call(work.moments, images) for images in self.population.images).variance

    def assign(self, centroids: np.ndarray, start: ShardedClustering | None = None) -> ShardedClustering:
        """Align all images with all centroids: from the identity, or from the warps in `start`."""
        before = [None] * len(self.population.images) if start is None else start.fits
        fits = self._on_shards(work.align, centroids, before)
        return self.population.cluster(centroids, list(fits), None if start is None else before)

    def judge(self, centroids: np.ndarray) -> Verdict:
        """Align all images with all centroids as `predict` does, and keep nothing but the verdict."""
        workers = self.population.workers
        shared = workers.share(centroids)
        verdicts = workers.fetch(
            workers.call(work.judge, images, weights, self.shared_aligner, shared, workers.n_jobs)
            for images, weights in self.population.shards()
        )
        labels, sizes, distortions = zip(*verdicts, strict=True)
        return Verdict(np.concatenate(labels), sum(sizes), sum(distortions))

    def reassign(
        self, here: ShardedClustering, centroids: np.ndarray, columns: np.ndarray
    ) -> ShardedClustering:
        """Align all images from the identity with those of the centroids that are new: `columns`."""
        fits = self._on_shards(work.align_anew, centroids, here.fits, columns)
        return self.population.cluster(centroids, list(fits), here.fits)

    def move_centroids(self, here: ShardedClustering) -> np.ndarray:
        """The centroid update for the present assignment."""

        def gather(centroids: np.ndarray) -> Sums:
            return self.population.workers.total(self._on_shards(work.gather, centroids, here.fits))

        return move(self.measure, here.centroids, gather, unit_norm=self.unit_norm)

    def worst_fitting(self, here: ShardedClustering, count: int) -> np.ndarray:
        """The images that fit their own centroids worst, the worst first."""
        workers = self.population.workers
        found = workers.fetch(
            workers.call(work.worst, weights, fits, count)
            for weights, fits in zip(self.population.weights, here.fits, strict=True)
        )
        misfits = np.concatenate([misfit for misfit, _ in found])
        first = self.population.bounds[:-1]
        numbers = np.concatenate([some + start for (_, some), start in zip(found, first, strict=True)])
        chosen = numbers[np.argsort(misfits, kind="stable")[::-1][:count]]
        order = np.argsort(chosen)
        pictures = self.population.take(chosen[order])[np.argsort(order)]
        return pictures.astype(self.measure.dtype, copy=False)

    def _on_shards(
        self, function: Callable[..., Any], centroids: np.ndarray, fits: Iterable[Any], *more: Any
    ) -> Iterator[Handle]:
        """Call a function of `work` on every shard and its alignments."""
        workers = self.population.workers
        shared = workers.share(centroids)
        for (images, weights), some in zip(self.population.shards(), fits, strict=True):
            yield workers.call(
                function, images, weights, self.shared_aligner, shared, some, *more, workers.n_jobs
            )


def open_population(
    source: Source,
    weights: np.ndarray | None,
    *,
    shape: ImageShape,
    dtype: Any,
    normalise: Normaliser,
    n_clusters: int,
    n_basis: int,
    n_jobs: int | None,
) -> ShardedPopulation:
    """The images of a source, ready to be clustered.

    Parameters
    ----------
    source : Source
    weights : array of shape (N,), optional
    shape : tuple of int
        (rows, columns) or (rows, columns, channels) of an image.
    dtype : dtype
        Of the pixels, once they have been checked.
    normalise : Normaliser
        What is done to every image first.
    n_clusters, n_basis : int
        Centroids, and basis functions of the warp: they decide how much a shard takes.
    n_jobs : int or None
        Threads.
    """
    workers = workers_for(source, n_jobs)
    parts = workers.parts(source, images_per_shard(shape, n_clusters, n_basis))
    images = workers.shards(source, parts, partial(work.prepare, shape=shape, normalise=normalise))
    bounds = np.array([0, *(part.stop for part in parts)])
    return ShardedPopulation(source, workers, images, workers.split(weights, parts), bounds, dtype, weights)
