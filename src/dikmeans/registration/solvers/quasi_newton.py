r"""The default solver: limited-memory BFGS, coarse to fine, with the centroid's own curvature.

Near the solution the Hessian of the cost is close to the Gauss-Newton matrix made of the
*centroid's* slopes, :math:`H = 2\,(J^T J + Q)` with :math:`J = (\Phi\,\partial_{row}\mu,
\Phi\,\partial_{col}\mu)`. It is the same for all images, so it is inverted once per centroid and
serves as the initial inverse Hessian of every L-BFGS descent; a handful of stored steps correct
what it misses. One step then costs hardly more than one gradient, and takes the place of ten or so
of Adam's.

Sharp strokes make the cost rugged; the descent therefore starts on low-pass pictures with affine
maps, frees the whole warp there, and refines on ever sharper levels.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit
from scipy import linalg

from dikmeans._typing import FloatArray, IntArray
from dikmeans.parameters import Number, Whole
from dikmeans.registration.objective import N_WORK_ROWS, Pairs, Problem, evaluate
from dikmeans.registration.sampling import FAST
from dikmeans.registration.solvers.base import DEVICE, Solver, Stage, Status

CONVERGED, BUDGET, STALLED = int(Status.CONVERGED), int(Status.BUDGET), int(Status.STALLED)

# Added to H, relative to its mean diagonal: directions that the centroid's slopes say nothing
# about.
DAMPING = 0.03
# No parameter moves further than this in one step, in units of the frame.
MAX_STEP = 0.3
# A step must gain this share of what the slope promises (Armijo's condition).
SUFFICIENT_GAIN = 1e-4
MAX_BACKTRACKS = 4
# Small gains in a row that mean convergence; below the floor a cost of a unit-energy image is zero.
PATIENCE = 2
COST_FLOOR = 1e-10


class QuasiNewton(Solver):
    """Preconditioned L-BFGS on a low-pass pyramid.

    Parameters
    ----------
    evaluations : int, default=15
        Evaluations of cost and gradient allowed to a pair on the sharp pictures; of the stages on
        low-pass pictures, which cost a quarter or less, the affine one gets half as many and the
        one with the whole warp a third more.
    tol : float, default=1e-3
        A stage ends after two steps in a row that lower the cost by less than this share of it.
    memory : int, default=6
        Past steps that correct the inverse Hessian.
    device : str, optional
        Where the work is done: by compiled loops on the processor if None, otherwise by PyTorch
        (the extra ``[deep]``) on that device: "cuda", "cuda:1", or "cpu" to compare. A matter of
        the machine, not of the model: model files do not keep it.
    """

    tries_poses = True
    constraints: ClassVar = {
        "evaluations": [Whole(1)],
        "tol": [Number(0)],
        "memory": [Whole(1)],
        "device": DEVICE,
    }

    def __init__(
        self,
        evaluations: int = 15,
        tol: float = 1e-3,
        memory: int = 6,
        device: str | None = None,
    ):
        self.evaluations = evaluations
        self.tol = tol
        self.memory = memory
        self.device = device

    def cold_stages(self, n_levels: int) -> tuple[Stage, ...]:
        """Affine and whole on the coarsest level, then whole on every finer one."""
        coarsest, n = n_levels - 1, self.evaluations
        finer = [Stage(level, False, n) for level in range(coarsest - 1, -1, -1)]
        return Stage(coarsest, True, n // 2 + 1), Stage(coarsest, False, n + n // 3), *finer

    def warm_stages(self) -> tuple[Stage, ...]:
        """The sharp level alone."""
        return (Stage(0, False, self.evaluations),)

    def curvature(self, problem: Problem, centroids: FloatArray) -> FloatArray:
        """Inverse of the damped Gauss-Newton matrix of each centroid, scaled to unit energy."""
        sampler, n_basis = problem.sampler, problem.n_basis
        inverses = np.empty((len(centroids), 2 * n_basis, 2 * n_basis), np.float32)
        for k, centroid in enumerate(centroids.astype(np.float32)):
            energy = float((centroid**2).sum()) or 1.0
            hessian = problem.priors[k].astype(float)
            for channel in centroid:
                slopes = [
                    (np.gradient(channel, axis=axis) if scale > 0 else np.zeros_like(channel))
                    * scale
                    for axis, scale in enumerate(sampler.scale)
                ]
                jacobian = np.concatenate([sampler.phi * slope.ravel() for slope in slopes])
                hessian += (jacobian @ jacobian.T) / energy
            damping = DAMPING * np.trace(hessian) / len(hessian) or 1.0
            hessian[np.diag_indices_from(hessian)] += damping
            inverses[k] = linalg.inv(2 * hessian)
        return inverses

    def minimize(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: FloatArray,
        stage: Stage,
        deltas: FloatArray,
        costs: FloatArray,
        status: IntArray,
    ) -> None:
        """Descend until two small gains in a row, or all evaluations are used."""
        _minimize_pairs(
            problem,
            pairs,
            curvature,
            stage.evaluations,
            np.float32(self.tol),
            self.memory,
            deltas,
            costs,
            status,
        )


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def _direction(inverse, gradient, steps, changes, weights, n_stored, memory, alphas, out):
    """L-BFGS two-loop recursion: minus the inverse Hessian times the gradient."""
    n = gradient.shape[0]
    q = out[1]
    for i in range(n):
        q[i] = gradient[i]
    stored = min(n_stored, memory)
    for back in range(stored):
        s = (n_stored - 1 - back) % memory
        alpha = np.float32(0)
        for i in range(n):
            alpha += steps[s, i] * q[i]
        alpha *= weights[s]
        alphas[s] = alpha
        for i in range(n):
            q[i] -= alpha * changes[s, i]
    direction = out[0]
    for i in range(n):
        total = np.float32(0)
        for j in range(n):
            total += inverse[i, j] * q[j]
        direction[i] = total
    for forward in range(stored):
        s = (n_stored - stored + forward) % memory
        beta = np.float32(0)
        for i in range(n):
            beta += changes[s, i] * direction[i]
        beta = alphas[s] - beta * weights[s]
        for i in range(n):
            direction[i] += steps[s, i] * beta
    for i in range(n):
        direction[i] = -direction[i]


@njit(fastmath=FAST, nogil=True, cache=True)
def _minimize_pairs(problem, pairs, inverses, evaluations, tol, memory, deltas, costs, status):
    n_basis, n_pixels = problem.sampler.phi.shape
    n = 2 * n_basis
    work, cells = np.empty((N_WORK_ROWS, n_pixels), np.float32), np.empty(n_pixels, np.uint32)
    gradient, trial_gradient = (
        np.empty((2, n_basis), np.float32),
        np.empty((2, n_basis), np.float32),
    )
    trial = np.empty((2, n_basis), np.float32)
    steps, changes = np.empty((memory, n), np.float32), np.empty((memory, n), np.float32)
    weights, alphas = np.empty(memory, np.float32), np.empty(memory, np.float32)
    directions = np.empty((2, n), np.float32)
    direction = directions[0].reshape(2, n_basis)
    half, tenth, max_step = np.float32(0.5), np.float32(0.1), np.float32(MAX_STEP)
    gain, floor = np.float32(SUFFICIENT_GAIN), np.float32(COST_FLOOR)

    for pair in range(costs.shape[0]):
        current = deltas[pair]
        inverse = inverses[pairs.centroid_of[pair]]
        cost = evaluate(problem, pairs, pair, current, gradient, work, cells)
        used, n_stored, small_gains = 1, 0, 0
        outcome = BUDGET
        while used < evaluations:
            if cost <= floor:
                outcome = CONVERGED
                break
            _direction(
                inverse, gradient.ravel(), steps, changes, weights, n_stored, memory, alphas,
                directions,
            )  # fmt: skip
            slope, longest = np.float32(0), np.float32(0)
            for axis in range(2):
                for j in range(n_basis):
                    slope += gradient[axis, j] * direction[axis, j]
                    longest = max(longest, abs(direction[axis, j]))
            if not slope < 0:
                if n_stored == 0:
                    outcome = CONVERGED if slope == 0 else STALLED
                    break
                n_stored = 0
                continue

            length = np.float32(1)
            if longest > max_step:
                length = max_step / longest
            found = False
            trial_cost = cost
            for _ in range(MAX_BACKTRACKS):
                for axis in range(2):
                    for j in range(n_basis):
                        trial[axis, j] = current[axis, j] + length * direction[axis, j]
                trial_cost = evaluate(problem, pairs, pair, trial, trial_gradient, work, cells)
                used += 1
                found = trial_cost <= cost + gain * length * slope
                if found or used >= evaluations:
                    break
                # the minimum of the parabola through both costs and the slope, kept in bounds
                parabola = -slope * length * length / (2 * (trial_cost - cost - slope * length))
                length = min(max(parabola, tenth * length), half * length)
            if not found:
                if used >= evaluations:
                    break
                if n_stored == 0:
                    outcome = STALLED
                    break
                n_stored = 0
                continue

            s = n_stored % memory
            product = np.float32(0)
            for axis in range(2):
                for j in range(n_basis):
                    i = axis * n_basis + j
                    steps[s, i] = trial[axis, j] - current[axis, j]
                    changes[s, i] = trial_gradient[axis, j] - gradient[axis, j]
                    product += steps[s, i] * changes[s, i]
                    current[axis, j] = trial[axis, j]
                    gradient[axis, j] = trial_gradient[axis, j]
            if product > 0:
                weights[s] = np.float32(1) / product
                n_stored += 1
            else:  # no curvature to learn from, and an old step may have been overwritten
                n_stored = 0
            small_gains = small_gains + 1 if cost - trial_cost < tol * trial_cost else 0
            cost = trial_cost
            if small_gains >= PATIENCE:
                outcome = CONVERGED
                break
        costs[pair] = cost
        status[pair] = outcome
