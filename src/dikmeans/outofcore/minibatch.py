r"""Streaming fits: images come in batches and are seen once.

The first images are collected, as many as the search works on (`Search.sample_size`), and searched
as `fit` would; a search is made whenever their number has doubled, so that there is a model from
the first batch on and all searches together cost hardly more than twice the last one. Then the
collection is dropped, the measure is settled (learned prior included), and every further batch
moves the prototypes a little: its images are aligned and summed up as in an iteration of Lloyd's
algorithm, and the images before them count as sums that leave the prototypes where they are, with
the weight of all members so far. A prototype thus is the mean over all images that came to it, as
in MacQueen's K-means and scikit-learn's `MiniBatchKMeans`.

What is kept between batches is the model, one weight per prototype, and at first the first images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.kmeans.centroid_update import (
    Members,
    gather_sums,
    unmoving_sums,
    update_step,
    weight_per_cluster,
)
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.outliers import OutlierRule
from dikmeans.kmeans.shard import Assignment, Shard
from dikmeans.registration.measure import Measure


@dataclass(frozen=True)
class FirstImages:
    """The images of the first batches.

    Attributes
    ----------
    wanted : int
        How many are collected.
    batches : tuple of Shard
    searched : int
        How many there were at the last search.
    """

    wanted: int
    batches: tuple[Shard, ...] = ()
    searched: int = 0

    def __len__(self) -> int:
        return sum(len(batch.images) for batch in self.batches)

    @property
    def complete(self) -> bool:
        """Whether there are enough."""
        return len(self) >= self.wanted

    @property
    def needs_search(self) -> bool:
        """Whether there are enough, or twice as many as at the last search."""
        return self.complete or len(self) >= 2 * self.searched

    def with_batch(self, batch: Shard) -> FirstImages:
        """One batch more."""
        return replace(self, batches=(*self.batches, batch))

    def after_search(self) -> FirstImages | None:
        """What is still to be collected after a search; None if nothing."""
        return None if self.complete else replace(self, searched=len(self))

    def joined(self) -> Shard:
        """All images so far."""
        images, weights, _ = zip(*self.batches, strict=True)
        return Shard(np.concatenate(images), np.concatenate(weights))


class Absorbed(NamedTuple):
    """A model after a batch.

    Attributes
    ----------
    prototypes : array of shape (M, C, rows, columns)
    weights : array of shape (M,)
        Weight of all images so far, per prototype.
    assignment : Assignment
        Of the batch, to the prototypes before it.
    inertia : float
        Of the batch.
    """

    prototypes: FloatArray
    weights: FloatArray
    assignment: Assignment
    inertia: float


def absorb(
    batch: Dataset,
    measure: Measure,
    prototypes: FloatArray,
    clusters: IntArray,
    weights: FloatArray,
    outlier_rule: OutlierRule,
    surcharges: FloatArray | None = None,
) -> Absorbed:
    """Let a batch move the prototypes, against the weight of the images before it.

    Parameters
    ----------
    batch : Dataset
        In memory.
    measure : Measure
    prototypes : array of shape (M, C, rows, columns)
    clusters : int array of shape (M,)
        The cluster of each prototype.
    weights : array of shape (M,)
        Weight of all images so far, per prototype.
    outlier_rule : OutlierRule
        Outliers of the batch move nothing.
    surcharges : array of shape (K,), optional
        What clusters cost beyond the measure when the nearest is chosen.
    """
    assignment = batch.evaluate(measure, prototypes, clusters, surcharges)
    outliers = outlier_rule.are_outliers(assignment.costs, assignment.labels)
    assignment = assignment.without(outliers)
    assert assignment.warps is not None
    images, batch_weights, _ = batch.local().cast(measure.dtype)
    batch_weights = np.where(outliers, 0.0, batch_weights)
    images = measure.orient(images, assignment.orientations)
    members = Members(images, batch_weights, assignment.prototypes, assignment.warps)
    current = prototypes.astype(measure.dtype)
    past = unmoving_sums(measure, current.astype(np.float64), weights)
    moved = update_step(
        measure, current, past + gather_sums(measure, members, current, batch.n_jobs)
    )
    sizes = weight_per_cluster(assignment.prototypes, batch_weights, len(prototypes))
    return Absorbed(
        moved.astype(prototypes.dtype),
        weights + sizes,
        assignment,
        float(batch_weights @ assignment.costs),
    )
