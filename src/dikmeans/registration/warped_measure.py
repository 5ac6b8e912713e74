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

from typing import Literal

import numpy as np

from dikmeans._typing import DType, FloatArray, IntArray
from dikmeans.parallel.threads import run_threads, single_blas_thread
from dikmeans.registration.batches import BATCH_PIXELS
from dikmeans.registration.compilation import announce_compilation
from dikmeans.registration.descent import CentroidBank, Descent, StageKey, compared
from dikmeans.registration.grid import Grid
from dikmeans.registration.intensity import FixedIntensity, Intensity
from dikmeans.registration.measure import Change, Direction, PairFits, WarmStart
from dikmeans.registration.objective import Pairs, Problem, evaluate_pairs
from dikmeans.registration.orientation import Orientation, orientation_matrices
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
from dikmeans.registration.solvers import Solver, Stage
from dikmeans.registration.starts import (
    TURNS,
    UNTURNED,
    StartBank,
    lattice_of_poses,
    make_starts,
)
from dikmeans.registration.warps import Affine, Border, Warp

# The weight epsilon of the mean squared displacement beside the bending energy.
DISPLACEMENT_WEIGHT = 0.016
# The smoothness that a solver's model of the objective assumes at least.
MIN_MODEL_SMOOTHNESS = 0.1
# With the assignment settled, a fall of the inertia by this many times the tolerance is enough.
SETTLED = 10.0


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
    orientation : {"upright", "any", "any-mirrored"}, default="upright"
        In which orientations an image is compared.
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
        orientation: Orientation = "upright",
        precision: FloatArray | None = None,
    ):
        announce_compilation()
        self.warp = warp
        self.smoothness = smoothness
        self.direction: Direction = direction
        self.border: Border = border
        self.solver = solver
        self.warm_starts = solver.warm_starts
        self.unit_norm = unit_norm
        self.intensity = intensity or FixedIntensity()
        self.orientations = orientation_matrices(orientation)
        self.centroid_update = "mean" if direction == "image-to-centroid" else "least-squares"
        self.grids = pyramid_grids(warp.grid.shape)
        affine = Affine(warp.grid.shape)
        self._families: dict[bool, Warp] = {False: warp, True: affine}
        self.embedding = warp.embed_affine(np.eye(affine.n_basis))
        self._bending = warp.bending + DISPLACEMENT_WEIGHT * warp.displacement
        self._precision = (
            self._bending_penalty(smoothness)[None] if precision is None else precision
        )
        self._cold = solver.cold_stages(len(self.grids))
        self._warm = solver.warm_stages()
        self._samplers = {
            (stage.level, stage.affine): make_sampler(
                self._families[stage.affine], self.grids[stage.level]
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
    def cold_level(self) -> int:
        """The pyramid level that cold alignments start on."""
        return self._cold[0].level

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
        share = self.grids[level].n_pixels / self.grids[0].n_pixels
        penalties = share * self._penalties(columns)
        # what the solver expects where the pictures say nothing is never quite free
        lacking = share * self._bending_penalty(max(MIN_MODEL_SMOOTHNESS - self.smoothness, 0.0))
        priors = penalties + lacking
        if affine:
            embedding = np.kron(np.eye(2), self.embedding)
            penalties, priors = (embedding.T @ q @ embedding for q in (penalties, priors))
        return Problem(self._samplers[key], penalties.astype(np.float32), priors.astype(np.float32))

    # -- alignment -----------------------------------------------------------------------------

    def bank(
        self, centroids: FloatArray, *, warm: bool = False, columns: IntArray | None = None
    ) -> CentroidBank:
        """Centroids on all pyramid levels, with the curvature that the solver starts from."""
        centroids = self.intensity.prepare(np.ascontiguousarray(centroids, dtype=np.float32))
        stages = self._warm if warm else (*self._cold, *self._warm)
        grids = self.grids[: 1 + max(stage.level for stage in stages)]
        levels = self.pyramid(centroids, grids)
        keys = {(stage.level, stage.affine) for stage in (*stages, Stage(0, False, 0))}
        if columns is None:
            columns = np.arange(len(centroids))
        with single_blas_thread():
            problems = {key: self._problem(key, columns) for key in keys}
            curvatures = {key: self.solver.curvature(problems[key], levels[key[0]]) for key in keys}
        tries_poses = self.solver.tries_poses or len(self.orientations) > 1
        starts = self._starts(problems, levels) if tries_poses and not warm else None
        sides = tuple(compared(self, level, is_image=False) for level in levels)
        return CentroidBank(centroids, sides, problems, curvatures, starts)

    def pyramid(self, pictures: FloatArray, grids: tuple[Grid, ...]) -> tuple[FloatArray, ...]:
        """Pictures on some of the levels, as low-pass as the solver wants them."""
        return build_pyramid(pictures, grids, self.border, self.solver.low_pass)

    def _starts(
        self, problems: dict[StageKey, Problem], levels: tuple[FloatArray, ...]
    ) -> StartBank:
        """Centroids in all poses that a cold alignment may start from."""
        level = self.cold_level
        # an image that is compared in all orientations need not be turned any further
        poses = lattice_of_poses(self.grids[0], TURNS if len(self.orientations) == 1 else UNTURNED)
        return make_starts(
            problems[level, True],
            levels[level],
            poses,
            direction=self.direction,
            border=self.border,
        )

    def align(
        self,
        images: FloatArray,
        bank: CentroidBank,
        *,
        start: WarmStart | None = None,
        prune: float = np.inf,
        narrow: bool = False,
    ) -> PairFits:
        """Align every image with every centroid: coarse to fine, or from a warm start."""
        images = self.intensity.prepare(np.ascontiguousarray(images, dtype=np.float32))
        descent = Descent(self, images, bank, start)
        if start is None:
            descent.run_cold(self._cold, prune, narrow)
            descent.retry_from_identity(self._warm)
        else:
            descent.run_warm(self._warm, start, prune)
        return descent.result()

    def evaluate(self, problem: Problem, pairs: Pairs, deltas: FloatArray) -> FloatArray:
        """Cost of every pair at its `deltas`."""
        return evaluate_pairs(problem, pairs, deltas)

    def minimize(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: FloatArray,
        stage: Stage,
        deltas: FloatArray,
        race: float = np.inf,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Parameters, costs and status after a descent from `deltas`, which may be overwritten."""
        costs, status = np.empty(len(deltas), np.float32), np.empty(len(deltas), np.int8)
        self.solver.minimize(problem, pairs, curvature, stage, deltas, costs, status, race)
        return deltas, costs, status

    # -- rendering -----------------------------------------------------------------------------

    def orient(self, images: FloatArray, orientations: IntArray) -> FloatArray:
        """Each image (C, rows, columns) in the orientation with its number."""
        return self.orient_level(images, np.arange(len(images)), orientations, 0)

    def orient_level(
        self, images: FloatArray, which: IntArray, orientations: IntArray, level: int
    ) -> FloatArray:
        """``images[which[i]]``, on a pyramid level, in the orientation ``orientations[i]``."""
        if len(self.orientations) == 1:
            return images[which]
        family, grid = self._families[True], self.grids[level]
        deltas = np.zeros((len(self.orientations), 2, family.n_basis), np.float32)
        live = list(grid.live_axes)
        deltas[:, live, 1:] = (self.orientations - np.eye(2))[:, live][:, :, live]
        out = np.empty((len(which), images.shape[1], grid.n_pixels), np.float32)
        templates = pad(images, self.border)
        render_pairs(make_sampler(family, grid), templates, which, deltas[orientations], out)
        return out.reshape(len(which), *images.shape[1:])

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
        """The inertia hardly falls, or falls slowly while hardly any image moves.

        Without warm starts, where every iteration costs as much as the first, it is enough that no
        image moves.
        """
        if not self.warm_starts and change.moved == 0:
            return "no image changed its cluster"
        fall = change.inertia_before - change.inertia
        if fall <= tol * change.inertia_before:
            return "the inertia fell by less than tol"
        is_slow = fall <= SETTLED * tol * change.inertia_before
        if is_slow and change.moved <= tol * change.n_images:
            return "hardly any image changed its cluster"
        return ""
