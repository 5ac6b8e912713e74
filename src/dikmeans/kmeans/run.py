"""One run: seeds, curriculum, search and swap moves, the fit on all images, and their division into forms.

The search for a good optimum needs no more than a few hundred images a cluster. On a large set it is
done on a random sample; the centroids it finds are then the start of Lloyd's algorithm on everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dikmeans.kmeans.schedule import LESSON_TOL, Phase, lessons_before
from dikmeans.kmeans.prototypes import PrototypeRule, Forms, divide_clusters, one_form_each
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.monitoring.history import History, Iteration
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.kmeans.seeding import SEEDINGS
from dikmeans.kmeans.deformation_prior import learn_deformation_prior
from dikmeans.kmeans.swaps import SwapProgress, swap_moves
from dikmeans.kmeans.task import Clustering, Task
from dikmeans.images import scale_to_unit_norm

SEARCH, USUAL, SWAPS, ALL_IMAGES = "search", "usual deformations", "swaps", "all images"
"""Steps of a run, after the lessons."""

# Between the swaps and the stiffness of each cluster warps are found under the bending energy once more.
RELEARN_ITERATIONS = 3


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
    measure : callable
        ``measure(warp, stiffer, stiffness)`` gives the measure of a phase: smoothness times `stiffer`, or a
        learned stiffness.
    learn_deformation_prior : bool
        Whether the swaps and the fit on all images have a stiffness learned from what came before.
    forms : PrototypeRule
        How many forms a cluster gets.
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
    measure: Callable[[str, float, np.ndarray | None], Any]
    learn_deformation_prior: bool
    forms: PrototypeRule
    use_curriculum: bool
    n_swaps: int
    search_size: int
    max_iter: int
    tol: float
    unit_norm: bool
    n_jobs: int | None

    @property
    def given(self) -> bool:
        """Whether the first centroids are given: they are taken at their word, without lessons or swaps."""
        return not isinstance(self.init, str)

    @property
    def lessons(self) -> tuple[Phase, ...]:
        """What comes before the measure proper."""
        learn = self.use_curriculum and not self.given
        return lessons_before(self.warp, self.smoothness) if learn else ()

    @property
    def swap_trials(self) -> int:
        """Swaps that may be tried."""
        return 0 if self.given else self.n_swaps

    @property
    def shares_stiffness(self) -> bool:
        """Whether swaps are judged under a stiffness that all clusters share; see `Run`."""
        return self.learn_deformation_prior and self.swap_trials > 0 and self.n_clusters > 1

    def searches(self, *, on_sample: bool) -> bool:
        """Whether the measure proper works on the search's images before it does on all."""
        return bool(self.swap_trials or self.learn_deformation_prior or (self.lessons and on_sample))


@dataclass(frozen=True)
class Bookmark:
    """Where a run stands: enough, with the run's seed, images, history and so on, to go on from there.

    It stays as it is while the run goes on.

    Attributes
    ----------
    step : str
        The step of the run, as the history calls it, or "swaps".
    clustering : Clustering or ShardedClustering
        Of the images that the step works on: ``Run.images_of(step)``.
    random_state : tuple
        Of the run's generator: ``RandomState.get_state()``.
    done : int
        Iterations of the step.
    reason : str
        Why the step has ended; empty if it has not.
    swaps : SwapProgress, optional
        How far the swaps have got.
    """

    step: str
    clustering: Any
    random_state: Any
    done: int = 0
    reason: str = ""
    swaps: SwapProgress | None = None


@dataclass(frozen=True)
class Outcome:
    """What a finished run has to show.

    Attributes
    ----------
    forms : Forms
    form_weights : array of shape (M,)
        Weight of the members of each form.
    first_centroids : array of shape (K, C, rows, columns)
        As the pictures of the forms, in the precision of the images.
    stiffness : array of shape (K, 2 n_basis, 2 n_basis) or None
    labels : int32 array of shape (N,)
        Clusters.
    distortion : float
    history : History
    """

    forms: Forms
    form_weights: np.ndarray
    first_centroids: np.ndarray
    stiffness: np.ndarray | None
    labels: np.ndarray
    distortion: float
    history: History


