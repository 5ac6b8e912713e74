r"""The measure between images and centroids, and the machine that evaluates it in bulk.

.. math::
    d(x, \mu) = \min_\nu \; \| \mathrm{warp}(x; \nu) - \mu \|^2
    + \lambda \, \|x\|^2 \, (\mathrm{bending}(\nu) + \varepsilon\,\mathrm{displacement}(\nu))

for ``direction="image-to-centroid"``; for ``"centroid-to-image"`` the centroid is the one that is
warped, :math:`\| \mathrm{warp}(\mu; \nu) - x \|^2`. :math:`\lambda` is the smoothness. The penalty counts in
units of the image's energy :math:`\|x\|^2` (which is 1 after normalisation), so that pictures with values
up to 255 and pictures with values up to 1 are treated alike. The bending energy leaves affine maps free;
the mean squared displacement of the pixels, with its tiny weight :math:`\varepsilon`, keeps even those
from wandering where the pictures say nothing.

Data flows one way: pictures -> pyramid -> stages of the solver -> costs and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dikmeans.registration.objective import Pairs, Problem, evaluate_pairs, unmoved_costs
from dikmeans.registration.pyramid import build_pyramid, pyramid_grids
from dikmeans.registration.solvers import Solver, Stage, Status
from dikmeans.parallel.threads import run_threads, single_blas_thread
from dikmeans.registration.warps import Affine, Warp
from dikmeans.registration.sampling import (
    PADDING,
    Sampler,
    back_project,
    make_sampler,
    pad,
    render_pairs,
    render_places,
)

# The weight epsilon of the mean squared displacement beside the bending energy.
DISPLACEMENT_WEIGHT = 0.016
# The smoothness that a solver's model of the objective assumes at least.
PRIOR_SMOOTHNESS = 0.1

# An image of less energy is black: one over it would leave no room for a centroid in single precision.
BLACK = 1e-30

DIRECTIONS = ("image-to-centroid", "centroid-to-image")


def energies_of(images: np.ndarray) -> np.ndarray:
    """Squared norm of each image (n, C, rows, columns), the unit of its costs; 1 for a black one."""
    energies = np.einsum("ncij,ncij->n", images, images, dtype=np.float64)
    energies[energies < BLACK] = 1.0
    return energies


class Fits(NamedTuple):
    """Alignments of n images with K centroids.

    Attributes
    ----------
    costs : float64 array of shape (n, K)
    deltas : float32 array of shape (n, K, 2, n_basis)
        Parameters less the identity.
    status : int8 array of shape (n, K)
        Values of `Status`.
    """

    costs: np.ndarray
    deltas: np.ndarray
    status: np.ndarray


@dataclass(frozen=True)
class CentroidBank:
    """Centroids as the solver wants them: on the levels, with the curvature, of the stages to come.

    A bank made for warm starts holds only what those need.
    """

    pictures: np.ndarray
    levels: tuple[np.ndarray, ...]
    problems: dict[tuple[int, bool], Problem]
    curvatures: dict[tuple[int, bool], np.ndarray]


class WarpedMeasure:
    r"""The measure with its solver, for pictures of one shape.

    Internally pictures are (n, C, rows, columns) arrays of float32.

    Parameters
    ----------
    warp : Warp
    smoothness : float
    direction : {"image-to-centroid", "centroid-to-image"}
    border : {"zero", "edge"}
    solver : Solver
    stiffness : array of shape (K, 2 n_basis, 2 n_basis), optional
        A penalty for each centroid, in place of smoothness times bending: the cost of a warp is then
        :math:`\delta^T Q_k\,\delta` in units of the image's energy, where :math:`\delta` are its
        parameters less the identity, those of the rows before those of the columns.
    """

    dtype: Any = np.float32
    exact = False
    # pixels of images that `fit` should get at once, one call at a time; None: as suits threads and caches
    chunk_pixels: int | None = None

    def __init__(
        self,
        warp: Warp,
        *,
        smoothness: float,
        direction: str,
        border: str,
        solver: Solver,
        stiffness: np.ndarray | None = None,
    ):
        self.warp = warp
        self.smoothness = smoothness
        self.direction = direction
        self.border = border
        self.solver = solver
        self._grids = pyramid_grids(warp.grid.shape)
        affine = Affine(warp.grid.shape)
        self._families = {False: warp, True: affine}
        self._embedding = warp.embed_affine(np.eye(affine.n_basis))
        self._bending = warp.bending + DISPLACEMENT_WEIGHT * warp.displacement
        self._stiffness = self._uniform(smoothness)[None] if stiffness is None else stiffness
        self._cold = solver.cold_stages(len(self._grids))
        self._warm = solver.warm_stages()
        stages = (*self._cold, *self._warm, Stage(0, False, 0))
        self._samplers = {
            (stage.level, stage.affine): make_sampler(self._families[stage.affine], self._grids[stage.level])
            for stage in stages
        }

    @property
    def n_basis(self) -> int:
        """Number of basis functions of the warp."""
        return self.warp.n_basis

    @property
    def sampler(self) -> Sampler:
        """How the sharp pictures are sampled."""
        return self._samplers[0, False]

    def _uniform(self, smoothness: float) -> np.ndarray:
        """Smoothness times bending as a matrix for the parameters of both axes."""
        return np.kron(np.eye(2), smoothness * self._bending)

    def _stiffness_of(self, numbers: np.ndarray) -> np.ndarray:
        """Penalty matrices of the centroids with these numbers; one for all unless each has its own."""
        shared = len(self._stiffness) == 1
        return self._stiffness[np.zeros_like(numbers) if shared else numbers]

    def _problem(self, key: tuple[int, bool], numbers: np.ndarray) -> Problem:
        """The stage `key` (level, affine) for the centroids with these numbers."""
        level, affine = key
        # a coarse level sums over fewer pixels; the balance of data and penalty stays the same
        share = self._grids[level].n_pixels / self._grids[0].n_pixels
        penalties = share * self._stiffness_of(numbers)
        # stiffer than a slight stiffness already, or made so
        lacking = share * self._uniform(max(PRIOR_SMOOTHNESS - self.smoothness, 0.0))
        priors = penalties + lacking
        if affine:
            embedding = np.kron(np.eye(2), self._embedding)
            penalties, priors = (embedding.T @ matrices @ embedding for matrices in (penalties, priors))
        return Problem(self._samplers[key], penalties.astype(np.float32), priors.astype(np.float32))

    def bank(
        self, centroids: np.ndarray, *, warm: bool = False, numbers: np.ndarray | None = None
    ) -> CentroidBank:
        """Prepare centroids (K, C, rows, columns) for any number of calls of `fit`.

        Parameters
        ----------
        centroids : array of shape (K, C, rows, columns)
        warm : bool
            Whether `fit` will be called with warm starts only.
        numbers : int array of shape (K,), optional
            Which centroids these are, where each has a stiffness of its own; by default the first K.
        """
        centroids = np.ascontiguousarray(centroids, dtype=np.float32)
        stages = self._warm if warm else (*self._cold, *self._warm)
        grids = self._grids[: 1 + max(stage.level for stage in stages)]
        levels = build_pyramid(centroids, grids, self.border)
        keys = {(stage.level, stage.affine) for stage in (*stages, Stage(0, False, 0))}
        if numbers is None:
            numbers = np.arange(len(centroids))
        with single_blas_thread():
            problems = {key: self._problem(key, numbers) for key in keys}
            curvatures = {key: self.solver.curvature(problems[key], levels[key[0]]) for key in keys}
        return CentroidBank(centroids, levels, problems, curvatures)

    def fit(
        self,
        images: np.ndarray,
        bank: CentroidBank,
        *,
        start: np.ndarray | None = None,
        keep: np.ndarray | None = None,
        prune: float = np.inf,
    ) -> Fits:
        """Align every image with every centroid.

        Parameters
        ----------
        images : array of shape (n, C, rows, columns)
        bank : CentroidBank
        start : array of shape (n, K, 2, n_basis), optional
            Warm start: parameters less the identity. Without it every pair starts from the identity.
        keep : int array of shape (n,), optional
            With a warm start: a centroid per image that is refined in any case.
        prune : float
            A pair is refined on the sharp pictures only if its cost before is at most `prune` times
            that of the image's best pair.
        """
        images = np.ascontiguousarray(images, dtype=np.float32)
        energies = energies_of(images)
        if start is None:
            fits = self._fit_cold(images, bank, energies, prune)
        else:
            fits = self._fit_warm(images, bank, energies, start, keep, prune)
        fits.costs[:] *= energies[:, None]
        return fits

    def _fit_cold(self, images: np.ndarray, bank: CentroidBank, energies: np.ndarray, prune: float) -> Fits:
        n, k = len(images), len(bank.pictures)
        levels = build_pyramid(images, self._grids, self.border)
        fits = _blank_fits(n, k, self.n_basis)
        costs, status = np.empty(n * k, np.float32), fits.status.reshape(-1)
        deltas = fits.deltas.reshape(n * k, 2, -1)
        active = np.arange(n * k)
        coarsest, pruned = self._cold[0].level, False
        for stage in self._cold:
            if stage.level < coarsest and not pruned:  # once: a row must not depend on its batch
                active = np.flatnonzero(_near_best(costs.reshape(n, k), prune))
                pruned = True
            pairs = self._pairs(levels[stage.level], bank.levels[stage.level], energies)
            self._run(stage, pairs, bank, active, deltas, costs, status)
        sharp = self._pairs(images, bank.pictures, energies)
        self._retry_from_identity(sharp, bank, active, deltas, costs, status)
        self._judge_unrefined(sharp, bank, active, deltas, costs, status)
        fits.costs[:] = costs.reshape(n, k)
        return fits

    def _fit_warm(
        self,
        images: np.ndarray,
        bank: CentroidBank,
        energies: np.ndarray,
        start: np.ndarray,
        keep: np.ndarray | None,
        prune: float,
    ) -> Fits:
        n, k = len(images), len(bank.pictures)
        fits = _blank_fits(n, k, self.n_basis)
        fits.deltas[:] = start
        deltas, status = fits.deltas.reshape(n * k, 2, -1), fits.status.reshape(-1)
        status[:] = Status.PRUNED
        sharp = self._pairs(images, bank.pictures, energies)
        costs = self._evaluate(bank.problems[0, False], sharp, deltas)
        chosen = _near_best(costs.reshape(n, k), prune)
        if keep is not None:
            chosen[np.arange(n), keep] = True
        for stage in self._warm:
            self._run(stage, sharp, bank, np.flatnonzero(chosen), deltas, costs, status)
        fits.costs[:] = costs.reshape(n, k)
        return fits

    def _run(
        self,
        stage: Stage,
        pairs: Pairs,
        bank: CentroidBank,
        active: np.ndarray,
        deltas: np.ndarray,
        costs: np.ndarray,
        status: np.ndarray,
    ) -> None:
        """One stage on the `active` pairs; an affine stage starts from the identity."""
        key = (stage.level, stage.affine)
        problem, curvature = bank.problems[key], bank.curvatures[key]
        some = np.zeros((len(active), 2, problem.n_basis), np.float32) if stage.affine else deltas[active]
        some, costs[active], status[active] = self._minimise(
            problem, pairs.subset(active), curvature, stage.evaluations, some
        )
        deltas[active] = some @ self._embedding.T.astype(np.float32) if stage.affine else some

    def _retry_from_identity(
        self,
        pairs: Pairs,
        bank: CentroidBank,
        active: np.ndarray,
        deltas: np.ndarray,
        costs: np.ndarray,
        status: np.ndarray,
    ) -> None:
        """Pairs that the coarse stages led astray start anew: no cost exceeds the identity's."""
        unmoved = np.empty(len(active), np.float32)
        unmoved_costs(pairs.subset(active), self.warp.grid.shape, PADDING, unmoved)
        astray = active[unmoved < costs[active]]
        if len(astray):
            deltas[astray] = 0
            for stage in self._warm:
                self._run(stage, pairs, bank, astray, deltas, costs, status)

    def _judge_unrefined(
        self,
        pairs: Pairs,
        bank: CentroidBank,
        active: np.ndarray,
        deltas: np.ndarray,
        costs: np.ndarray,
        status: np.ndarray,
    ) -> None:
        """Cost on the sharp pictures of the pairs that were pruned, as far as they got."""
        pruned = np.setdiff1d(np.arange(len(costs)), active, assume_unique=True)
        costs[pruned] = self._evaluate(bank.problems[0, False], pairs.subset(pruned), deltas[pruned])
        status[pruned] = Status.PRUNED

    def _pairs(self, images: np.ndarray, centroids: np.ndarray, energies: np.ndarray) -> Pairs:
        """All pairs of images with centroids, image by image, on one level."""
        n, k = len(images), len(centroids)
        image_of, centroid_of = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        warped_image = self.direction == "image-to-centroid"
        templates, targets = (images, centroids) if warped_image else (centroids, images)
        return Pairs(
            templates=pad(templates, self.border),
            targets=np.ascontiguousarray(targets.reshape(*targets.shape[:2], -1)),
            template_of=image_of if warped_image else centroid_of,
            target_of=centroid_of if warped_image else image_of,
            centroid_of=centroid_of,
            gain=(1 / energies[image_of]).astype(np.float32),
        )

    def penalty(self, deltas: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """What warps (n, 2, n_basis) of the centroids `labels` cost, for images of unit energy."""
        flat = deltas.reshape(len(deltas), -1).astype(float)
        costs = np.empty(len(flat))
        for k in np.unique(labels):
            (matrix,) = self._stiffness_of(np.array([k]))
            rows = labels == k
            costs[rows] = np.einsum("ni,ij,nj->n", flat[rows], matrix, flat[rows], optimize=True)
        return costs

    # -- the work on pixels ----------------------------------------------------------------------

    def _evaluate(self, problem: Problem, pairs: Pairs, deltas: np.ndarray) -> np.ndarray:
        """Cost of every pair at its `deltas`."""
        costs = np.empty(len(deltas), np.float32)
        evaluate_pairs(problem, pairs, deltas, costs)
        return costs

    def _minimise(
        self, problem: Problem, pairs: Pairs, curvature: np.ndarray, evaluations: int, deltas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parameters, costs and status of every pair after a descent from its `deltas`, which may be lost."""
        costs, status = np.empty(len(deltas), np.float32), np.empty(len(deltas), np.int8)
        self.solver.minimise(problem, pairs, curvature, evaluations, deltas, costs, status)
        return deltas, costs, status

    def render(self, pictures: np.ndarray, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """Warp ``pictures[which[i]]`` (C, rows, columns) by ``deltas[i]`` (2, n_basis) for each i."""
        out = np.empty((len(which), pictures.shape[1], self.warp.grid.n_pixels), np.float32)
        templates = pad(pictures, self.border)
        render_pairs(self.sampler, templates, np.asarray(which), np.ascontiguousarray(deltas), out)
        return out.reshape(len(which), *pictures.shape[1:])

    def back_project(
        self,
        templates: np.ndarray,
        targets: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        deltas: np.ndarray,
        push: np.ndarray,
        mass: np.ndarray,
        n_jobs: int | None = None,
    ) -> None:
        """Sums over images for the centroid update; see `dikmeans.registration.sampling.back_project`."""

        def project(members: np.ndarray) -> None:
            back_project(self.sampler, templates, targets, members, labels, weights, deltas, push, mass)

        # a thread a cluster: each sum belongs to one thread, and keeps the order of the images
        run_threads(project, [np.flatnonzero(labels == k) for k in range(len(templates))], n_jobs)

    def render_at(self, pictures: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        """``pictures[i]`` (C, rows, columns) at its own places ``pixels[i]`` (rows, columns, 2)."""
        out = np.empty((*pictures.shape[:2], self.warp.grid.n_pixels), np.float32)
        places = np.moveaxis(pixels.reshape(len(pixels), -1, 2), 2, 1) + PADDING
        render_places(self.sampler, pad(pictures, self.border), places.astype(np.float32), out)
        return out.reshape(pictures.shape)


def _blank_fits(n: int, k: int, n_basis: int) -> Fits:
    return Fits(
        costs=np.empty((n, k)),
        deltas=np.zeros((n, k, 2, n_basis), np.float32),
        status=np.zeros((n, k), np.int8),
    )


def _near_best(costs: np.ndarray, prune: float) -> np.ndarray:
    """Which pairs cost at most `prune` times their image's best."""
    if np.isinf(prune):
        return np.ones(costs.shape, bool)
    return costs <= prune * costs.min(axis=1, keepdims=True)
