"""Everything that a report computes: alignments, the next-best clusters, K-means, the map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.datasets import ImageSet
from dikmeans.evaluation.embedding import embed
from dikmeans.kmeans.shard import Assignment
from dikmeans.registration.result import Alignments
from dikmeans.report.baseline import Baseline, fit_baseline
from dikmeans.report.explanations import Setting, explain_settings
from dikmeans.report.sample import choose_shown

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

# A picture is shown aligned with its own cluster and with the next-best ones, so many in all.
N_CANDIDATES = 3

ReportProgress: TypeAlias = Callable[[float, str], None]


@dataclass(frozen=True)
class ReportContents:
    """All that a report shows, before it is drawn.

    Attributes
    ----------
    model : DIKMeans
    assignment : Assignment
        Of all N pictures.
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
    """

    model: DIKMeans
    assignment: Assignment
    energy: float
    mean_bending: FloatArray
    shown: IntArray
    costs: FloatArray
    candidates: list[Alignments]
    baseline: Baseline | None
    positions: FloatArray
    settings: list[Setting]


def collect_contents(
    model: DIKMeans,
    image_set: ImageSet,
    assignment: Assignment | None,
    max_pictures: int,
    tell: ReportProgress,
) -> ReportContents:
    """Compute what the report of `model` on `image_set` shows."""
    images = image_set.images
    tell(0.0, "assigning pictures to clusters")
    if assignment is None:
        assignment = model.assign(images)
    # a picture that belongs to no cluster is shown in the one it is nearest to
    assignment = assignment.nearest(model.prototype_clusters_)
    shown = choose_shown(assignment.labels, max_pictures, int(np.prod(images.shape[1:3])))
    if assignment.warps is None:  # then only the pictures that are shown are aligned
        alignments = shown_alignments = model.align(images[shown], assignment.labels[shown])
    else:
        alignments = model.align_assigned(images, assignment)
        shown_alignments = alignments.subset(shown)
    preprocessed = alignments.image.reshape(len(alignments), -1)

    tell(0.1, "aligning pictures with the next-best clusters")
    costs = model.transform(images[shown])
    candidates = rank_candidates(shown_alignments, costs, model.n_jobs)

    baseline = None
    if model.warp != "none":
        tell(0.4, "K-means for comparison")
        baseline = fit_baseline(model, images, assignment.labels)
    tell(0.5, "a map of the pictures")
    return ReportContents(
        model=model,
        assignment=assignment,
        energy=float(np.square(preprocessed).sum(axis=1, dtype=np.float64).mean()) or 1.0,
        mean_bending=cluster_means(alignments.bending_cost, alignments.labels, model.n_clusters),
        shown=shown,
        costs=costs,
        candidates=candidates,
        baseline=baseline,
        positions=embed(shown_alignments.aligned),
        settings=explain_settings(model, alignments.warp),
    )


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
