r"""The measure under affine maps and thin-plate splines, with its solver, on pictures of one shape.

The penalty of a warp is the quadratic form :math:`\delta^T Q\,\delta` in units of the image's
energy :math:`\|x\|^2` (which is 1 after preprocessing, and where light and contrast are solved
for), so that pictures with values up to 255 and pictures with values up to 1 are treated alike.
Without a learned deformation prior it is

.. math::
    Q = \lambda\,(\mathrm{bending} + \varepsilon\,\mathrm{displacement}),

with the smoothness :math:`\lambda`. The bending energy leaves affine maps free; the mean squared
displacement of the pixels, with its tiny weight :math:`\varepsilon`, keeps even those from drifting
where the pictures say nothing. A learned prior (`dikmeans.kmeans.deformation_prior`) gives one
matrix :math:`Q_k` per centroid.

Data flows one way: pictures -> pyramid -> stages of the solver -> costs and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dikmeans._typing import BoolArray, DType, FloatArray, IntArray
from dikmeans.parallel.threads import run_threads, single_blas_thread
from dikmeans.registration.batches import BATCH_PIXELS
from dikmeans.registration.intensity import FixedIntensity, Intensity
from dikmeans.registration.measure import Change, Direction, PairFits
from dikmeans.registration.objective import Pairs, Problem, evaluate_pairs, unmoved_costs
from dikmeans.registration.pyramid import build_pyramid, pyramid_grids
from dikmeans.registration.sampling import (
    PADDING,
    Sampler,
    back_project,
    make_sampler,
    pad,
    padded_shape,
    render_pairs,
    render_places,
    unpad,
)
from dikmeans.registration.solvers import Solver, Stage, Status
from dikmeans.registration.warps import Affine, Border, Warp

# The weight epsilon of the mean squared displacement beside the bending energy.
DISPLACEMENT_WEIGHT = 0.016
# The smoothness that a solver's model of the objective assumes at least.
MIN_MODEL_SMOOTHNESS = 0.1
# With the assignment settled, a fall of the inertia by this many times the tolerance is enough.
SETTLED = 10.0

StageKey = tuple[int, bool]
"""Pyramid level, and whether the stage is affine."""


@dataclass(frozen=True)
class CentroidBank:
    """Centroids as the solver needs them: on the levels, with the curvature, of coming stages."""

    pictures: FloatArray
    levels: tuple[FloatArray, ...]
    problems: dict[StageKey, Problem]
    curvatures: dict[StageKey, FloatArray]


class WarpedMeasure:
    r"""The measure with its solver, evaluated by compiled loops.

    See `dikmeans.registration.measure.Measure` for its methods.

    Parameters
    ----------
    warp : Warp
    smoothness : float
    direction : {"image-to-centroid", "centroid-to-image"}
    border : {"zero", "edge"}
    solver : Solver
    unit_norm : bool, default=False
        Whether centroids are constrained to unit norm.
    intensity : Intensity, optional
        How light and contrast count; by default as they are.
    precision : array of shape (K, 2 n_basis, 2 n_basis), optional
        A learned penalty :math:`Q_k` for each centroid, in place of smoothness times bending.
        Parameters of rows come before those of columns.
    """

    needs_pixel_variance = False
    batch_pixels = BATCH_PIXELS
    max_threads: int | None = None
    centroid_update: Literal["mean", "least-squares"]

    def __init__(
        self,
        warp: Warp,
        *,
        smoothness: float,
        direction: Direction,
        border: Border,
        solver: Solver,
        unit_norm: bool = False,
        intensity: Intensity | None = None,
        precision: FloatArray | None = None,
    ):
        self.warp = warp
        self.smoothness = smoothness
        self.direction: Direction = direction
        self.border: Border = border
        self.solver = solver
        self.unit_norm = unit_norm
        self.intensity = intensity or FixedIntensity()
        self.centroid_update = "mean" if direction == "image-to-centroid" else "least-squares"
        self._grids = pyramid_grids(warp.grid.shape)
        affine = Affine(warp.grid.shape)
        self._families: dict[bool, Warp] = {False: warp, True: affine}
        self._embedding = warp.embed_affine(np.eye(affine.n_basis))
        self._bending = warp.bending + DISPLACEMENT_WEIGHT * warp.displacement
        self._precision = (
            self._bending_penalty(smoothness)[None] if precision is None else precision
        )
        self._cold = solver.cold_stages(len(self._grids))
        self._warm = solver.warm_stages()
        self._samplers = {
            (stage.level, stage.affine): make_sampler(
                self._families[stage.affine], self._grids[stage.level]
            )
            for stage in (*self._cold, *self._warm, Stage(0, False, 0))
        }

    @property
    def dtype(self) -> DType:
        """Single precision."""
        return np.dtype(np.float32)

    @property
    def n_basis(self) -> int:
        """Number of basis functions of the warp."""
        return self.warp.n_basis

    @property
    def sampler(self) -> Sampler:
        """How the sharp pictures are sampled."""
        return self._samplers[0, False]

    # -- penalties -----------------------------------------------------------------------------

    def _bending_penalty(self, smoothness: float) -> FloatArray:
        """Smoothness times bending as a matrix for the parameters of both axes."""
        return np.kron(np.eye(2), smoothness * self._bending)

    def _penalties(self, columns: IntArray) -> FloatArray:
        """Penalty matrices of these centroids; all alike unless each has its own."""
        shared = len(self._precision) == 1
        return self._precision[np.zeros_like(columns) if shared else columns]

    def penalty(self, deltas: FloatArray, columns: IntArray) -> FloatArray:
        """Cost of warps (n, 2, n_basis) of the centroids `columns`, for images of unit energy."""
        flat = deltas.reshape(len(deltas), -1).astype(float)
        costs = np.empty(len(flat))
        for k in np.unique(columns):
            (matrix,) = self._penalties(np.array([k]))
            rows = columns == k
            costs[rows] = np.einsum("ni,ij,nj->n", flat[rows], matrix, flat[rows], optimize=True)
        return costs

    def _problem(self, key: StageKey, columns: IntArray) -> Problem:
        """The objective of a stage for these centroids."""
        level, affine = key
        # a coarse level sums over fewer pixels; the balance of data and penalty stays the same
        share = self._grids[level].n_pixels / self._grids[0].n_pixels
        penalties = share * self._penalties(columns)
        # what the solver expects where the pictures say nothing is never quite free
        lacking = share * self._bending_penalty(max(MIN_MODEL_SMOOTHNESS - self.smoothness, 0.0))
        priors = penalties + lacking
        if affine:
            embedding = np.kron(np.eye(2), self._embedding)
            penalties, priors = (embedding.T @ q @ embedding for q in (penalties, priors))
        return Problem(self._samplers[key], penalties.astype(np.float32), priors.astype(np.float32))

    # -- alignment -----------------------------------------------------------------------------

    def bank(
        self, centroids: FloatArray, *, warm: bool = False, columns: IntArray | None = None
    ) -> CentroidBank:
        """Centroids on all pyramid levels, with the curvature that the solver starts from."""
        centroids = self.intensity.prepare(np.ascontiguousarray(centroids, dtype=np.float32))
        stages = self._warm if warm else (*self._cold, *self._warm)
        grids = self._grids[: 1 + max(stage.level for stage in stages)]
        levels = build_pyramid(centroids, grids, self.border)
        keys = {(stage.level, stage.affine) for stage in (*stages, Stage(0, False, 0))}
        if columns is None:
            columns = np.arange(len(centroids))
        with single_blas_thread():
            problems = {key: self._problem(key, columns) for key in keys}
            curvatures = {key: self.solver.curvature(problems[key], levels[key[0]]) for key in keys}
        return CentroidBank(centroids, levels, problems, curvatures)

    def align(
        self,
        images: FloatArray,
        bank: CentroidBank,
        *,
        start: FloatArray | None = None,
        keep: IntArray | None = None,
        prune: float = np.inf,
    ) -> PairFits:
        """Align every image with every centroid: coarse to fine, or from a warm start."""
        images = self.intensity.prepare(np.ascontiguousarray(images, dtype=np.float32))
        descent = _Descent(self, images, bank, start)
        if start is None:
            descent.run_cold(self._cold, prune)
            descent.retry_from_identity(self._warm)
        else:
            descent.run_warm(self._warm, keep, prune)
        return descent.result()

    def evaluate(self, problem: Problem, pairs: Pairs, deltas: FloatArray) -> FloatArray:
        """Cost of every pair at its `deltas`."""
        costs = np.empty(len(deltas), np.float32)
        evaluate_pairs(problem, pairs, deltas, costs)
        return costs

    def minimize(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: FloatArray,
        evaluations: int,
        deltas: FloatArray,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Parameters, costs and status after a descent from `deltas`, which may be overwritten."""
        costs, status = np.empty(len(deltas), np.float32), np.empty(len(deltas), np.int8)
        self.solver.minimize(problem, pairs, curvature, evaluations, deltas, costs, status)
        return deltas, costs, status

    # -- rendering -----------------------------------------------------------------------------

    def render(self, pictures: FloatArray, which: IntArray, deltas: FloatArray) -> FloatArray:
        """Warp ``pictures[which[i]]`` (C, rows, columns) by ``deltas[i]`` (2, n_basis)."""
        out = np.empty((len(which), pictures.shape[1], self.warp.grid.n_pixels), np.float32)
        templates = pad(pictures, self.border)
        render_pairs(self.sampler, templates, np.asarray(which), np.ascontiguousarray(deltas), out)
        return out.reshape(len(which), *pictures.shape[1:])

    def render_at(self, pictures: FloatArray, pixels: FloatArray) -> FloatArray:
        """``pictures[i]`` (C, rows, columns) at its own places ``pixels[i]`` (rows, columns, 2)."""
        out = np.empty((*pictures.shape[:2], self.warp.grid.n_pixels), np.float32)
        places = np.moveaxis(pixels.reshape(len(pixels), -1, 2), 2, 1) + PADDING
        render_places(self.sampler, pad(pictures, self.border), places.astype(np.float32), out)
        return out.reshape(pictures.shape)

    def back_project(
        self,
        centroids: FloatArray,
        images: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        deltas: FloatArray,
        n_jobs: int | None,
    ) -> tuple[FloatArray, FloatArray]:
        r"""Sums over the members of each cluster, for the update of warped centroids.

        Returns
        -------
        push : float64 array of shape (K, C, rows, columns)
            :math:`\sum_i w_i W_i^T (x_i - W_i \mu)`.
        mass : float64 array of shape (K, 1, rows, columns)
            :math:`\sum_i w_i W_i^T 1`.
        """
        templates = pad(centroids, self.border)
        targets = images.reshape(*images.shape[:2], -1)
        push = np.zeros(templates.shape)
        mass = np.zeros((len(templates), templates.shape[2]))
        self._back_project(templates, targets, labels, weights, deltas, push, mass, n_jobs)
        padded = padded_shape(centroids)
        return (
            unpad(push.reshape(len(push), -1, *padded), self.border),
            unpad(mass.reshape(len(mass), 1, *padded), self.border),
        )

    def _back_project(
        self,
        templates: FloatArray,
        targets: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        deltas: FloatArray,
        push: FloatArray,
        mass: FloatArray,
        n_jobs: int | None,
    ) -> None:
        """Add both sums, on padded pictures, to `push` and `mass`."""

        def project(members: IntArray) -> None:
            back_project(
                self.sampler, templates, targets, members, labels, weights, deltas, push, mass
            )

        # one thread per cluster: each sum belongs to one thread and keeps the order of the images
        run_threads(project, [np.flatnonzero(labels == k) for k in range(len(templates))], n_jobs)

    # -- convergence ---------------------------------------------------------------------------

    def stop_reason(self, change: Change, tol: float) -> str:
        """The inertia hardly falls, or falls slowly while hardly any image moves."""
        fall = change.inertia_before - change.inertia
        if fall <= tol * change.inertia_before:
            return "the inertia fell by less than tol"
        is_slow = fall <= SETTLED * tol * change.inertia_before
        if is_slow and change.moved <= tol * change.n_images:
            return "hardly any image changed its cluster"
        return ""


