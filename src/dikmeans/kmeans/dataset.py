"""The images of a fit, wherever they lie, and who computes on them.

Lloyd's algorithm asks its images for nothing but sums: the inertia, the size of each cluster, what
each cluster adds to its centroid. So images may lie in shards, each with the warps of its images
beside it: one shard in memory (`InProcess`), many on disk, or many with the workers of a cluster
(`dikmeans.outofcore`). Centroids go to the shards, sums come back::

    Dataset.assign(measure, centroids)  ->  Workers.call_parts(shard.assign_and_report, ...)
                                            on every shard
                                        ->  Clustering: centroids, alignments where they are, sums

An iteration visits every shard once with all of its alignments, in `assign`, which also gathers the
sums for the first pass of the centroid update. Further passes need the images, and the warps onto
their nearest centroids alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.utils.random import sample_without_replacement

from dikmeans._typing import JSON, DType, FloatArray, IntArray
from dikmeans.io.tensor_file import TensorFileError
from dikmeans.kmeans import shard as on_shard
from dikmeans.kmeans.centroid_update import Sums, move_centroids
from dikmeans.kmeans.guidance import Guidance
from dikmeans.kmeans.shard import Assignment, Demand, NearestFits, Report, Shard, Summary, digest
from dikmeans.registration.measure import Measure, PairFits

Handle: TypeAlias = object
"""A result that stays where it was computed; it may be an argument of further calls."""


class Workers(Protocol):
    """Carry out functions on shards.

    Attributes
    ----------
    n_jobs : int or None
        Threads of one call.
    in_memory : bool
        Whether handles are the values themselves, in the memory of this process.
    """

    n_jobs: int | None
    in_memory: bool

    def call(self, function: Callable[..., object], *arguments: object) -> Handle:
        """Call a function where its arguments are."""

    def call_parts(
        self, n_parts: int, function: Callable[..., object], *arguments: object
    ) -> tuple[Handle, ...]:
        """Call a function that returns a tuple; every part has a handle of its own."""

    def share(self, value: object) -> Handle:
        """A value that many calls will need."""

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """Bring results into this process."""

    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum of results, in an order that does not depend on when they are ready."""

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Keep the alignments of each shard in a file of its own, flushed to the disk."""

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Alignments that `write` has kept, of so many images with so many centroids each.

        The files may be deleted afterwards.
        """

    def close(self) -> None:
        """Release everything; handles cannot be used any more."""


class InProcess:
    """Workers of the simplest kind: this process computes at once, and keeps everything in memory.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    """

    in_memory = True

    def __init__(self, n_jobs: int | None = None):
        self.n_jobs = n_jobs

    def call(self, function: Callable[..., object], *arguments: object) -> Handle:
        """The result of the function."""
        return function(*arguments)

    def call_parts(
        self, n_parts: int, function: Callable[..., object], *arguments: object
    ) -> tuple[Handle, ...]:
        """The parts of the result."""
        parts = function(*arguments)
        assert isinstance(parts, tuple)
        assert len(parts) == n_parts
        return parts

    def share(self, value: object) -> Handle:
        """The value itself."""
        return value

    def fetch(self, handles: Iterable[Handle]) -> list[Any]:
        """The values themselves."""
        return list(handles)

    def total(self, handles: Iterable[Handle]) -> Any:
        """The sum, in the order of the shards."""
        return reduce(add, handles)

    def write(self, fits: Sequence[Handle], paths: Sequence[Path]) -> None:
        """Write the alignments."""
        for handle, path in zip(fits, paths, strict=True):
            on_shard.write_fits(path, _fits(handle))

    def read(self, paths: Sequence[Path], shapes: Sequence[tuple[int, int]]) -> list[Handle]:
        """Read the alignments."""
        return [on_shard.read_fits(*file) for file in zip(paths, shapes, strict=True)]

    def close(self) -> None:
        """Nothing to release."""


def _fits(handle: Handle) -> PairFits:
    assert isinstance(handle, PairFits)
    return handle


