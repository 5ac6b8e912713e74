"""What is computed on the images of one shard, wherever it lies: functions of arrays.

A data set in memory is one shard; one that is larger than memory, or spread over machines, is many.
The functions have no state of their own, so any worker can carry them out
(`dikmeans.kmeans.dataset.Workers`). What they return for several shards is joined by adding
(`Report`, `Sums`, `Moments`) or by concatenating (`Assignment`).

The alignments of all pairs are the state of a shard. Once an iteration has aligned, it only needs
the warp of each image onto its nearest centroid. So what aligns also reports: it returns the state,
the alignments with the nearest centroids (`NearestFits`), and sums. Workers that keep states on
disk read them once per iteration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dikmeans._typing import Array, BoolArray, DType, FloatArray, IntArray
from dikmeans.io.tensor_file import (
    TensorFileError,
    read_tensor_file,
    write_tensor_file,
    write_tensors,
)
from dikmeans.kmeans.centroid_update import Members, Sums, gather_sums, weight_per_cluster
from dikmeans.kmeans.guidance import REJECTED, Guidance
from dikmeans.parallel.threads import run_threads
from dikmeans.registration.batches import align_images, batches_for, cost_matrix
from dikmeans.registration.descent import MAX_CANDIDATES
from dikmeans.registration.measure import Bank, Measure, PairFits, WarmStart
from dikmeans.registration.result import cluster_costs

# A pair is refined if its cost so far is at most this multiple of the image's best pair: from
# scratch (judged after every stage) and from a warm start (judged on the sharp pictures).
PRUNE_COLD, PRUNE_WARM = 4.0, 2.0
FEW_CENTROIDS = 4

FITS_FORMAT, FITS_VERSION = "dikmeans-fits", 3
NEAREST_FORMAT = "dikmeans-nearest-fits"  # of the same version; no such file outlives its process
_FITS_TYPES = {
    "costs": np.float64,
    "deltas": np.float32,
    "status": np.int8,
    "orientations": np.int8,
    "centroids": np.int32,
}


class Shard(NamedTuple):
    """Images in memory, with their weights and what a person has said about them.

    Attributes
    ----------
    images : array of shape (n, C, rows, columns)
        Preprocessed.
    weights : float64 array of shape (n,)
    guidance : Guidance or None
        Surcharges on the costs of some images; see `dikmeans.kmeans.guidance`.
    """

    images: FloatArray
    weights: FloatArray
    guidance: Guidance | None = None

    def cast(self, dtype: DType) -> Shard:
        """The same images in another type of pixels."""
        return self._replace(images=self.images.astype(dtype, copy=False))

    def take(self, numbers: IntArray) -> Shard:
        """The images with these numbers, ascending."""
        guidance = None if self.guidance is None else self.guidance.take(numbers)
        return Shard(self.images[numbers], self.weights[numbers], guidance)


@dataclass(frozen=True)
class Summary:
    """What there is to know about an assignment of images to centroids.

    Attributes
    ----------
    inertia : float
        Weighted sum of the images' costs to their nearest centroids.
    sizes : array of shape (K,)
        Weight of the members of each cluster.
    moved : int
        Images that had another centroid before.
    """

    inertia: float
    sizes: FloatArray
    moved: int

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.inertia + other.inertia, self.sizes + other.sizes, self.moved + other.moved
        )


@dataclass(frozen=True)
class Report:
    """What a shard returns of an alignment, beside the alignments themselves.

    Attributes
    ----------
    summary : Summary
    sums : Sums or None
        For the first pass of the centroid update that follows; None if they were not asked for.
    """

    summary: Summary
    sums: Sums | None

    def __add__(self, other: Report) -> Report:
        sums = None if self.sums is None or other.sums is None else self.sums + other.sums
        return Report(self.summary + other.summary, sums)


class NearestFits(NamedTuple):
    """Alignments of n images, each with its nearest centroid alone.

    Attributes
    ----------
    labels : int array of shape (n,)
        The nearest centroids.
    costs : float64 array of shape (n,)
    deltas : float32 array of shape (n, 2, n_basis)
        Warp parameters minus the identity.
    orientations : int8 array of shape (n,)
    """

    labels: IntArray
    costs: FloatArray
    deltas: FloatArray
    orientations: IntArray


class Demand(NamedTuple):
    """What a report should contain.

    Attributes
    ----------
    cutoff : float
        Images that cost more are outliers.
    with_sums : bool
        Whether the sums of the next centroid update are wanted.
    """

    cutoff: float
    with_sums: bool


@dataclass(frozen=True)
class Moments:
    """Number, sum and sum of squares of images, pixel by pixel."""

    n: int
    total: FloatArray
    squares: FloatArray

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def variance(self) -> float:
        """Variance of a pixel, on average."""
        return float((self.squares / self.n - (self.total / self.n) ** 2).mean())


class Assignment(NamedTuple):
    """Which cluster each image belongs to, how well it fits, and how close the second choice is.

    Attributes
    ----------
    labels : int32 array of shape (N,)
        The cluster of each image, as `DIKMeans.predict` returns it; -1 for outliers.
    prototypes : int32 array of shape (N,)
        The nearest prototype, among the prototypes of all clusters.
    costs : array of shape (N,)
        Cost of the alignment with it.
    margins : array of shape (N,)
        How much more the second-best cluster costs: near 0 the image might as well be there. NaN
        if there is only one cluster, or no other comes near. A hopeless second choice is not
        aligned to the end, so large margins are upper bounds. Negative where another cluster costs
        less than the one that a person has chosen.
    orientations : int8 array of shape (N,)
        Number, among `orientation_matrices`, of the orientation that each image is compared in: 0
        if all are upright. See `dikmeans.registration.orientation`.
    warps : float32 array of shape (N, 2, n_basis) or None
        Warp parameters of the oriented image, minus the identity. None where images are not all in
        memory.
    """

    labels: IntArray
    prototypes: IntArray
    costs: FloatArray
    margins: FloatArray
    orientations: IntArray
    warps: FloatArray | None

    def without(self, outliers: BoolArray) -> Assignment:
        """With the label -1 for outliers; which prototype is nearest stays known."""
        return self._replace(labels=np.where(outliers, np.int32(REJECTED), self.labels))

    def subset(self, numbers: IntArray) -> Assignment:
        """The assignment of some of the images."""
        return Assignment(
            self.labels[numbers],
            self.prototypes[numbers],
            self.costs[numbers],
            self.margins[numbers],
            self.orientations[numbers],
            None if self.warps is None else self.warps[numbers],
        )

    def nearest(self, prototype_clusters: IntArray) -> Assignment:
        """With the nearest cluster in place of -1: for whoever shows outliers there."""
        return self._replace(labels=prototype_clusters[self.prototypes].astype(np.int32))

    @classmethod
    def join(cls, parts: Sequence[Assignment]) -> Assignment:
        """One assignment from those of consecutive images."""
        *arrays, warps = zip(*parts, strict=True)
        joined = None if any(w is None for w in warps) else np.concatenate(warps)
        labels, prototypes, costs, margins, orientations = map(np.concatenate, arrays)
        return cls(labels, prototypes, costs, margins, orientations, joined)


def assign(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    before: PairFits | None,
    n_jobs: int | None,
) -> PairFits:
    """Align all images with all centroids: from scratch, or from the warps in `before`.

    With many centroids each image keeps its candidates only, unless there is guidance.
    """
    if not measure.warm_starts:
        before = None
    images, guidance = shard.cast(measure.dtype).images, shard.guidance
    bank = measure.bank(centroids, warm=before is not None)
    # what clusters cost beyond the measure may make a hopeless pair the best
    may_prune = guidance is None or guidance.of_clusters is None
    if before is None:
        fits = align_images(
            measure,
            images,
            bank,
            prune=PRUNE_COLD if may_prune else np.inf,
            narrow=guidance is None,
            n_jobs=n_jobs,
        )
        if guidance is not None:
            fits = _without_pruning(fits, measure, images, bank, guidance.numbers, n_jobs)
    else:
        start = WarmStart(
            before.deltas,
            before.orientations,
            # surcharges are no part of what the measure knows
            costs=before.costs if guidance is None else None,
            centroids=before.centroids,
            keep=before.costs.argmin(axis=1),
        )
        prune = PRUNE_WARM if may_prune else np.inf
        fits = align_images(measure, images, bank, start=start, prune=prune, n_jobs=n_jobs)
    return fits if guidance is None else guidance.charge(fits)


def _without_pruning(
    fits: PairFits,
    measure: Measure,
    images: FloatArray,
    bank: Bank,
    numbers: IntArray,
    n_jobs: int | None,
) -> PairFits:
    """All pairs of some images refined: where a person has put them may look hopeless."""
    if not len(numbers):
        return fits
    refined = align_images(measure, images[numbers], bank, n_jobs=n_jobs)
    for target, replacement in zip(fits, refined, strict=True):
        target[numbers] = replacement
    return fits


def realign(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    before: PairFits,
    columns: IntArray,
    n_jobs: int | None,
) -> PairFits:
    """Align all images from the identity with the centroids `columns`; keep the other pairs."""
    bank, is_few = measure.bank(centroids[columns], columns=columns), len(columns) <= FEW_CENTROIDS
    fresh = align_images(
        measure,
        shard.cast(measure.dtype).images,
        bank,
        # new centroids are compared with each other only: if they are few, none is hopeless
        prune=np.inf if is_few else PRUNE_COLD,
        narrow=not is_few and shard.guidance is None,
        n_jobs=n_jobs,
    )
    fresh = fresh._replace(centroids=columns.astype(np.int32)[fresh.centroids])
    merged = before.replaced(fresh, columns)
    return merged if shard.guidance is None else shard.guidance.charge(merged, columns)


def assign_and_report(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    before: PairFits | None,
    demand: Demand,
    n_jobs: int | None,
) -> tuple[PairFits, NearestFits, Report]:
    """`assign`, with what follows from it."""
    fits = assign(shard, measure, centroids, before, n_jobs)
    return fits, *_report(shard, measure, centroids, fits, before, demand, n_jobs)


def realign_and_report(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    before: PairFits,
    columns: IntArray,
    demand: Demand,
    n_jobs: int | None,
) -> tuple[PairFits, NearestFits, Report]:
    """`realign`, with what follows from it."""
    fits = realign(shard, measure, centroids, before, columns, n_jobs)
    return fits, *_report(shard, measure, centroids, fits, before, demand, n_jobs)


def _report(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    fits: PairFits,
    before: PairFits | None,
    demand: Demand,
    n_jobs: int | None,
) -> tuple[NearestFits, Report]:
    nearest = nearest_fits(fits)
    labels_before = None if before is None else before.labels
    summary = summarize(shard, nearest, labels_before, len(centroids), demand.cutoff)
    sums = None
    if demand.with_sums:
        # in double precision, as the update asks for its first pass
        sums = gather(shard, measure, centroids.astype(np.float64), nearest, demand.cutoff, n_jobs)
    return nearest, Report(summary, sums)


def nearest_fits(fits: PairFits) -> NearestFits:
    """The alignment of each image with its nearest centroid."""
    pairs = fits.nearest
    return NearestFits(fits.labels, fits.costs[pairs], fits.deltas[pairs], fits.orientations[pairs])


def gather(
    shard: Shard,
    measure: Measure,
    centroids: FloatArray,
    nearest: NearestFits,
    cutoff: float,
    n_jobs: int | None,
) -> Sums:
    """What the update of the centroids needs to know of the images; outliers do not count."""
    images = measure.orient(shard.cast(measure.dtype).images, nearest.orientations)
    weights = counted_weights(shard, nearest.costs, cutoff)
    members = Members(images, weights, nearest.labels, nearest.deltas)
    return gather_sums(measure, members, centroids, n_jobs)


def summarize(
    shard: Shard,
    nearest: NearestFits,
    labels_before: IntArray | None,
    n_clusters: int,
    cutoff: float,
) -> Summary:
    """Inertia and cluster sizes, and how many images had another label before."""
    weights = counted_weights(shard, nearest.costs, cutoff)
    sizes = weight_per_cluster(nearest.labels, weights, n_clusters)
    is_moved = True if labels_before is None else nearest.labels != labels_before
    # images without weight must not keep a fit from ending
    n_moved = np.count_nonzero(is_moved & (shard.weights > 0))
    # an outlier costs as much as the cutoff, wherever it lies
    n_outside = float((shard.weights - weights).sum())
    excess = cutoff * n_outside if n_outside else 0.0
    return Summary(float(weights @ nearest.costs) + excess, sizes, int(n_moved))


def summarize_again(shard: Shard, nearest: NearestFits, n_clusters: int, cutoff: float) -> Report:
    """A report on images that have not been aligned anew: none has moved."""
    return Report(summarize(shard, nearest, nearest.labels, n_clusters, cutoff), None)


def costs_of(nearest: NearestFits) -> FloatArray:
    """The cost of each image to its nearest centroid."""
    return nearest.costs


def counted_weights(shard: Shard, costs: FloatArray, cutoff: float) -> FloatArray:
    """Weights of the images; those of outliers, which cost more than the cutoff, are zero.

    Images that a person has placed are none, whatever they cost.
    """
    outside = costs > cutoff
    if shard.guidance is not None:
        outside[shard.guidance.numbers] = False
    return np.where(outside, 0.0, shard.weights)


def evaluate(
    shard: Shard,
    measure: Measure,
    prototypes: FloatArray,
    clusters: IntArray,
    of_clusters: FloatArray | None,
    keep_warps: bool,
    n_jobs: int | None,
) -> Assignment:
    """Assign images to fixed prototypes from a cold start, as `predict` does."""
    images, bank = shard.cast(measure.dtype).images, measure.bank(prototypes.astype(measure.dtype))
    guidance = shard.guidance
    may_prune = of_clusters is None or not of_clusters.any()
    of_prototypes = np.zeros(len(clusters)) if of_clusters is None else of_clusters[clusters]

    def assign_batch(part: slice) -> Assignment:
        prune = PRUNE_COLD if may_prune else np.inf
        fits = measure.align(images[part], bank, prune=prune, narrow=may_prune)
        return _nearest(fits, of_prototypes, 0.0, clusters, keep_warps)

    assigned = Assignment.join(run_threads(assign_batch, *batches_for(measure, images, n_jobs)))
    if guidance is not None and len(guidance.numbers):
        # none of their pairs is pruned: where a person has put an image may look hopeless
        fits = align_images(measure, images[guidance.numbers], bank, n_jobs=n_jobs)
        of_images = guidance.surcharges[:, clusters]
        of_images = of_images + guidance.linked(fits.costs + of_prototypes + of_images, clusters)
        placed = _nearest(fits, of_prototypes, of_images, clusters, keep_warps)
        columns: Iterable[tuple[Array | None, Array | None]] = zip(assigned, placed, strict=True)
        for column, replacement in columns:
            if column is not None:
                column[guidance.numbers] = replacement
    return assigned


def _nearest(
    fits: PairFits,
    of_prototypes: FloatArray,
    of_images: FloatArray | float,
    clusters: IntArray,
    keep_warps: bool,
) -> Assignment:
    """The nearest prototypes by cost and surcharges; those of images do not enter the margins."""
    costs, cluster_of = fits.costs + of_prototypes[fits.centroids], clusters[fits.centroids]
    nearest = (costs + of_images).argmin(axis=1)
    pairs = np.arange(len(costs)), nearest
    labels = cluster_of[pairs]
    elsewhere = np.where(cluster_of == labels[:, None], np.inf, costs).min(axis=1)
    margins = np.where(np.isfinite(elsewhere), elsewhere - costs[pairs], np.nan)
    return Assignment(
        labels.astype(np.int32),
        fits.centroids[pairs].astype(np.int32),
        fits.costs[pairs],
        margins,
        fits.orientations[pairs],
        fits.deltas[pairs] if keep_warps else None,
    )


def costs_to_clusters(
    shard: Shard,
    measure: Measure,
    prototypes: FloatArray,
    clusters: IntArray,
    n_jobs: int | None,
) -> FloatArray:
    """Costs (n, K) to all clusters, every pair refined to the end."""
    bank = measure.bank(prototypes.astype(measure.dtype))
    costs = cost_matrix(measure, shard.cast(measure.dtype).images, bank, n_jobs=n_jobs)
    return cluster_costs(costs, clusters)


def worst_fitting(
    shard: Shard, nearest: NearestFits, count: int, cutoff: float
) -> tuple[FloatArray, IntArray]:
    """Costs and numbers of the images that fit their centroids worst, the worst last; no outlier.

    Nor one that a person has placed: it would have to stay where it is.
    """
    costs = nearest.costs
    free = (shard.weights > 0) & (costs <= cutoff)
    if shard.guidance is not None:
        free[shard.guidance.numbers] = False
    costs = np.where(free, costs, -1.0)
    worst = np.argsort(costs, kind="stable")[::-1][:count][::-1]
    return costs[worst], worst


def take_images(shard: Shard, numbers: IntArray) -> FloatArray:
    """Some of the images."""
    return shard.images[numbers]


def moments(shard: Shard) -> Moments:
    """Sums over the images, pixel by pixel."""
    images = shard.images
    return Moments(
        len(images),
        images.sum(axis=0, dtype=np.float64),
        np.einsum("n...,n...->...", images, images, dtype=np.float64),
    )


def digests(shard: Shard) -> tuple[str, str]:
    """Fingerprints of the images and of their weights."""
    return digest(shard.images), digest(shard.weights)


def digest(array: Array) -> str:
    """A fingerprint of every bit of an array; its shape and type do not enter."""
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(content.data, digest_size=16).hexdigest()


# -- alignments in files -----------------------------------------------------------------------


def write_fits(path: Path, fits: PairFits) -> None:
    """Keep alignments in a file: whole or absent, and flushed to the disk."""
    write_tensor_file(path, FITS_FORMAT, FITS_VERSION, {}, fits._asdict())


def spill_fits(path: Path, fits: PairFits | NearestFits) -> None:
    """Write alignments that need not outlive the process: not flushed to the disk."""
    kind = NEAREST_FORMAT if isinstance(fits, NearestFits) else FITS_FORMAT
    with open(path, "xb") as stream:
        write_tensors(stream, kind, FITS_VERSION, {}, fits._asdict())


def read_nearest_fits(path: Path) -> NearestFits:
    """The alignments with the nearest centroids that `spill_fits` has written."""
    return NearestFits(**read_tensor_file(path, NEAREST_FORMAT, FITS_VERSION, "state of a fit")[1])


def read_fits(path: Path, shape: tuple[int, int] | None = None) -> PairFits:
    """Alignments from a file.

    Parameters
    ----------
    path : pathlib.Path
    shape : tuple of int, optional
        The expected numbers of images and centroids.

    Raises
    ------
    TensorFileError
        The file is damaged, or holds something else.
    """
    _, tensors = read_tensor_file(path, FITS_FORMAT, FITS_VERSION, "state of a fit")
    if set(tensors) == set(_FITS_TYPES):
        n_columns = tensors["costs"].shape[1]
        n, k = (len(tensors["costs"]), n_columns) if shape is None else shape
        is_whole = n_columns in (k, min(k, MAX_CANDIDATES)) and all(
            tensor.shape[:2] == (n, n_columns) and tensor.dtype == _FITS_TYPES[field]
            for field, tensor in tensors.items()
        )
        numbers = tensors["centroids"]
        if is_whole and (shape is None or ((numbers >= 0) & (numbers < k)).all()):
            return PairFits(**tensors)
    wanted = "" if shape is None else f" of {shape[0]} images with {shape[1]} centroids"
    raise TensorFileError(path, f"it does not hold the alignments{wanted}")
