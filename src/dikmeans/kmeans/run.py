"""One run: first centroids, the phases of the schedule, prototypes, the final assignment.

A run is a sequence of states. `Run.states` starts from a `RunState` (or from the beginning) and
yields the next one after every iteration and every trial of a swap; from any of them the run
continues exactly as it would have. A checkpoint is the latest state in a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from dikmeans._typing import FloatArray, ImageShape, IntArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.centroid_update import weight_per_cluster
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.kmeans.deformation_prior import learn_deformation_prior
from dikmeans.kmeans.history import History, IterationRecord
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.kmeans.outliers import OutlierRule, Outliers, cutoff_for, learn_rule
from dikmeans.kmeans.partial_labels import PartialLabels
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.prototypes import Prototypes, divide_clusters
from dikmeans.kmeans.schedule import Phase, PhaseKind, Prior, Schedule
from dikmeans.kmeans.seeding import SEEDINGS
from dikmeans.kmeans.shard import Assignment
from dikmeans.kmeans.swaps import SwapState, swap_moves
from dikmeans.registration.intensity import INTENSITIES
from dikmeans.registration.measure import Measure
from dikmeans.registration.specification import MeasureSpec

# Phases in which outliers do not count. Before them all images are needed to find out which fit.
TRIMMED = {PhaseKind.SWAPS, PhaseKind.RELEARNING, PhaseKind.ALL_IMAGES}

# Phases that follow when the centroids are final.
DIVIDED = {PhaseKind.PROTOTYPES, PhaseKind.ASSIGNMENT}

# Phases in which labeled images stay in the clusters of their classes.
LABELED = {PhaseKind.RELEARNING, PhaseKind.ALL_IMAGES}

RandomNumbers: TypeAlias = Any
"""State of a generator: what ``RandomState.get_state()`` returns."""


@dataclass(frozen=True)
class RunState:
    """Where a run stands.

    Attributes
    ----------
    init_centroids : array of shape (K, C, rows, columns)
        The first centroids.
    centroids : array of shape (K, C, rows, columns)
        Where the phase starts from, unless it has a clustering.
    random_numbers : tuple
        State of the run's generator.
    phase : int
        Index of the phase in the schedule.
    clustering : Clustering or None
        Of the images that the phase works on; None before its first assignment.
    iteration : int
        Iterations of the phase that are done.
    stopped : str
        Why the phase has ended; empty if it has not.
    swaps : SwapState or None
        How far the swaps have got.
    precision : array of shape (K, 2 n_basis, 2 n_basis) or None
        The deformation prior learned so far; shared: K times the same matrix.
    prototypes : Prototypes or None
        When the clusters have been divided.
    class_clusters : int array of shape (n_classes,) or None
        The cluster of each class, once the partial labels are matched with clusters.
    cutoff : float
        Of the phase: images that cost more are outliers; see `dikmeans.kmeans.outliers`.
    history : tuple of IterationRecord
    """

    init_centroids: FloatArray
    centroids: FloatArray
    random_numbers: RandomNumbers
    phase: int = 0
    clustering: Clustering | None = None
    iteration: int = 0
    stopped: str = ""
    swaps: SwapState | None = None
    precision: FloatArray | None = None
    prototypes: Prototypes | None = None
    class_clusters: IntArray | None = None
    cutoff: float = np.inf
    history: tuple[IterationRecord, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """What a finished run has found.

    Attributes
    ----------
    prototypes : Prototypes
        In the precision of the images.
    prototype_weights : array of shape (M,)
        Weight of the members of each prototype.
    init_centroids : array of shape (K, C, rows, columns)
    precision : array of shape (K, 2 n_basis, 2 n_basis) or None
    assignment : Assignment
        Of all images; outliers have the label -1.
    outlier_rule : OutlierRule
    inertia : float
    centroid_inertia : float
        Inertia before the clusters were divided into prototypes: what runs are compared by, as a
        division adds more chance than runs differ by.
    class_clusters : int array of shape (n_classes,) or None
        The cluster of each class of the partial labels.
    history : History
    """

    prototypes: Prototypes
    prototype_weights: FloatArray
    init_centroids: FloatArray
    precision: FloatArray | None
    assignment: Assignment
    outlier_rule: OutlierRule
    inertia: float
    centroid_inertia: float
    class_clusters: IntArray | None
    history: History


@dataclass(frozen=True)
class FinishedRuns:
    """The finished runs of a fit.

    Attributes
    ----------
    n_runs : int
    n_iterations : int
        Of all of them.
    best : RunResult or None
        The one with the lowest inertia before its clusters were divided; among equals, the first.
    """

    n_runs: int = 0
    n_iterations: int = 0
    best: RunResult | None = None

    @property
    def inertia_to_beat(self) -> float:
        """Of the centroids of the best run."""
        return np.inf if self.best is None else self.best.centroid_inertia

    def without(self, state: RunState) -> FinishedRuns:
        """With one run more, whose centroids did not beat the best."""
        return replace(
            self,
            n_runs=self.n_runs + 1,
            n_iterations=self.n_iterations + len(state.history),
        )

    def including(self, result: RunResult) -> FinishedRuns:
        """With one run more."""
        better = result.centroid_inertia < self.inertia_to_beat
        return FinishedRuns(
            self.n_runs + 1,
            self.n_iterations + len(result.history.iterations),
            result if better else self.best,
        )


class Run:
    """One run of a fit.

    Parameters
    ----------
    dataset : Dataset
        All images.
    shape : tuple of int
        (rows, columns[, channels]) of an image.
    spec : MeasureSpec
    schedule : Schedule
    init : str or array of shape (K, C, rows, columns)
        How the first centroids are drawn, or the centroids themselves.
    seed : int
        Of everything random in the run.
    outliers : None, "auto" or float
        Whether images may belong to no cluster.
    labels : PartialLabels, optional
    """

    def __init__(
        self,
        dataset: Dataset,
        shape: ImageShape,
        spec: MeasureSpec,
        schedule: Schedule,
        init: str | FloatArray,
        seed: int,
        outliers: Outliers = None,
        labels: PartialLabels | None = None,
    ):
        self.dataset, self.schedule = dataset, schedule
        self._shape, self._spec, self._init = shape, spec, init
        self._outliers, self._labels = outliers, labels
        # with given centroids nothing is random, not even the sample
        self._rng = np.random.RandomState(seed if isinstance(init, str) else 0)
        always = None if labels is None else labels.numbers
        self.sample, numbers = dataset.draw(schedule.sample_size, self._rng, always)
        self._sample_labels = None if labels is None else labels.within(numbers)

    def images_of(self, phase: Phase) -> Dataset:
        """The images that a phase works on."""
        return self.sample if phase.on_sample else self.dataset

    def states(
        self, state: RunState | None = None, inertia_to_beat: float = np.inf
    ) -> Iterator[RunState]:
        """Carry the run out, from `state` or from the beginning; yields every state it reaches.

        A run whose centroids do not beat another run's ends with them: neither its prototypes nor
        its labels will be asked for.
        """
        state = self._begin() if state is None else state
        self._rng.set_state(state.random_numbers)
        for index, phase in enumerate(self.schedule.phases):
            if index < state.phase:
                continue
            if phase.kind in DIVIDED and not _inertia(state) < inertia_to_beat:
                return
            if phase.kind is PhaseKind.ASSIGNMENT:
                if index > state.phase:
                    yield replace(state, phase=index, iteration=0)
                return  # the rest is for `result`
            if phase.kind is PhaseKind.PROTOTYPES:
                state = replace(state, prototypes=self._divide(state))
                continue
            if index > state.phase:
                state = replace(state, phase=index, iteration=0, stopped="", swaps=None)
            measure = self._measure(phase, state.precision)
            images = self._guided(phase.on_sample, state).cast(measure.dtype)
            walk = self._swap if phase.kind is PhaseKind.SWAPS else self._descend
            for following in walk(phase, images, measure, state):
                state = following
                yield state
            if phase.on_sample:
                state = self._conclude(phase, images, measure, state)

    def result(self, state: RunState, stopped: str = "") -> RunResult:
        """Assign all images to the prototypes, or to the centroids of an unfinished run.

        From a cold start: labels then are what `predict` returns, and runs are compared by what a
        user gets.
        """
        assert state.clustering is not None
        prototypes = state.prototypes or Prototypes.one_each(state.clustering.centroids)
        # in the precision in which the estimator will keep them
        pictures = prototypes.pictures.astype(self.dataset.dtype)
        measure = self._final_measure(prototypes.clusters, state.precision)
        images = self._guided(False, state)
        assignment = images.evaluate(measure, pictures, prototypes.clusters)
        weights, n_clusters = self.dataset.weights, len(state.clustering.centroids)
        rule = learn_rule(self._outliers, assignment.costs, assignment.labels, weights, n_clusters)
        outliers = rule.are_outliers(assignment.costs, assignment.labels)
        if self._labels is not None:  # who has a label has a cluster
            outliers[self._labels.numbers] = False
        assignment = assignment.without(outliers)
        counted = np.where(assignment.labels < 0, 0.0, 1.0 if weights is None else weights)
        return RunResult(
            prototypes._replace(pictures=pictures),
            weight_per_cluster(assignment.prototypes, counted, len(pictures)),
            state.init_centroids,
            state.precision,
            assignment,
            rule,
            float(counted @ assignment.costs),
            state.clustering.inertia,
            state.class_clusters,
            History(list(state.history), stopped or state.stopped),
        )

    # -- phases --------------------------------------------------------------------------------

    def _begin(self) -> RunState:
        if isinstance(self._init, str):
            images, weights, _ = self.sample.local()
            prepare = INTENSITIES[self._spec.intensity].prepare
            compared = Dataset.in_memory(prepare(images), weights)
            n_clusters = self.schedule.n_clusters
            centroids = images[SEEDINGS[self._init](compared, n_clusters, self._rng)]
        else:
            centroids = self._init.astype(self.dataset.dtype)
        labels, class_clusters = self._sample_labels, None
        if labels is not None and labels.lead:
            # classes first; seeds are drawn one after the other, so any part of them will do
            means = labels.class_means(self.sample.local().images)
            centroids = np.concatenate([means, centroids[: len(centroids) - len(means)]])
            class_clusters = np.arange(len(means))
        if self._spec.unit_norm:
            centroids = scale_to_unit_norm(centroids)
        numbers = self._rng.get_state()
        return RunState(centroids, centroids, numbers, class_clusters=class_clusters)

    def _descend(
        self, phase: Phase, images: Dataset, measure: Measure, state: RunState
    ) -> Iterator[RunState]:
        """Lloyd's algorithm, every pair aligned from scratch first; or from where it was."""
        if state.stopped:
            return
        clustering = state.clustering
        if clustering is None or state.iteration == 0:
            centroids = state.centroids.astype(measure.dtype)
            clustering = images.assign(measure, centroids)
            if self._labels is not None and phase.kind in LABELED and state.class_clusters is None:
                state = replace(state, class_clusters=self._match(phase, images, clustering))
                images = self._guided(phase.on_sample, state).cast(measure.dtype)
                clustering = images.assign(measure, centroids)
            state = replace(state, cutoff=self._cutoff(phase, images, clustering))
        images = images.trimmed(state.cutoff)
        clustering = images.summarized(clustering)
        steps = lloyd(
            images,
            measure,
            clustering,
            max_iter=phase.max_iter,
            tol=phase.tol,
            done=state.iteration,
        )
        for step in steps:
            record = _record(phase, images, step.clustering, step.seconds)
            state = replace(
                state,
                clustering=step.clustering,
                random_numbers=self._rng.get_state(),
                iteration=state.iteration + 1,
                stopped=step.stopped,
                history=(*state.history, record),
            )
            yield state

    def _swap(
        self, phase: Phase, images: Dataset, measure: Measure, state: RunState
    ) -> Iterator[RunState]:
        """Swap moves from the clustering of the phase before, or from where they were."""
        clustering = state.clustering
        assert clustering is not None
        if state.swaps is None:
            state = replace(state, cutoff=self._cutoff(phase, images, clustering))
        images = images.trimmed(state.cutoff)
        steps = swap_moves(
            images,
            measure,
            images.summarized(clustering),
            state.swaps or SwapState(),
            max_trials=phase.max_trials,
            max_iter=phase.max_iter,
            tol=phase.tol,
            rng=self._rng,
        )
        for step in steps:
            history = state.history
            if step.iteration is not None:
                record = _record(phase, images, step.clustering, step.iteration.seconds)
                history = (*history, record)
            state = replace(
                state,
                clustering=step.clustering,
                random_numbers=self._rng.get_state(),
                iteration=step.state.trials,
                swaps=step.state,
                history=history,
            )
            yield state

    def _conclude(
        self, phase: Phase, images: Dataset, measure: Measure, state: RunState
    ) -> RunState:
        """Bring the centroids to their mean pose, and learn the prior that the phase should."""
        assert state.clustering is not None
        images, precision = images.trimmed(state.cutoff), state.precision
        if phase.learns is not None:
            shared = phase.learns is Prior.SHARED
            precision = learn_deformation_prior(images, measure, state.clustering, shared=shared)
        centroids = to_mean_pose(images, measure, state.clustering)
        return replace(state, centroids=centroids, precision=precision)

    def _divide(self, state: RunState) -> Prototypes:
        assert state.clustering is not None
        images, labels = self._guided(True, state).trimmed(state.cutoff), self._sample_labels
        prototypes = divide_clusters(
            images,
            state.clustering.centroids,
            self.schedule.prototypes,
            lambda clusters: self._final_measure(clusters, state.precision),
            self.schedule.max_division_iter,
            self._rng,
        )
        if labels is None or state.class_clusters is None:
            return prototypes
        exemplars = labels.exemplars()
        pictures = images.local().images[labels.numbers[exemplars]]
        if self._spec.unit_norm:
            pictures = scale_to_unit_norm(pictures)
        return prototypes.joined(pictures, state.class_clusters[labels.classes[exemplars]])

    def _cutoff(self, phase: Phase, images: Dataset, clustering: Clustering) -> float:
        """What an image may cost in a phase before it is an outlier."""
        if self._outliers is None or phase.kind not in TRIMMED:
            return np.inf
        return cutoff_for(self._outliers, images.nearest_costs(clustering), images.weights)

    # -- labels --------------------------------------------------------------------------------

    def _match(self, phase: Phase, images: Dataset, clustering: Clustering) -> IntArray:
        """The cluster of each class."""
        labels = self._sample_labels if phase.on_sample else self._labels
        assert labels is not None
        return labels.match(images.costs_of(clustering, labels.numbers))

    def _guided(self, on_sample: bool, state: RunState) -> Dataset:
        """The images of a phase, labeled ones kept in the clusters of their classes."""
        images = self.sample if on_sample else self.dataset
        labels = self._sample_labels if on_sample else self._labels
        if labels is None or state.class_clusters is None:
            return images
        return images.guided(labels.guidance(state.class_clusters, self.schedule.n_clusters))

    # -- measures ------------------------------------------------------------------------------

    def _measure(self, phase: Phase, precision: FloatArray | None) -> Measure:
        spec = self._spec.varied(warp=phase.warp, smoothness_factor=phase.smoothness_factor)
        return spec.build(self._shape, precision if phase.learned_prior else None)

    def _final_measure(self, clusters: IntArray, precision: FloatArray | None) -> Measure:
        """The full measure for centroids of these clusters."""
        return self._spec.build(self._shape, None if precision is None else precision[clusters])


def _inertia(state: RunState) -> float:
    assert state.clustering is not None
    return state.clustering.inertia


def _record(
    phase: Phase, images: Dataset, clustering: Clustering, seconds: float
) -> IterationRecord:
    moved = clustering.summary.moved
    return IterationRecord(phase.name, clustering.inertia, len(images), moved, seconds)