@dataclass(frozen=True)
class Clustering:
    """Centroids, and how the images of every shard fit every one of them.

    Attributes
    ----------
    centroids : array of shape (K, C, rows, columns)
    fits : tuple of handles
        `PairFits` of each shard with these centroids, with the workers.
    nearest_fits : tuple of handles
        `NearestFits` of each shard: what is in `fits` of the nearest centroid of each image.
    summary : Summary
        Over all shards.
    cutoff : float
        That of the data set when it was summarized.
    sums : Sums or None
        Those of the next centroid update at these centroids, if they are known.
    """

    centroids: FloatArray
    fits: tuple[Handle, ...]
    nearest_fits: tuple[Handle, ...]
    summary: Summary
    cutoff: float = np.inf
    sums: Sums | None = None

    @property
    def inertia(self) -> float:
        """Weighted sum of the images' costs to their nearest centroids."""
        return self.summary.inertia

    @property
    def sizes(self) -> FloatArray:
        """Weight of the members of each cluster."""
        return self.summary.sizes


@dataclass(frozen=True)
class LocalFit:
    """A clustering of images in memory, as arrays.

    Attributes
    ----------
    images, weights
        As in `Shard`, in the precision of the measure; outliers have weight zero.
    labels : int array of shape (n,)
        The nearest centroid of each image.
    costs : array of shape (n, M)
        To all centroids, or to the candidates of each image.
    nearest_costs : array of shape (n,)
        Cost of each image to its nearest centroid.
    nearest_deltas : array of shape (n, 2, n_basis)
        Warp parameters, minus the identity, of that alignment.
    """

    images: FloatArray
    weights: FloatArray
    labels: IntArray
    costs: FloatArray
    nearest_costs: FloatArray
    nearest_deltas: FloatArray


