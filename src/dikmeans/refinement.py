"""Refine a fitted model by a person's corrections: a warm re-fit, in seconds.

The fit goes on from the corrected state. Every cluster keeps the prototypes that the corrections
leave it; a cluster that is made of chosen images gets prototypes of theirs. Then a few iterations
of Lloyd's algorithm move the prototypes: an image belongs to the cluster of its cheapest prototype,
unless a person has said where it belongs, or that it belongs to or apart from others. Nothing is
searched for: no swaps, no other number of clusters than the corrections say. The deformation priors
stay; clusters that are merged share the mean of theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dikmeans._typing import Array, ArrayLike, FloatArray, IntArray
from dikmeans.errors import DikmeansError
from dikmeans.estimator import DIKMeans
from dikmeans.images import (
    check_weights,
    from_channels_first,
    scale_to_unit_norm,
    to_channels_first,
)
from dikmeans.kmeans.centroid_update import weight_per_cluster
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.guidance import FREE, REJECTED, Guidance
from dikmeans.kmeans.history import History, IterationRecord
from dikmeans.kmeans.links import LinkError, Links
from dikmeans.kmeans.lloyd import OUT_OF_ITERATIONS, descend
from dikmeans.kmeans.outliers import cutoff_for, learn_rule
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.prototypes import DIVISION_ITERATIONS, DIVISION_TOL, prototype_rule
from dikmeans.kmeans.seeding import measure_plus_plus
from dikmeans.kmeans.shard import Assignment
from dikmeans.parallel.cancel import IsCancelled, cancellable
from dikmeans.registration.measure import Measure

PHASE = "refinement"
MAX_ITERATIONS, TOLERANCE = 10, 1e-3
# An image resists a decision if another cluster costs less than this part of the chosen one.
RESISTS = 0.8
# A rejected image resists if it fits its nearest cluster better than half of the members do.
TYPICAL_SCORE = 0.0


class RefinementError(DikmeansError, ValueError):
    """Corrections that do not fit the model or the images."""


@dataclass(frozen=True)
class Corrections:
    """What a person wants of a clustering.

    Attributes
    ----------
    clusters : tuple of tuples of int
        One entry per cluster of the refined model: its prototypes, by number among `prototypes_`.
        Every prototype is named at most once. A cluster without any gets those of the images that
        are pinned to it.
    pinned : mapping from int to int
        Images (by number) that must be in a cluster (by its place in `clusters`).
    forbidden : mapping from int to set of int
        Images that must not be in some clusters.
    rejected : frozenset of int
        Images that belong to no cluster.
    must_link, cannot_link : tuples of (int, int)
        Pairs of images that must be in the same cluster, or must not, whichever it is. They are
        assigned jointly, at the least total cost, and are never outliers. Links hold for this
        refinement; they are not kept in the model.
    weights : tuple of float or None
        How readily clusters take images: an image goes to the cluster with the lowest
        ``cost - temperature_ * log(weight)``, where `temperature_` is that of the model before. So
        memberships are multiplied by the weights: with weights 1 and 3, an image that fits both
        clusters alike goes to the second one, and belongs to it with 75 %. Only ratios count; they
        hold for `predict` too. By default all are alike.
    fixed : frozenset of int
        Clusters whose prototypes stay as they are.
    ids, names : tuples
        Of the clusters; by default those of the model, if it has as many.
    """

    clusters: tuple[tuple[int, ...], ...]
    pinned: Mapping[int, int] = field(default_factory=dict)
    forbidden: Mapping[int, frozenset[int]] = field(default_factory=dict)
    rejected: frozenset[int] = frozenset()
    must_link: tuple[tuple[int, int], ...] = ()
    cannot_link: tuple[tuple[int, int], ...] = ()
    weights: tuple[float, ...] | None = None
    fixed: frozenset[int] = frozenset()
    ids: tuple[str, ...] | None = None
    names: tuple[str | None, ...] | None = None

    @classmethod
    def none(cls, model: DIKMeans) -> Corrections:
        """Every cluster with its prototypes, and what was decided before."""
        owners, decided = model.prototype_clusters_, model.decided_
        surcharges, temperature = model.cluster_surcharges_, model.temperature_
        weights = np.exp(-surcharges / temperature) if surcharges.any() and temperature else None
        return cls(
            tuple(tuple(np.flatnonzero(owners == k).tolist()) for k in range(model.n_clusters)),
            pinned={int(i): int(decided[i]) for i in np.flatnonzero(decided >= 0)},
            rejected=frozenset(np.flatnonzero(decided == REJECTED).tolist()),
            weights=None if weights is None else tuple(weights.tolist()),
            ids=model.cluster_ids_,
            names=model.cluster_names_,
        )

    def guidance(self, of_clusters: FloatArray | None = None) -> Guidance | None:
        """The same as surcharges; `LinkError` if images are linked both ways."""
        links = Links.build(self.must_link, self.cannot_link)
        return Guidance.build(
            len(self.clusters),
            self.pinned,
            self.forbidden,
            links=links,
            of_clusters=of_clusters,
        )


class Iteration(NamedTuple):
    """Something has happened during a refinement.

    Attributes
    ----------
    number : int
        Of the iteration, from 1.
    of : int
        Iterations, at most.
    inertia : float
    moved : int
        Images that changed their prototype.
    """

    number: int
    of: int
    inertia: float
    moved: int


RefinementSink: TypeAlias = Callable[[Iteration], None]
"""Hears of every iteration."""


class Resistance(NamedTuple):
    """A decision that the data speaks against.

    Attributes
    ----------
    image : int
    decided : int
        The cluster it was put in; -1 if it was rejected.
    rather : int
        The cluster where it would be otherwise.
    cost, cost_elsewhere : float
        Where it is (NaN if it was rejected), and there.
    """

    image: int
    decided: int
    rather: int
    cost: float
    cost_elsewhere: float


def refine(
    model: DIKMeans,
    X: Array,
    corrections: Corrections,
    *,
    sample_weight: ArrayLike | None = None,
    max_iter: int = MAX_ITERATIONS,
    progress: RefinementSink | None = None,
    is_cancelled: IsCancelled | None = None,
) -> DIKMeans:
    """A new model, fitted from the corrected state of another; that one is left as it is.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    X : array of images
        Those it was fitted on, in the same order; in memory.
    corrections : Corrections
    sample_weight : array of shape (N,), optional
    max_iter : int, default=10
        Iterations, at most.
    progress : callable, optional
        Called after every iteration.
    is_cancelled : callable, optional
        Asked all the time, from any thread: once it returns True, the refinement ends within the
        time that a few dozen images take.

    Raises
    ------
    RefinementError
        The corrections name images, prototypes or clusters that do not exist, or contradict each
        other.
    Cancelled
        `is_cancelled` has asked for it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans
    >>> X = load_digits().images[:100]
    >>> model = DIKMeans(5, n_prototypes=1, random_state=0).fit(X)
    >>> merged = refine(model, X, Corrections(((0, 1), (2,), (3,), (4,)), pinned={7: 0}))
    >>> merged.n_clusters, int(merged.labels_[7])
    (4, 0)
    """
    check_is_fitted(model)
    n = len(model.labels_)
    if len(X) != n:
        raise RefinementError(f"X has {len(X)} images, but the model was fitted on {n}.")
    check_corrections(corrections, n, len(model.prototypes_))
    weights = check_weights(sample_weight, n)
    weights[list(corrections.rejected)] = 0.0
    with cancellable(is_cancelled):
        images = Dataset.in_memory(model.preprocess(X), weights, model.n_jobs)
        start = _corrected_start(model, images, corrections)
        refit = _Refit(model, corrections, start, images)
        return refit.result(*refit.descend(max_iter, progress))


def check_corrections(corrections: Corrections, n_images: int, n_prototypes: int) -> None:
    """Raise `RefinementError` for anything that does not exist or contradicts itself."""
    n_clusters = len(corrections.clusters)
    if not n_clusters:
        raise RefinementError("There must be a cluster left.")
    linked = {image for pair in _pairs(corrections) for image in pair}
    images = {*corrections.pinned, *corrections.forbidden, *corrections.rejected, *linked}
    _refuse(images, n_images, "image")
    named = [prototype for prototypes in corrections.clusters for prototype in prototypes]
    _refuse(set(named), n_prototypes, "prototype")
    if len(set(named)) < len(named):
        raise RefinementError("A prototype belongs to one cluster: some are named twice.")
    places = {*corrections.pinned.values(), *corrections.fixed}
    _refuse(places.union(*corrections.forbidden.values()), n_clusters, "cluster")
    both = sorted(corrections.rejected & {*corrections.pinned})
    if both:
        raise RefinementError(f"Image {both[0]} is both rejected and pinned to a cluster.")
    for image, clusters in corrections.forbidden.items():
        if len(clusters) == n_clusters or corrections.pinned.get(image) in clusters:
            raise RefinementError(f"Image {image} is forbidden in every cluster it may be in.")
    for cluster, prototypes in enumerate(corrections.clusters):
        if not prototypes and cluster not in corrections.pinned.values():
            raise RefinementError(f"Cluster {cluster} has neither prototypes nor pinned images.")
    _check_links(corrections, linked)
    _check_cluster_weights(corrections)


def _pairs(corrections: Corrections) -> list[tuple[int, int]]:
    pairs = [*corrections.must_link, *corrections.cannot_link]
    odd = [pair for pair in pairs if len(pair) != 2]
    if odd:
        raise RefinementError(f"A link is between two images: {odd[0]} names {len(odd[0])}.")
    return pairs


def _check_links(corrections: Corrections, linked: set[int]) -> None:
    outside = sorted(corrections.rejected & linked)
    if outside:
        raise RefinementError(
            f"Image {outside[0]} is rejected, so it cannot be linked to another: it has no cluster."
        )
    try:
        guidance = corrections.guidance()
        if guidance is not None:  # whether there is any way at all, whatever it costs
            guidance.linked(guidance.surcharges, np.arange(len(corrections.clusters)))
    except LinkError as error:
        raise RefinementError(f"{error} Take a link, a pin or a ban of theirs back.") from error


def _check_cluster_weights(corrections: Corrections) -> None:
    weights, n_clusters = corrections.weights, len(corrections.clusters)
    if weights is None:
        return
    if len(weights) != n_clusters:
        raise RefinementError(f"There are {len(weights)} weights for {n_clusters} clusters.")
    for cluster, weight in enumerate(weights):
        if not (weight > 0 and np.isfinite(weight)):
            raise RefinementError(
                f"The weight of cluster {cluster} is {weight}: it should be above 0. To let no "
                "more images in, give it a small one."
            )


def _refuse(numbers: set[int], count: int, what: str) -> None:
    odd = sorted(number for number in numbers if not 0 <= number < count)
    if odd:
        raise RefinementError(f"There is no {what} {odd[0]}: they go from 0 to {count - 1}.")


class _Start(NamedTuple):
    """Prototypes to begin with: pictures (M, C, rows, columns), clusters (M,), and the priors."""

    pictures: FloatArray
    clusters: IntArray
    precision: FloatArray | None


def _corrected_start(model: DIKMeans, images: Dataset, corrections: Corrections) -> _Start:
    """The prototypes that the corrections leave every cluster, or those of its images."""
    precision = _priors(model, corrections)
    flat = model.prototypes_.reshape(len(model.prototypes_), -1)
    known = to_channels_first(flat, model.compared_shape_)
    pictures = []
    for cluster, prototypes in enumerate(corrections.clusters):
        if prototypes:
            pictures.append(known[list(prototypes)])
            continue
        chosen = [image for image, place in corrections.pinned.items() if place == cluster]
        prior = None if precision is None else precision[cluster]
        pictures.append(_prototypes_of(model, images, np.array(sorted(chosen)), prior))
    counts = [len(part) for part in pictures]
    return _Start(np.concatenate(pictures), np.repeat(np.arange(len(counts)), counts), precision)


def _priors(model: DIKMeans, corrections: Corrections) -> FloatArray | None:
    """One prior per cluster: the mean of those of its prototypes' former clusters.

    Covariances are averaged. A cluster of chosen images gets the mean over all.
    """
    if model.deformation_precision_ is None:
        return None
    covariances = np.linalg.inv(model.deformation_precision_)
    owners, weights = model.prototype_clusters_, model.prototype_weights_
    priors = []
    for prototypes in corrections.clusters:
        chosen = list(prototypes) or list(range(len(owners)))
        former = owners[chosen]
        if len(set(former.tolist())) == 1:
            priors.append(model.deformation_precision_[former[0]])
            continue
        shares = weights[chosen] + np.finfo(float).tiny
        priors.append(np.linalg.inv(np.average(covariances[former], axis=0, weights=shares)))
    stacked = np.stack(priors)
    return (stacked + stacked.swapaxes(1, 2)) / 2


def _prototypes_of(
    model: DIKMeans, images: Dataset, members: IntArray, prior: FloatArray | None
) -> FloatArray:
    """Prototypes of images that are to be a cluster."""
    n_prototypes = prototype_rule(model.n_prototypes, model.warp).number_for(len(members))
    precision = None if prior is None else np.repeat(prior[None], n_prototypes, axis=0)
    measure = model.measure_.build(model.image_shape_, precision)
    part = images.subset(members).cast(measure.dtype)
    rng = np.random.RandomState(0)
    seeds = part.local().images[measure_plus_plus(part, measure, n_prototypes, rng)]
    start = part.assign(measure, scale_to_unit_norm(seeds) if measure.unit_norm else seeds)
    divided = descend(part, measure, start, max_iter=DIVISION_ITERATIONS, tol=DIVISION_TOL)
    return to_mean_pose(part, measure, divided).astype(images.dtype)


class _Refit:
    """Lloyd's algorithm on the prototypes of all clusters, from a corrected start."""

    def __init__(self, model: DIKMeans, corrections: Corrections, start: _Start, images: Dataset):
        self._model, self._corrections, self._start = model, corrections, start
        self._images = images
        precision = None if start.precision is None else start.precision[start.clusters]
        spec = replace(model.measure_, solver=model.solver)
        self._measure: Measure = spec.build(model.image_shape_, precision)
        self._fixed = np.isin(start.clusters, list(corrections.fixed))
        weights = corrections.weights
        n_clusters = len(corrections.clusters)
        self._surcharges = np.zeros(n_clusters)
        if weights is not None:
            self._surcharges = model.temperature_ * np.log(max(weights) / np.array(weights))
        guidance = corrections.guidance(None if weights is None else self._surcharges)
        # prototypes are what is moved, but people speak of clusters
        self._guidance = None if guidance is None else guidance._replace(columns=start.clusters)

    def descend(self, max_iter: int, progress: RefinementSink | None) -> tuple[FloatArray, History]:
        """Move the prototypes; returns them with the history."""
        measure, records = self._measure, []
        images = self._images.cast(measure.dtype).guided(self._guidance)
        clustering = images.assign(measure, self._start.pictures.astype(measure.dtype))
        cutoff = cutoff_for(self._model.outliers, images.nearest_costs(clustering), images.weights)
        images = images.trimmed(cutoff)
        clustering, stopped = images.summarized(clustering), OUT_OF_ITERATIONS
        for number in range(1, max_iter + 1):
            clock, before = time.perf_counter(), clustering
            moved = images.move_centroids(measure, before)
            moved[self._fixed] = before.centroids[self._fixed]
            clustering = images.assign(measure, moved, start=before)
            n_moved, inertia = clustering.summary.moved, clustering.inertia
            seconds = time.perf_counter() - clock
            records.append(IterationRecord(PHASE, inertia, len(images), n_moved, seconds))
            if progress is not None:
                progress(Iteration(number, max_iter, inertia, n_moved))
            if before.inertia - inertia <= TOLERANCE * before.inertia:
                stopped = "converged"
                break
        return clustering.centroids, History(records, stopped)

    def result(self, pictures: FloatArray, history: History) -> DIKMeans:
        """The refined model, every image assigned from a cold start."""
        start, corrections, images = self._start, self._corrections, self._images
        pictures = pictures.astype(images.dtype)
        guided = images.guided(self._guidance)
        assignment = guided.evaluate(self._measure, pictures, start.clusters, self._surcharges)
        pictures, clusters, assignment = _without_empty(pictures, start.clusters, assignment)
        decided = np.full(len(images), FREE)
        decided[list(corrections.pinned)] = list(corrections.pinned.values())
        decided[list(corrections.rejected)] = REJECTED
        return self._as_model(pictures, clusters, assignment, decided, history)

    def _as_model(
        self,
        pictures: FloatArray,
        clusters: IntArray,
        assignment: Assignment,
        decided: IntArray,
        history: History,
    ) -> DIKMeans:
        former, corrections, weights = self._model, self._corrections, self._images.weights
        n_clusters = len(corrections.clusters)
        refined = clone(former).set_params(n_clusters=n_clusters)
        if not isinstance(former.init, str):  # centroids of other clusters
            refined.set_params(init="k-means++")
        rule = learn_rule(former.outliers, assignment.costs, assignment.labels, weights, n_clusters)
        # a threshold that a person has moved stays where it is
        rule = rule._replace(threshold=former.outlier_rule_.threshold)
        outliers = rule.are_outliers(assignment.costs, assignment.labels)
        outliers = np.where(decided == FREE, outliers, decided == REJECTED)
        linked = [*corrections.must_link, *corrections.cannot_link]
        outliers[np.array(linked, dtype=np.int64).ravel()] = False
        assignment = assignment.without(outliers)
        counted = np.where(outliers, 0.0, 1.0 if weights is None else weights)
        _, first = np.unique(self._start.clusters, return_index=True)
        shape = former.compared_shape_
        fitted = {
            "prototypes_": from_channels_first(pictures, shape),
            "prototype_clusters_": clusters,
            "prototype_weights_": weight_per_cluster(assignment.prototypes, counted, len(pictures)),
            "init_centers_": from_channels_first(self._start.pictures[first], shape),
            "assignment_": assignment,
            "labels_": assignment.labels,
            "outlier_rule_": rule,
            "cluster_surcharges_": self._surcharges,
            "decided_": decided,
            "cluster_ids_": _texts(corrections.ids, former.cluster_ids_, n_clusters),
            "cluster_names_": corrections.names or (None,) * n_clusters,
            "inertia_": float(counted @ assignment.costs),
            "deformation_precision_": self._start.precision,
            "history_": history,
            "n_iter_": len(history.iterations),
            "_n_features_out": n_clusters,
        }
        unchanged = ("image_shape_", "preprocessing_", "choices_", "measure_", "n_features_in_")
        for name in (*unchanged, "feature_names_in_"):
            if hasattr(former, name):
                fitted[name] = getattr(former, name)
        vars(refined).update(fitted)
        return refined


