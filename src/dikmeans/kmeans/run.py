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
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.prototypes import Prototypes, divide_clusters
from dikmeans.kmeans.schedule import Phase, PhaseKind, Prior, Schedule
from dikmeans.kmeans.seeding import SEEDINGS
from dikmeans.kmeans.shard import Assignment
from dikmeans.kmeans.swaps import SwapState, swap_moves
from dikmeans.registration.intensity import INTENSITIES
from dikmeans.registration.measure import Measure
from dikmeans.registration.specification import MeasureSpec

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
        Of all images.
    inertia : float
    centroid_inertia : float
        Inertia before the clusters were divided into prototypes: what runs are compared by, as a
        division adds more chance than runs differ by.
    history : History
    """

    prototypes: Prototypes
    prototype_weights: FloatArray
    init_centroids: FloatArray
    precision: FloatArray | None
    assignment: Assignment
    inertia: float
    centroid_inertia: float
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

    def including(self, result: RunResult) -> FinishedRuns:
        """With one run more."""
        better = self.best is None or result.centroid_inertia < self.best.centroid_inertia
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
    """

    def __init__(
        self,
        dataset: Dataset,
        shape: ImageShape,
        spec: MeasureSpec,
        schedule: Schedule,
        init: str | FloatArray,
        seed: int,
    ):
        self.dataset, self.schedule = dataset, schedule
        self._shape, self._spec, self._init = shape, spec, init
        # with given centroids nothing is random, not even the sample
        self._rng = np.random.RandomState(seed if isinstance(init, str) else 0)
        self.sample = dataset.draw(schedule.sample_size, self._rng)

    def images_of(self, phase: Phase) -> Dataset:
        """The images that a phase works on."""
        return self.sample if phase.on_sample else self.dataset

    def states(self, state: RunState | None = None) -> Iterator[RunState]:
        """Carry the run out, from `state` or from the beginning; yields every state it reaches."""
        state = self._begin() if state is None else state
        self._rng.set_state(state.random_numbers)
        for index, phase in enumerate(self.schedule.phases):
            if index < state.phase:
                continue
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
            images = self.images_of(phase).cast(measure.dtype)
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
        assignment = self.dataset.evaluate(measure, pictures, prototypes.clusters)
        weights = self.dataset.weights
        return RunResult(
            prototypes._replace(pictures=pictures),
            weight_per_cluster(assignment.prototypes, weights, len(pictures)),
            state.init_centroids,
            state.precision,
            assignment,
            float(assignment.costs.sum() if weights is None else weights @ assignment.costs),
            state.clustering.inertia,
            History(list(state.history), stopped or state.stopped),
        )

    # -- phases --------------------------------------------------------------------------------

    def _begin(self) -> RunState:
        if isinstance(self._init, str):
            images, weights = self.sample.local()
            prepare = INTENSITIES[self._spec.intensity].prepare
            compared = Dataset.in_memory(prepare(images), weights)
            n_clusters = self.schedule.n_clusters
            centroids = images[SEEDINGS[self._init](compared, n_clusters, self._rng)]
        else:
            centroids = self._init.astype(self.dataset.dtype)
        if self._spec.unit_norm:
            centroids = scale_to_unit_norm(centroids)
        return RunState(centroids, centroids, self._rng.get_state())

    def _descend(
        self, phase: Phase, images: Dataset, measure: Measure, state: RunState
    ) -> Iterator[RunState]:
        """Lloyd's algorithm, every pair aligned from scratch first; or from where it was."""
        if state.stopped:
            return
        clustering = state.clustering
        if clustering is None or state.iteration == 0:
            clustering = images.assign(measure, state.centroids.astype(measure.dtype))
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
        assert state.clustering is not None
        steps = swap_moves(
            images,
            measure,
            state.clustering,
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
        precision = state.precision
        if phase.learns is not None:
            shared = phase.learns is Prior.SHARED
            precision = learn_deformation_prior(images, measure, state.clustering, shared=shared)
        centroids = to_mean_pose(images, measure, state.clustering)
        return replace(state, centroids=centroids, precision=precision)

    def _divide(self, state: RunState) -> Prototypes:
        assert state.clustering is not None
        return divide_clusters(
            self.sample,
            state.clustering.centroids,
            self.schedule.prototypes,
            lambda clusters: self._final_measure(clusters, state.precision),
            self.schedule.max_division_iter,
            self._rng,
        )

    # -- measures ------------------------------------------------------------------------------

    def _measure(self, phase: Phase, precision: FloatArray | None) -> Measure:
        spec = self._spec.varied(warp=phase.warp, smoothness_factor=phase.smoothness_factor)
        return spec.build(self._shape, precision if phase.learned_prior else None)

    def _final_measure(self, clusters: IntArray, precision: FloatArray | None) -> Measure:
        """The full measure for centroids of these clusters."""
        return self._spec.build(self._shape, None if precision is None else precision[clusters])


def _record(
    phase: Phase, images: Dataset, clustering: Clustering, seconds: float
) -> IterationRecord:
    moved = clustering.summary.moved
    return IterationRecord(phase.name, clustering.inertia, len(images), moved, seconds)