@dataclass(frozen=True)
class Dataset(AbstractContextManager["Dataset"]):
    """Images in shards. Leaving its context (``with``) releases everything taken for them.

    Attributes
    ----------
    shards : tuple of handles
        A `Shard` each, with the workers.
    bounds : int array of shape (n_shards + 1,)
        Number of the first image of each shard, and of all images.
    dtype : dtype
        Type of the pixels.
    workers : Workers
    weights : array of shape (N,), optional
        All weights, in this process: they decide which images are drawn. None if all are one.
    n_jobs : int or None
        Threads that this process may use for images it has loaded.
    cutoff : float
        An image that costs more in every cluster is an outlier: it moves no centroid, and counts
        with the cutoff as its cost.
    """

    shards: tuple[Handle, ...]
    bounds: IntArray
    dtype: DType
    workers: Workers
    weights: FloatArray | None = None
    n_jobs: int | None = None
    cutoff: float = np.inf

    @classmethod
    def in_memory(
        cls, images: FloatArray, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> Dataset:
        """Images (N, C, rows, columns) in memory: one shard."""
        return cls._of(Shard(images, np.ones(len(images)) if weights is None else weights), n_jobs)

    @classmethod
    def _of(cls, shard: Shard, n_jobs: int | None, cutoff: float = np.inf) -> Dataset:
        bounds = np.array([0, len(shard.images)])
        workers = InProcess(n_jobs)
        return cls((shard,), bounds, shard.images.dtype, workers, shard.weights, n_jobs, cutoff)

    def guided(self, guidance: Guidance | None) -> Dataset:
        """A data set in memory with surcharges on some of its images, in place of any before."""
        return self._of(self.local()._replace(guidance=guidance), self.n_jobs, self.cutoff)

    def trimmed(self, cutoff: float) -> Dataset:
        """The same images with another cutoff."""
        return replace(self, cutoff=cutoff)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def check(self) -> None:
        """Read every image once; raises ValueError if one holds NaN or infinity."""
        self.workers.fetch(self.workers.call(len, shard) for shard in self.shards)

    def cast(self, dtype: DType) -> Dataset:
        """The same images, converted once if they are in memory, else whenever they are read."""
        if not self.workers.in_memory or dtype == self.dtype:
            return self
        shards = tuple(shard.cast(dtype) for shard in self._local_shards())
        return replace(self, shards=shards, dtype=dtype)

    @cached_property
    def pixel_variance(self) -> float:
        """Variance of a pixel over the images, on average."""
        if self.workers.in_memory:  # two passes: exact, also for pictures far from zero
            return float(self.local().images.var(axis=0, dtype=np.float64).mean())
        moments = (self.workers.call(on_shard.moments, shard) for shard in self.shards)
        return float(self.workers.total(moments).variance)

    # -- clustering ----------------------------------------------------------------------------

    def assign(
        self, measure: Measure, centroids: FloatArray, start: Clustering | None = None
    ) -> Clustering:
        """Align all images with all centroids: from the identity, or from the warps in `start`."""
        before = [None] * len(self.shards) if start is None else start.fits
        return self._clustered(on_shard.assign_and_report, measure, centroids, before)

    def summarized(self, clustering: Clustering) -> Clustering:
        """A clustering of these images with the sums for their present cutoff; none has moved."""
        if clustering.cutoff == self.cutoff:
            return replace(clustering, summary=replace(clustering.summary, moved=0))
        return self._summarized(clustering.centroids, clustering.fits, clustering.nearest_fits)

    def nearest_costs(self, clustering: Clustering) -> FloatArray:
        """The cost of each image to its nearest centroid, (N,)."""
        costs = self.workers.fetch(
            self.workers.call(on_shard.costs_of, nearest) for nearest in clustering.nearest_fits
        )
        return np.concatenate(costs)

    def realign(
        self, measure: Measure, clustering: Clustering, centroids: FloatArray, columns: IntArray
    ) -> Clustering:
        """Align all images from the identity with the new centroids `columns` of `centroids`."""
        function, before = on_shard.realign_and_report, clustering.fits
        return self._clustered(function, measure, centroids, before, columns)

    def move_centroids(self, measure: Measure, clustering: Clustering) -> FloatArray:
        """The centroid update for a clustering, under the measure that it was made with."""
        shared_measure, known = self.workers.share(measure), [clustering.sums]

        def gather(centroids: FloatArray) -> Sums:
            sums = known.pop() if known else None
            if sums is not None:  # the first pass has been made
                return sums
            shared = shared_measure, self.workers.share(centroids)
            rest = self.cutoff, self.workers.n_jobs
            total: Sums = self.workers.total(
                self.workers.call(on_shard.gather, shard, *shared, nearest, *rest)
                for shard, nearest in zip(self.shards, clustering.nearest_fits, strict=True)
            )
            return total

        return move_centroids(measure, clustering.centroids, gather)

    def evaluate(
        self,
        measure: Measure,
        prototypes: FloatArray,
        clusters: IntArray,
        surcharges: FloatArray | None = None,
    ) -> Assignment:
        """Assign all images to fixed prototypes, from a cold start.

        `surcharges` (K,) are what clusters cost beyond the measure when the nearest is chosen.
        """
        shared = self.workers.share(measure), self.workers.share(prototypes)
        rest = clusters, surcharges, self.workers.in_memory, self.workers.n_jobs
        return Assignment.join(
            self.workers.fetch(
                self.workers.call(on_shard.evaluate, shard, *shared, *rest) for shard in self.shards
            )
        )

    def costs(self, measure: Measure, prototypes: FloatArray, clusters: IntArray) -> FloatArray:
        """Costs (N, K) of all images to all clusters, every pair refined to the end."""
        shared = self.workers.share(measure), self.workers.share(prototypes)
        n_jobs = self.workers.n_jobs
        return np.concatenate(
            self.workers.fetch(
                self.workers.call(on_shard.costs_to_clusters, shard, *shared, clusters, n_jobs)
                for shard in self.shards
            )
        )

    def _clustered(
        self,
        function: Callable[..., object],
        measure: Measure,
        centroids: FloatArray,
        before: Sequence[Handle],
        *more: object,
    ) -> Clustering:
        """Call a function that aligns and reports on every shard, one after the other."""
        shared = self.workers.share(measure), self.workers.share(centroids)
        # images in memory are read as fast again, and the last iteration needs no sums
        demand = Demand(self.cutoff, with_sums=not self.workers.in_memory)
        fits: list[Handle] = []
        nearest_fits: list[Handle] = []

        def reports() -> Iterator[Handle]:
            for shard, fit in zip(self.shards, before, strict=True):
                arguments = shard, *shared, fit, *more, demand, self.workers.n_jobs
                parts = self.workers.call_parts(3, function, *arguments)
                fits.append(parts[0])
                nearest_fits.append(parts[1])
                yield parts[2]

        report: Report = self.workers.total(reports())
        return Clustering(
            centroids, tuple(fits), tuple(nearest_fits), report.summary, self.cutoff, report.sums
        )

    def _summarized(
        self, centroids: FloatArray, fits: Sequence[Handle], nearest_fits: Sequence[Handle]
    ) -> Clustering:
        """A clustering of which the alignments are known."""
        report: Report = self.workers.total(
            self.workers.call(on_shard.summarize_again, *shard, len(centroids), self.cutoff)
            for shard in zip(self.shards, nearest_fits, strict=True)
        )
        return Clustering(centroids, tuple(fits), tuple(nearest_fits), report.summary, self.cutoff)

    # -- images --------------------------------------------------------------------------------

    def draw(
        self, size: int, rng: np.random.RandomState, always: IntArray | None = None
    ) -> tuple[Dataset, IntArray]:
        """At most `size` images of positive weight, in order, in memory; all, if no more exist.

        With their numbers. Images `always` are among them, even if that makes more than `size`.
        """
        if len(self) <= size:
            sample = self if self.workers.in_memory else self._small(self.local())
            return sample, np.arange(len(self))
        weights = np.broadcast_to(1.0, len(self)) if self.weights is None else self.weights
        chosen = draw_indices(self.weights, len(self), size, rng)
        if always is not None:
            chosen = np.union1d(chosen, always)
        shard = Shard(self.take(chosen), np.ascontiguousarray(weights[chosen]))
        return self._small(shard), chosen

    def take(self, numbers: IntArray) -> FloatArray:
        """Images by number, ascending."""
        shard_of = np.searchsorted(self.bounds, numbers, side="right") - 1
        return np.concatenate(
            self.workers.fetch(
                self.workers.call(
                    on_shard.take_images, self.shards[i], numbers[shard_of == i] - self.bounds[i]
                )
                for i in np.unique(shard_of)
            )
        )

    def subset(self, numbers: IntArray) -> Dataset:
        """Some images of a data set in memory, without guidance: it names clusters of all."""
        return self._small(self.local().take(numbers)._replace(guidance=None))

    def worst_fitting(self, clustering: Clustering, count: int, dtype: DType) -> FloatArray:
        """The images that fit their nearest centroids worst, the worst first."""
        candidates = self.workers.fetch(
            self.workers.call(on_shard.worst_fitting, shard, nearest, count, self.cutoff)
            for shard, nearest in zip(self.shards, clustering.nearest_fits, strict=True)
        )
        costs = np.concatenate([cost for cost, _ in candidates])
        starts = self.bounds[:-1]
        numbers = np.concatenate(
            [number + start for (_, number), start in zip(candidates, starts, strict=True)]
        )
        worst = numbers[np.argsort(costs, kind="stable")[::-1][:count]]
        order = np.argsort(worst)
        pictures: FloatArray = self.take(worst[order])[np.argsort(order)]
        return pictures.astype(dtype, copy=False)

    def local(self) -> Shard:
        """All images and weights as arrays in this process; without a copy if in memory."""
        shards = self._local_shards()
        if len(shards) == 1:
            return shards[0]
        images, weights, _ = zip(*shards, strict=True)
        return Shard(np.concatenate(images), np.concatenate(weights))

    def fit_of(self, clustering: Clustering) -> PairFits:
        """The alignments of a data set in memory."""
        return _fits(self.workers.fetch(clustering.fits)[0])

    def costs_of(self, clustering: Clustering, numbers: IntArray) -> FloatArray:
        """Costs (n, K) of some images of a data set in memory to all centroids.

        A centroid that is no candidate of an image costs as much as the costliest that is.
        """
        fits = self.fit_of(clustering)
        known, columns = fits.costs[numbers], fits.centroids[numbers]
        costs = np.repeat(known.max(axis=1, keepdims=True), len(clustering.centroids), axis=1)
        np.put_along_axis(costs, columns.astype(np.int64), known, axis=1)
        return costs

    def local_fit(self, measure: Measure, clustering: Clustering) -> LocalFit:
        """A clustering of a data set in memory, as arrays."""
        shard = self.local().cast(measure.dtype)
        nearest = self.workers.fetch(clustering.nearest_fits)[0]
        assert isinstance(nearest, NearestFits)
        return LocalFit(
            images=shard.images,
            weights=on_shard.counted_weights(shard, nearest.costs, self.cutoff),
            labels=nearest.labels,
            costs=self.fit_of(clustering).costs,
            nearest_costs=nearest.costs,
            nearest_deltas=nearest.deltas,
        )

    def _local_shards(self) -> list[Shard]:
        return self.workers.fetch(self.workers.call(_identity, shard) for shard in self.shards)

    def _small(self, shard: Shard) -> Dataset:
        return self._of(shard, self.n_jobs, self.cutoff)

    # -- checkpoints ---------------------------------------------------------------------------

    def fingerprint(self) -> JSON:
        """What tells these images, and how they are divided into shards, from others."""
        digests = self.workers.fetch(
            self.workers.call(on_shard.digests, shard) for shard in self.shards
        )
        pixels, weights = (digest(np.array(part)) for part in zip(*digests, strict=True))
        return {
            "n_images": len(self),
            "dtype": np.dtype(self.dtype).name,
            "pixels": pixels,
            "weights": weights,
        }

    def write_fits(self, clustering: Clustering, folder: Path, number: int) -> list[str]:
        """Keep the alignments of a clustering in files of `folder`; returns their names.

        Parameters
        ----------
        clustering : Clustering
            Of these images.
        folder : pathlib.Path
            With a Dask cluster, on a file system that all workers share.
        number : int
            Part of the names, so that they do not replace files of other numbers.
        """
        names = [f"fits-{number:06d}-{i:06d}.safetensors" for i in range(len(self.shards))]
        self.workers.write(clustering.fits, [folder / name for name in names])
        return names

    def read_clustering(
        self, folder: Path, names: Sequence[str], centroids: FloatArray
    ) -> Clustering:
        """The clustering whose alignments `write_fits` has kept.

        Raises
        ------
        TensorFileError
            A file is damaged, or does not belong to these images.
        OSError
            It cannot be read, or is not there.
        """
        if len(names) != len(self.shards):
            raise TensorFileError(
                folder, f"it has {len(names)} shards of images, but there are {len(self.shards)}"
            )
        shapes = [(int(n), len(centroids)) for n in np.diff(self.bounds)]
        fits = self.workers.read([folder / name for name in names], shapes)
        nearest_fits = [self.workers.call(on_shard.nearest_fits, fit) for fit in fits]
        return self._summarized(centroids, fits, nearest_fits)


def draw_indices(
    weights: FloatArray | None, n: int, size: int, rng: np.random.RandomState
) -> IntArray:
    """Numbers of `size` images with a weight, or of all of them, ascending."""
    heavy = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    n = n if heavy is None else len(heavy)
    chosen = np.sort(sample_without_replacement(n, min(size, n), random_state=rng))
    return chosen if heavy is None else heavy[chosen]


def _identity(value: object) -> object:
    return value