def _texts(given: tuple[str, ...] | None, former: tuple[str, ...], n: int) -> tuple[str, ...]:
    if given is not None:
        return given
    return former if len(former) == n else tuple(f"c{k}" for k in range(n))


def _without_empty(
    pictures: FloatArray, clusters: IntArray, assignment: Assignment
) -> tuple[FloatArray, IntArray, Assignment]:
    """Prototypes without members left out, but for the first of a cluster that has none at all."""
    sizes = np.bincount(assignment.prototypes, minlength=len(pictures))
    keep = sizes > 0
    for cluster in np.setdiff1d(clusters, clusters[keep]):
        keep[np.flatnonzero(clusters == cluster)[0]] = True
    # within a cluster, those with most members first
    order = np.lexsort((-sizes, clusters))
    order = order[keep[order]]
    place = np.full(len(pictures), -1)
    place[order] = np.arange(len(order))
    renumbered = place[assignment.prototypes].astype(assignment.prototypes.dtype)
    return pictures[order], clusters[order], assignment._replace(prototypes=renumbered)


def find_resistance(model: DIKMeans, costs: Mapping[int, FloatArray]) -> list[Resistance]:
    """Decisions that the data speaks against, the strongest first.

    Parameters
    ----------
    model : DIKMeans
        Refined.
    costs : mapping from int to array of shape (K,)
        Of the images that a person has decided on: their costs to all clusters.
    """
    found = []
    for image, row in costs.items():
        decided, best = int(model.decided_[image]), int(row.argmin())
        if decided >= 0 and row[best] < RESISTS * row[decided]:
            found.append(Resistance(image, decided, best, float(row[decided]), float(row[best])))
        elif decided == REJECTED:
            score = model.outlier_rule_.scores(row[best : best + 1], np.array([best]))[0]
            if score < TYPICAL_SCORE:
                found.append(Resistance(image, decided, best, np.nan, float(row[best])))
    return sorted(found, key=lambda one: one.cost_elsewhere / one.cost if one.cost else 1.0)
