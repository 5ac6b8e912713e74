"""A population in shards: the same algorithm, the work done where the images are.

What is kept here is the same for a thousand images and for a billion: centroids and sums. The labels come
last, four bytes an image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dikmeans.cluster.costs import Summary, evaluate
from dikmeans.cluster.memory import images_per_shard
from dikmeans.cluster.population import Population, draw_indices
from dikmeans.cluster.shards import work
from dikmeans.cluster.shards.source import Source
from dikmeans.cluster.shards.workers import Handle, Workers, workers_for
from dikmeans.cluster.update import Sums, move
from dikmeans.images import ImageShape


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
class ShardedPopulation:
    """Images in shards.

    Attributes
    ----------
    workers : Workers
    images, weights : lists of handles
        Of each shard.
    bounds : int array of shape (n_shards + 1,)
        Number of the first image of each shard, and of all.
    dtype : dtype
        Of the pixels.
    all_weights : array of shape (N,)
        The weights once more, here: they decide who is drawn.
    """

    workers: Workers
    images: list[Handle]
    weights: list[Handle]
    bounds: np.ndarray
    dtype: Any
    all_weights: np.ndarray

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def look_through(self) -> None:
        """Read every image once; raises ValueError if one of them holds NaN or infinity."""
        self.workers.fetch(self.workers.call(len, images) for images in self.images)

    def evaluate(
        self,
        aligner: Any,
        centroids: np.ndarray,
        *,
        prune: float,
        summarise: Summary,
        n_jobs: int | None,
    ) -> np.ndarray:
        """What `summarise` makes of the costs of all images to all centroids."""
        workers = self.workers
        shared = workers.share(aligner), workers.share(centroids)
        return np.concatenate(
            workers.fetch(
                workers.call(evaluate, images, *shared, prune, summarise, workers.n_jobs)
                for images in self.images
            )
        )

    def draw(self, size: int, rng: np.random.RandomState) -> Population:
        """At most `size` of the images that have a weight, in their order, in memory."""
        few = len(self) <= size
        chosen = np.arange(len(self)) if few else draw_indices(self.all_weights, size, rng)
        return Population(self._take(chosen), np.ascontiguousarray(self.all_weights[chosen]))

    def under(self, aligner: Any, *, unit_norm: bool, n_jobs: int | None) -> ShardedTask:
        """The images to be clustered under a measure."""
        return ShardedTask(self, aligner, self.workers.share(aligner), unit_norm)

    def fingerprint(self) -> str:
        """What tells these images from others."""
        call = self.workers.call
        seals = self.workers.fetch([call(work.digest, *shard) for shard in self.shards()])
        return b"".join(seals).hex()

    def shards(self) -> Iterator[tuple[Handle, Handle]]:
        """Images and weights, shard by shard."""
        return zip(self.images, self.weights, strict=True)

    def _take(self, numbers: np.ndarray) -> np.ndarray:
        """Images by number, ascending."""
        shard_of = np.searchsorted(self.bounds, numbers, side="right") - 1
        return np.concatenate(
            self.workers.fetch(
                self.workers.call(work.pick, self.images[i], numbers[shard_of == i] - self.bounds[i])
                for i in np.unique(shard_of)
            )
        )


@dataclass(frozen=True)
class ShardedTask:
    """The face of `Task`, over shards.

    Attributes
    ----------
    population : ShardedPopulation
    aligner : Aligner or EuclideanAligner
    shared_aligner : handle
        The same, with the workers.
    unit_norm : bool
        Whether centroids are kept at unit norm.
    """

    population: ShardedPopulation
    aligner: Any
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
        return self._clustering(centroids, list(fits), before)

    def reassign(
        self, here: ShardedClustering, centroids: np.ndarray, columns: np.ndarray
    ) -> ShardedClustering:
        """Align all images from the identity with those of the centroids that are new: `columns`."""
        fits = self._on_shards(work.align_anew, centroids, here.fits, columns)
        return self._clustering(centroids, list(fits), here.fits)

    def move_centroids(self, here: ShardedClustering) -> np.ndarray:
        """The centroid update for the present assignment."""

        def gather(centroids: np.ndarray) -> Sums:
            return self.population.workers.total(self._on_shards(work.gather, centroids, here.fits))

        return move(self.aligner, here.centroids, gather, unit_norm=self.unit_norm)

    def worst_fitting(self, here: ShardedClustering, count: int) -> np.ndarray:
        """The images that fit their own centroids worst, the worst first."""
        workers = self.population.workers
        found = workers.fetch(
            workers.call(work.worst, *shard, fits, count)
            for shard, fits in zip(self.population.shards(), here.fits, strict=True)
        )
        misfits = np.concatenate([misfit[::-1] for misfit, _ in found])
        pictures = np.concatenate([images[::-1] for _, images in found])
        return pictures[np.argsort(misfits, kind="stable")[::-1][:count]]

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

    def _clustering(
        self, centroids: np.ndarray, fits: list[Handle], before: Iterable[Any]
    ) -> ShardedClustering:
        workers = self.population.workers
        tallies = (
            workers.call(work.tally, weights, after, earlier)
            for weights, after, earlier in zip(self.population.weights, fits, before, strict=True)
        )
        return ShardedClustering(centroids, fits, workers.total(tallies), workers)


def open_population(
    source: Source,
    weights: np.ndarray | None,
    *,
    shape: ImageShape,
    dtype: Any,
    normalize: str | None,
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
    normalize : str or None
        What is done to every image first.
    n_clusters, n_basis : int
        Centroids, and basis functions of the warp: they decide how much a shard takes.
    n_jobs : int or None
        Threads.
    """
    workers = workers_for(source, n_jobs)
    parts = workers.parts(source, images_per_shard(shape, n_clusters, n_basis))
    images = workers.shards(source, parts, partial(work.prepare, shape=shape, normalize=normalize))
    weights = np.broadcast_to(1.0, len(source)) if weights is None else weights
    bounds = np.array([0, *(part.stop for part in parts)])
    return ShardedPopulation(workers, images, workers.split(weights, parts), bounds, dtype, weights)
