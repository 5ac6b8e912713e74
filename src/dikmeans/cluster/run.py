"""One run: seeds, curriculum, swap moves, and the fit on all images.

The search for a good optimum needs no more than a few hundred images a cluster. On a large set it is
done on a random sample; the centroids it finds are then the start of Lloyd's algorithm on everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dikmeans.cluster.curriculum import LESSON_TOL, Phase, lessons_before
from dikmeans.cluster.gauge import to_mean_pose
from dikmeans.cluster.history import History, Iteration
from dikmeans.cluster.lloyd import Clustering, Task, assign, lloyd
from dikmeans.cluster.seeding import SEEDINGS
from dikmeans.cluster.stiffness import learn_stiffness
from dikmeans.cluster.swaps import swap_moves
from dikmeans.images import scale_to_unit_norm


class StopRequested(Exception):  # noqa: N818 -- not an error: the user or a callback had enough
    """Raised inside a report to end the fit early, keeping what there is."""


@dataclass(frozen=True)
class Plan:
    """How runs are made: the same for all runs of a fit.

    Attributes
    ----------
    n_clusters : int
    init : str or array of shape (K, C, rows, columns)
    warp : str
    smoothness : float
    aligner : callable
        ``aligner(warp, stiffer, stiffness)`` gives the measure of a phase: smoothness times `stiffer`, or a
        learned stiffness.
    learn_stiffness : bool
        Whether the last phase has a stiffness learned from the others.
    use_curriculum : bool
    n_swaps : int
        Swap trials.
    search_size : int
        Seeds are drawn and the search takes place on at most that many images.
    max_iter, tol
        For Lloyd's algorithm with the full measure.
    unit_norm : bool
    n_jobs : int or None
    """

    n_clusters: int
    init: Any
    warp: str
    smoothness: float
    aligner: Callable[[str, float, np.ndarray | None], Any]
    learn_stiffness: bool
    use_curriculum: bool
    n_swaps: int
    search_size: int
    max_iter: int
    tol: float
    unit_norm: bool
    n_jobs: int | None


@dataclass
class Run:
    """A run in progress, and what it has reached so far."""

    plan: Plan
    history: History = field(default_factory=History)
    first_centroids: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    clustering: Clustering | None = None
    result: Clustering | None = None

    @property
    def distortion(self) -> float:
        """Of the finished run."""
        return np.inf if self.result is None else self.result.distortion

    def go(
        self,
        images: np.ndarray,
        weights: np.ndarray,
        rng: np.random.RandomState,
        notify: Callable[[Iteration], None],
        announce_trial: Callable[[int, int], None] = lambda trial, most: None,
    ) -> None:
        """Carry the run out on pictures (N, C, rows, columns); the outcome is in `result`."""

        def report(clustering: Clustering, iteration: Iteration) -> None:
            self.clustering = clustering
            self.history.iterations.append(iteration)
            notify(iteration)

        plan, search = self.plan, self._sample(images, weights, rng)
        centroids = self._seed(search, rng)
        self.first_centroids = centroids.copy()
        # given centroids are taken at their word
        given = not isinstance(plan.init, str)
        learn = plan.use_curriculum and not given
        lessons = lessons_before(plan.warp, plan.smoothness) if learn else ()

        for phase in lessons:
            task = self._task(search, phase)
            n_iter = min(phase.max_iter, plan.max_iter)
            here, _ = self._descend(task, centroids, n_iter, LESSON_TOL, phase.name, report)
            centroids = to_mean_pose(task, here)

        proper = Phase(plan.warp, 1.0, plan.max_iter)
        n_swaps = 0 if given else plan.n_swaps
        if n_swaps or plan.learn_stiffness or (lessons and len(search.images) < len(images)):
            task = self._task(search, proper)
            here, _ = self._descend(task, centroids, plan.max_iter, LESSON_TOL, "search", report)
            here = swap_moves(
                task,
                here,
                max_trials=n_swaps,
                max_iter=plan.max_iter,
                tol=LESSON_TOL,
                rng=rng,
                report=report,
                announce=announce_trial,
            )
            centroids = to_mean_pose(task, here)
            if plan.learn_stiffness:
                self.stiffness = learn_stiffness(task, here)

        task = self._task(replace(search, images=images, weights=weights), proper)
        here, reason = self._descend(task, centroids, plan.max_iter, plan.tol, "all images", report)
        self.clustering = here
        self.history.stopped = reason
        self.finish(images, weights)

    def finish(self, images: np.ndarray, weights: np.ndarray) -> None:
        """Judge the centroids reached so far as new images will be judged: from a cold start.

        Labels then are what `predict` says, and runs are compared by what a user gets.
        """
        assert self.clustering is not None
        whole = Task(images, weights, None, self.plan.unit_norm, self.plan.n_jobs)
        task = self._task(whole, Phase(self.plan.warp, 1.0, 0))
        # in the precision in which the estimator will keep them
        self.result = assign(task, self.clustering.centroids.astype(images.dtype).astype(task.aligner.dtype))

    def _task(self, data: Task, phase: Phase) -> Task:
        """`data` with the measure of `phase`, and the stiffness if it has been learned."""
        aligner = self.plan.aligner(phase.warp, phase.stiffness, self.stiffness)
        return replace(data, images=data.images.astype(aligner.dtype, copy=False), aligner=aligner)

    @staticmethod
    def _descend(
        task: Task,
        centroids: np.ndarray,
        max_iter: int,
        tol: float,
        name: str,
        report: Callable[[Clustering, Iteration], None],
    ) -> tuple[Clustering, str]:
        """Lloyd's algorithm from `centroids`, every pair aligned from scratch first."""
        start = assign(task, centroids.astype(task.aligner.dtype))
        return lloyd(task, start, max_iter=max_iter, tol=tol, phase=name, report=report)

    def _sample(self, images: np.ndarray, weights: np.ndarray, rng: np.random.RandomState) -> Task:
        """The task of the search, without an aligner yet."""
        task = Task(images, weights, None, self.plan.unit_norm, self.plan.n_jobs)
        if len(images) <= self.plan.search_size:
            return task
        weighty = np.flatnonzero(weights > 0)
        size = min(self.plan.search_size, len(weighty))
        chosen = np.sort(rng.choice(weighty, size=size, replace=False))
        return replace(task, images=images[chosen], weights=weights[chosen])

    def _seed(self, search: Task, rng: np.random.RandomState) -> np.ndarray:
        plan = self.plan
        if isinstance(plan.init, str):
            task = replace(search, aligner=plan.aligner(plan.warp, 1.0, None))
            centroids = search.images[SEEDINGS[plan.init](task, plan.n_clusters, rng)]
        else:
            centroids = plan.init.astype(search.images.dtype)
        return scale_to_unit_norm(centroids) if plan.unit_norm else centroids