class _Descent:
    """All pairs of some images with all centroids of a bank, on their way to the best warp.

    Pairs are numbered image by image. `deltas`, `costs` and `status` hold what each has reached.
    """

    def __init__(
        self,
        measure: WarpedMeasure,
        images: FloatArray,
        bank: CentroidBank,
        start: FloatArray | None,
    ):
        self._measure, self._images, self._bank = measure, images, bank
        self._energies = measure.intensity.energies(images)
        self._shape = len(images), len(bank.pictures)
        n_pairs = len(images) * len(bank.pictures)
        if start is None:
            self._deltas = np.zeros((n_pairs, 2, measure.n_basis), np.float32)
        else:
            self._deltas = np.array(start, np.float32).reshape(n_pairs, 2, -1)
        self._costs = np.empty(n_pairs, np.float32)
        self._status = np.full(n_pairs, Status.PRUNED, np.int8)

    def run_cold(self, stages: tuple[Stage, ...], prune: float) -> None:
        """Coarse to fine; pairs that are hopeless after the coarsest level are not refined."""
        measure, bank = self._measure, self._bank
        levels = build_pyramid(self._images, measure._grids, measure.border)
        active, pruned = np.arange(len(self._costs)), False
        for stage in stages:
            if stage.level < stages[0].level and not pruned:
                # once only: later, what is kept would depend on the other images of the batch
                active, pruned = np.flatnonzero(self._near_best(prune)), True
            pairs = self._pairs(levels[stage.level], bank.levels[stage.level])
            self._run(stage, pairs, active)
        self._active, self._sharp = active, self._pairs(self._images, bank.pictures)

    def retry_from_identity(self, stages: tuple[Stage, ...]) -> None:
        """Start again where coarse stages led astray; then cost the pruned pairs as they are.

        No cost of a refined pair exceeds that of the identity.
        """
        active, sharp = self._active, self._sharp
        unmoved = self._unmoved_costs(sharp.subset(active))
        astray = active[unmoved < self._costs[active]]
        if len(astray):
            self._deltas[astray] = 0
            for stage in stages:
                self._run(stage, sharp, astray)
        pruned = np.setdiff1d(np.arange(len(self._costs)), active, assume_unique=True)
        self._costs[pruned] = self._measure.evaluate(
            self._bank.problems[0, False], sharp.subset(pruned), self._deltas[pruned]
        )
        self._status[pruned] = Status.PRUNED

    def _unmoved_costs(self, sharp: Pairs) -> FloatArray:
        """Cost of pairs of sharp pictures at the identity."""
        costs = np.empty(len(sharp.gain), np.float32)
        if sharp.template_norms.size:  # gain and offset must be solved for: evaluated as any warp
            deltas = np.zeros((len(costs), 2, self._measure.n_basis), np.float32)
            return self._measure.evaluate(self._bank.problems[0, False], sharp, deltas)
        unmoved_costs(sharp, self._measure.warp.grid.shape, PADDING, costs)
        return costs

    def run_warm(self, stages: tuple[Stage, ...], keep: IntArray | None, prune: float) -> None:
        """Refine the promising pairs, and each image's `keep`, on the sharp pictures alone."""
        sharp = self._pairs(self._images, self._bank.pictures)
        self._costs = self._measure.evaluate(self._bank.problems[0, False], sharp, self._deltas)
        chosen = self._near_best(prune)
        if keep is not None:
            chosen[np.arange(len(chosen)), keep] = True
        for stage in stages:
            self._run(stage, sharp, np.flatnonzero(chosen))

    def result(self) -> PairFits:
        """What the pairs have reached, by image and centroid."""
        costs = self._costs.reshape(self._shape).astype(np.float64) * self._energies[:, None]
        deltas = self._deltas.reshape(*self._shape, 2, -1)
        return PairFits(costs, deltas, self._status.reshape(self._shape))

    def _run(self, stage: Stage, pairs: Pairs, active: IntArray) -> None:
        """One stage on the `active` pairs; an affine stage starts from the identity."""
        key = (stage.level, stage.affine)
        problem, curvature = self._bank.problems[key], self._bank.curvatures[key]
        if stage.affine:
            start = np.zeros((len(active), 2, problem.n_basis), np.float32)
        else:
            start = self._deltas[active]
        reached, self._costs[active], self._status[active] = self._measure.minimize(
            problem, pairs.subset(active), curvature, stage.evaluations, start
        )
        if stage.affine:
            reached = reached @ self._measure._embedding.T.astype(np.float32)
        self._deltas[active] = reached

    def _pairs(self, images: FloatArray, centroids: FloatArray) -> Pairs:
        """All pairs of images with centroids on one level, image by image."""
        n, k = self._shape
        image_of, centroid_of = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        image_is_warped = self._measure.direction == "image-to-centroid"
        templates, targets = (images, centroids) if image_is_warped else (centroids, images)
        (templates, template_norms), (targets, target_norms) = map(
            self._measure.intensity.level, (templates, targets)
        )
        return Pairs(
            templates=pad(templates, self._measure.border),
            targets=np.ascontiguousarray(targets.reshape(*targets.shape[:2], -1)),
            template_of=image_of if image_is_warped else centroid_of,
            target_of=centroid_of if image_is_warped else image_of,
            centroid_of=centroid_of,
            gain=(1 / self._energies[image_of]).astype(np.float32),
            template_norms=template_norms,
            target_norms=target_norms,
        )

    def _near_best(self, prune: float) -> BoolArray:
        """Which pairs cost at most `prune` times their image's best, shape (n, K)."""
        if np.isinf(prune):
            return np.ones(self._shape, bool)
        costs = self._costs.reshape(self._shape)
        return costs <= prune * costs.min(axis=1, keepdims=True)
