"""Everything that a report computes: thumbnails, alignments, likeness, K-means, the map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dikmeans._typing import Array, BoolArray, FloatArray, IntArray
from dikmeans.datasets import ImageSet
from dikmeans.evaluation.embedding import embed
from dikmeans.frames import Crops
from dikmeans.images import as_pictures
from dikmeans.kmeans.shard import Assignment
from dikmeans.registration.result import Alignments
from dikmeans.report.baseline import Baseline, fit_baseline
from dikmeans.report.explanations import Setting, explain_settings
from dikmeans.report.likeness import Likeness, compare_clusters
from dikmeans.report.sample import choose_shown
from dikmeans.report.thumbnails import Thumbnails, make_thumbnails, unaligned_means
from dikmeans.runs.originals import Originals
from dikmeans.runs.portraits import Portraits

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

# A picture is shown aligned with its own cluster and with the next-best ones, so many in all.
N_CANDIDATES = 3

ReportProgress: TypeAlias = Callable[[float, str], None]


@dataclass(frozen=True)
class Extent:
    """How much a page computes beside its pictures.

    Attributes
    ----------
    baseline, likeness, map : bool
        K-means for comparison, how alike clusters are, and the map.
    portraits : Portraits or None
        Of the prototypes, if they have been made already.
    names : sequence of str or None
        What the clusters are called; by default as the model says.
    """

    baseline: bool = True
    likeness: bool = True
    map: bool = True
    portraits: Portraits | None = None
    names: Sequence[str | None] | None = None


@dataclass(frozen=True)
class ReportContents:
    """All that a report shows, before it is drawn.

    Attributes
    ----------
    model : DIKMeans
    assignment : Assignment
        Of all N pictures; outliers are with the cluster that they are nearest to.
    outliers : bool array of shape (N,)
        Which pictures belong to no cluster. They are shown apart, and count in none.
    energy : float
        Mean squared norm of a preprocessed picture: the unit of costs on the page.
    mean_bending : array of shape (K,)
        Mean bending cost of the members of each cluster; NaN if it has none.
    shown : int array of shape (n,)
        Indices of the pictures that the page shows.
    costs : array of shape (n, K)
        Costs of those to all clusters, every pair refined to the end.
    candidates : list of Alignments
        Those pictures aligned with their own cluster, with the next-best one, and so on.
    baseline : Baseline or None
        K-means; None if the model is K-means itself.
    positions : array of shape (n, 2)
        Where those pictures lie on the map, in [0, 1].
    settings : list of Setting
    crops : Crops
        How preprocessing has moved and scaled those pictures.
    thumbnails : Thumbnails or None
        Their originals, and the portraits of the prototypes; None for signals, which are curves.
    unaligned : uint8 array of shape (K, rows, columns[, 3]) or None
        Means of the originals in the clusters of K-means.
    likeness : Likeness or None
        How alike clusters are.
    names : sequence of str or None
        What people call the clusters.
    """

    model: DIKMeans
    assignment: Assignment
    outliers: BoolArray
    energy: float
    mean_bending: FloatArray
    shown: IntArray
    costs: FloatArray
    candidates: list[Alignments]
    baseline: Baseline | None
    positions: FloatArray
    settings: list[Setting]
    crops: Crops
    thumbnails: Thumbnails | None
    unaligned: Array | None
    likeness: Likeness | None
    names: Sequence[str | None]


def collect_contents(
    model: DIKMeans,
    image_set: ImageSet,
    originals: Originals,
    assignment: Assignment | None,
    max_pictures: int,
    tell: ReportProgress,
    extent: Extent | None = None,
) -> ReportContents:
    """Compute what the report of `model` on `image_set` shows."""
    images, extent = image_set.images, extent or Extent()
    tell(0.0, "assigning pictures to clusters")
    if assignment is None:
        assignment = model.assign(images)
    members, outliers = assignment, assignment.labels < 0
    # how a picture that belongs to no cluster fits is shown with the one it is nearest to
    assignment = members.nearest(model.prototype_clusters_)
    shown = choose_shown(members.labels, max_pictures, int(np.prod(images.shape[1:3])))
    alignments, shown_alignments = _align(model, images, assignment, shown)
    preprocessed = alignments.image.reshape(len(alignments), -1)

    tell(0.05, "reading the originals")
    warp = alignments.warp
    crops = model.preprocessing_.crops(as_pictures(images[shown], model.image_shape_)[0])
    thumbnails = None
    if len(warp.grid.live_axes) == 2:
        thumbnails = make_thumbnails(model, image_set, originals, members, shown, extent.portraits)

    tell(0.2, "aligning pictures with the next-best clusters")
    costs = model.transform(images[shown])
    candidates = rank_candidates(shown_alignments, costs, model.n_jobs)

    baseline = unaligned = None
    if extent.baseline and model.warp != "none":
        tell(0.5, "K-means for comparison")
        baseline = fit_baseline(model, images, assignment.labels)
        if thumbnails is not None:
            labels, shape = baseline.labels[shown], (images.shape[1], images.shape[2])
            unaligned = unaligned_means(thumbnails.cells, labels, model.n_clusters, crops, shape)
    tell(0.55, "comparing clusters with each other")
    likeness = compare_clusters(model, warp) if extent.likeness else None
    tell(0.6, "a map of the pictures")
    inside = np.flatnonzero(~(outliers[shown] if alignments is shown_alignments else outliers))
    nowhere = np.zeros((len(shown), 2))
    return ReportContents(
        model=model,
        assignment=assignment,
        outliers=outliers,
        energy=float(np.square(preprocessed).sum(axis=1, dtype=np.float64).mean()) or 1.0,
        mean_bending=cluster_means(
            alignments.bending_cost[inside], alignments.labels[inside], model.n_clusters
        ),
        shown=shown,
        costs=costs,
        candidates=candidates,
        baseline=baseline,
        positions=embed(shown_alignments.aligned) if extent.map else nowhere,
        settings=explain_settings(model, warp),
        crops=crops,
        thumbnails=thumbnails,
        unaligned=unaligned,
        likeness=likeness,
        names=extent.names or model.cluster_names_,
    )


def _align(
    model: DIKMeans, images: Array, assignment: Assignment, shown: IntArray
) -> tuple[Alignments, Alignments]:
    """Alignments of all pictures, and of those that are shown.

    Where warps were not kept, only the latter are aligned, and stand for all.
    """
    if assignment.warps is None:
        alignments = model.align(images[shown], assignment.labels[shown])
        return alignments, alignments
    alignments = model.align_assigned(images, assignment)
    return alignments, alignments.subset(shown)


def rank_candidates(
    assigned: Alignments, costs: FloatArray, n_jobs: int | None
) -> list[Alignments]:
    """The alignments with the assigned cluster, then those with the others, cheapest first."""
    ranking = costs.astype(np.float64)
    # the assigned cluster comes first even where, in a near-tie, another one is cheaper
    ranking[np.arange(len(assigned)), assigned.labels] = -np.inf
    order = np.argsort(ranking, axis=1, kind="stable")
    ranks = range(1, min(N_CANDIDATES, costs.shape[1]))
    return [assigned, *(assigned.onto(order[:, rank], n_jobs=n_jobs) for rank in ranks)]


def cluster_means(values: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """The mean of `values` in each cluster; NaN if it is empty."""
    counts = np.bincount(labels, minlength=n_clusters)
    sums = np.bincount(labels, values, minlength=n_clusters)
    return np.divide(sums, counts, out=np.full(n_clusters, np.nan), where=counts > 0)