@dataclass
class Run:
    """A run in progress, and what it has reached so far.

    Swaps are judged by the distortion, and under the bending energy the distortions of a good clustering and
    of a bad one may be nearly the same. They differ more once usual deformations cost less than unusual
    ones. So a stiffness is learned twice: one that all clusters share before the swaps, as clusters are
    about to change, and one for each of them afterwards.

    Attributes
    ----------
    plan : Plan
    population : Population or ShardedPopulation
    seed : int
        Of everything random in the run.
    keep : callable
        Called with the run whenever its bookmark has moved.
    sample : Population
        The images that the search takes place on.
    history : History
    first_centroids : array of shape (K, C, rows, columns), optional
        As soon as they are known.
    stiffness : array of shape (K, 2 n_basis, 2 n_basis), optional
        As soon as it is known; while clusters share it, the same for all of them.
    forms : Forms, optional
        When the clusters have been divided.
    bookmark : Bookmark, optional
        Where it stands, or where it is to go on: then with history, first centroids and stiffness of that
        moment.
    outcome : Outcome, optional
        When it has ended.
    """

    plan: Plan
    population: Any
    seed: int
    keep: Callable[[Run], None] = lambda run: None
    sample: Any = field(init=False)
    history: History = field(default_factory=History)
    first_centroids: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    forms: Forms | None = None
    bookmark: Bookmark | None = None
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.RandomState(self.seed)
        self.sample = self.population.draw(self.plan.search_size, self._rng)

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps, in their order; not every run has all of them."""
        return (*(lesson.name for lesson in self.plan.lessons), SEARCH, USUAL, SWAPS, ALL_IMAGES)

    def images_of(self, step: str) -> Any:
        """The population that a step works on: its clusterings are of those images."""
        return self.population if step == ALL_IMAGES else self.sample

    def go(
        self,
        notify: Callable[[Iteration], None] = lambda iteration: None,
        announce_trial: Callable[[int, int], None] = lambda trial, most: None,
    ) -> None:
        """Carry the run out, from its bookmark if it has one; the result is its `outcome`.

        Parameters
        ----------
        notify : callable
            Called after each iteration.
        announce_trial : callable
            Called before each trial of a swap.
        """
        self._notify = notify
        plan, sample = self.plan, self.sample
        if self.bookmark is None:
            self.first_centroids = self._seed(sample)
        else:
            self._rng.set_state(self.bookmark.random_state)
        centroids = self.first_centroids
        for lesson in plan.lessons:
            if not self._is_past(lesson.name):
                task = self._task(sample, lesson)
                n_iter = min(lesson.max_iter, plan.max_iter)
                here, _ = self._descend(task, centroids, n_iter, LESSON_TOL, lesson.name)
                centroids = to_mean_pose(task, here)

        proper = Phase(plan.warp, 1.0, plan.max_iter)
        searches = plan.searches(on_sample=len(sample) < len(self.population))
        if searches and not self._is_past(SWAPS):
            centroids = self._search(centroids, proper, announce_trial)

        task = self._task(self.population, proper)
        here, self.history.stopped = self._descend(task, centroids, plan.max_iter, plan.tol, ALL_IMAGES)
        if plan.forms.most > 1:
            self.forms = divide_clusters(
                self._task(sample, proper),
                here.centroids,
                plan.forms,
                self._measure,
                plan.max_iter,
                np.random.RandomState(0) if plan.given else self._rng,
            )
        self.finish()

    def finish(self) -> None:
        """Judge the forms, or the centroids reached so far, as new images will be judged: from a cold start.

        Labels then are what `predict` says, and runs are compared by what a user gets.
        """
        assert self.bookmark is not None
        assert self.first_centroids is not None
        forms = self.forms or one_form_each(self.bookmark.clustering.centroids)
        # in the precision in which the estimator will keep them
        forms = forms._replace(pictures=forms.pictures.astype(self.population.dtype))
        measure = self._measure(forms.clusters)
        task = self.population.under(measure, unit_norm=self.plan.unit_norm, n_jobs=self.plan.n_jobs)
        verdict = task.judge(forms.pictures.astype(measure.dtype))
        self.outcome = Outcome(
            forms,
            verdict.sizes,
            self.first_centroids,
            self.stiffness,
            forms.clusters[verdict.labels].astype(np.int32),
            verdict.distortion,
            self.history,
        )

    def _measure(self, clusters: np.ndarray) -> Any:
        """The measure proper for centroids of these clusters, with the stiffness if it has been learned."""
        stiffness = None if self.stiffness is None else self.stiffness[clusters]
        return self.plan.measure(self.plan.warp, 1.0, stiffness)

    def _is_past(self, step: str) -> bool:
        """Whether the bookmark lies behind a step."""
        if self.bookmark is None:
            return False
        return self.steps.index(self.bookmark.step) > self.steps.index(step)

    def _mark(self, here: Any, step: str, **where: Any) -> None:
        """Move the bookmark."""
        self.bookmark = Bookmark(step, here, self._rng.get_state(), **where)
        self.keep(self)

    def _task(self, population: Any, phase: Phase, *, bending: bool = False) -> Any:
        """A population under the measure of `phase`, with the stiffness if it has been learned.

        With `bending` under the bending energy in any case.
        """
        measure = self.plan.measure(phase.warp, phase.stiffness, None if bending else self.stiffness)
        return population.under(measure, unit_norm=self.plan.unit_norm, n_jobs=self.plan.n_jobs)

    def _search(
        self, centroids: np.ndarray | None, proper: Phase, announce: Callable[[int, int], None]
    ) -> np.ndarray:
        """Centroids of the sample, and with them the stiffness; from `centroids`, or from the bookmark."""
        plan, sample = self.plan, self.sample
        task = self._task(sample, proper)  # from a bookmark after the search: with the stiffness they share
        here = None
        if not self._is_past(SEARCH):
            here, _ = self._descend(task, centroids, plan.max_iter, LESSON_TOL, SEARCH)
            if plan.shares_stiffness:
                centroids = to_mean_pose(task, here)
                self.stiffness = learn_deformation_prior(task, here, shared=True)
                task = self._task(sample, proper)
        if plan.shares_stiffness and not self._is_past(USUAL):
            here, _ = self._descend(task, centroids, plan.max_iter, LESSON_TOL, USUAL)
        here = self._swap(task, here, announce)
        centroids = to_mean_pose(task, here)
        if plan.shares_stiffness:
            task = self._task(sample, proper, bending=True)
            start = task.assign(centroids.astype(task.measure.dtype))
            here, _ = lloyd(task, start, max_iter=min(RELEARN_ITERATIONS, plan.max_iter), tol=LESSON_TOL)
            centroids = to_mean_pose(task, here)
        if plan.learn_deformation_prior:
            self.stiffness = learn_deformation_prior(task, here)
        return centroids

    def _descend(self, task: Any, centroids: Any, max_iter: int, tol: float, name: str) -> tuple[Any, str]:
        """Lloyd's algorithm from `centroids`, every pair aligned from scratch first; or from the bookmark."""
        here, done = None, 0
        if self.bookmark is not None and self.bookmark.step == name:
            here, done = self.bookmark.clustering, self.bookmark.done
            if self.bookmark.reason:
                return here, self.bookmark.reason

        def report(here: Any, iteration: Iteration, reason: str) -> None:
            nonlocal done
            done += 1
            self.history.iterations.append(iteration)
            self._mark(here, name, done=done, reason=reason)
            self._notify(iteration)

        if here is None:
            here = task.assign(centroids.astype(task.measure.dtype))
        return lloyd(task, here, max_iter=max_iter, tol=tol, phase=name, done=done, report=report)

    def _swap(self, task: Task, here: Clustering | None, announce: Callable[[int, int], None]) -> Clustering:
        """Swap moves from a converged state, or from the bookmark."""
        progress = SwapProgress()
        if here is None:
            assert self.bookmark is not None
            here = self.bookmark.clustering
            progress = self.bookmark.swaps.copy() if self.bookmark.swaps else progress

        def mark(state: Clustering, iteration: Iteration | None) -> None:
            if iteration is not None:
                self.history.iterations.append(iteration)
            self._mark(state, SWAPS, swaps=progress.copy())
            if iteration is not None:
                self._notify(iteration)

        return swap_moves(
            task,
            here,
            max_trials=self.plan.swap_trials,
            max_iter=self.plan.max_iter,
            tol=LESSON_TOL,
            rng=self._rng,
            progress=progress,
            mark=mark,
            announce=announce,
        )

    def _seed(self, sample: Any) -> np.ndarray:
        plan, images = self.plan, sample.images
        if isinstance(plan.init, str):
            task = Task(
                images, sample.weights, plan.measure(plan.warp, 1.0, None), plan.unit_norm, plan.n_jobs
            )
            centroids = images[SEEDINGS[plan.init](task, plan.n_clusters, self._rng)]
        else:
            centroids = plan.init.astype(images.dtype)
        return scale_to_unit_norm(centroids) if plan.unit_norm else centroids
