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

from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit
from scipy import linalg

from dikmeans._typing import FloatArray, IntArray
from dikmeans.parameters import Number, Whole
from dikmeans.registration.objective import Pairs, Problem, complete, evaluate, make_work
from dikmeans.registration.sampling import FAST, INLINED, NO_REFCOUNTS
from dikmeans.registration.solvers.base import DEVICE, Solver, Stage, Status

CONVERGED, BUDGET = int(Status.CONVERGED), int(Status.BUDGET)
STALLED, PRUNED = int(Status.STALLED), int(Status.PRUNED)

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
# A pair is given up if even so many times the gain that its quadratic model promises would leave it
# above `race` times the best of its image.
HOPE = 4.0


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
        race: float = np.inf,
    ) -> None:
        """Descend until gains are small, evaluations are used up, or a pair is given up."""
        _minimize_pairs(
            problem,
            pairs,
            curvature,
            stage.evaluations,
            np.float32(self.tol),
            deltas.reshape(len(deltas), 2 * problem.n_basis),  # the same memory
            costs,
            status,
            np.float32(race),
            _History.of(problem.n_basis, self.memory),
            make_work(problem, pairs),
        )


class _History(NamedTuple):
    """What a descent remembers, as flat parameters: those of rows before those of columns.

    Attributes
    ----------
    trial, trial_gradient : float32 arrays of shape (2 n_basis,)
        The parameters that are evaluated.
    gradient : float32 array of shape (2 n_basis,)
        At the parameters reached.
    steps, changes : float32 arrays of shape (memory, 2 n_basis)
        Past steps, and how the gradient changed.
    weights, alphas : float32 arrays of shape (memory,)
        One over the product of each step and change, and a coefficient of the recursion.
    direction, rest : float32 arrays of shape (2 n_basis,)
        Where to go, and the gradient less what the past steps explain.
    """

    trial: FloatArray
    trial_gradient: FloatArray
    gradient: FloatArray
    steps: FloatArray
    changes: FloatArray
    weights: FloatArray
    alphas: FloatArray
    direction: FloatArray
    rest: FloatArray

    @classmethod
    def of(cls, n_basis: int, memory: int) -> _History:
        n = 2 * n_basis
        shapes = n, n, n, (memory, n), (memory, n), memory, memory, n, n
        return cls(*(np.empty(shape, np.float32) for shape in shapes))


@njit(fastmath=FAST, error_model="numpy", **INLINED)
def _direction(inverse, history, n_stored):
    """L-BFGS two-loop recursion: minus the inverse Hessian times the gradient.

    Returns the slope of the cost along it.
    """
    steps, changes, weights, alphas = (
        history.steps, history.changes, history.weights, history.alphas
    )  # fmt: skip
    gradient, rest, direction = history.gradient, history.rest, history.direction
    memory, n = steps.shape
    for i in range(n):
        rest[i] = gradient[i]
    stored = min(n_stored, memory)
    for back in range(stored):
        s = (n_stored - 1 - back) % memory
        alpha = np.float32(0)
        for i in range(n):
            alpha += steps[s, i] * rest[i]
        alpha *= weights[s]
        alphas[s] = alpha
        for i in range(n):
            rest[i] -= alpha * changes[s, i]
    for i in range(n):
        product = np.float32(0)
        for j in range(n):
            product += inverse[i, j] * rest[j]
        direction[i] = product
    for forward in range(stored):
        s = (n_stored - stored + forward) % memory
        beta = np.float32(0)
        for i in range(n):
            beta += changes[s, i] * direction[i]
        beta = alphas[s] - beta * weights[s]
        for i in range(n):
            direction[i] += steps[s, i] * beta
    slope = np.float32(0)
    for i in range(n):
        direction[i] = -direction[i]
        slope += gradient[i] * direction[i]
    return slope


@njit(fastmath=FAST, error_model="numpy", **NO_REFCOUNTS)
def _minimize_pairs(
    problem, pairs, inverses, evaluations, tol, deltas, costs, status, race, history, work
):
    trial, trial_gradient = history.trial, history.trial_gradient
    gradient, direction = history.gradient, history.direction
    steps, changes = history.steps, history.changes
    memory, n = steps.shape
    half, tenth, max_step = np.float32(0.5), np.float32(0.1), np.float32(MAX_STEP)
    gain, floor = np.float32(SUFFICIENT_GAIN), np.float32(COST_FLOOR)

    hope, image, limit = np.float32(HOPE / 2), -1, np.float32(np.inf)
    for pair in range(costs.shape[0]):
        if pairs.image_of[pair] != image:
            image, limit = pairs.image_of[pair], np.float32(np.inf)
        current = deltas[pair]
        inverse = inverses[pairs.centroid_of[pair]]
        for i in range(n):
            trial[i] = current[i]
            gradient[i] = 0
        cost, slope, length = np.float32(np.inf), np.float32(0), np.float32(0)
        used = n_stored = small_gains = n_tries = 0
        outcome = BUDGET
        # Every turn evaluates one trial. There is one call for all, as each call is compiled anew.
        while True:
            trial_cost, n_active = evaluate(problem, pairs, pair, trial, trial_gradient, work)
            used += 1
            n_tries += 1
            if used == 1 or trial_cost <= cost + gain * length * slope:
                s = n_stored % memory
                for i in range(n):
                    steps[s, i] = trial[i] - current[i]
                    current[i] = trial[i]
                small_gains = small_gains + 1 if cost - trial_cost < tol * trial_cost else 0
                cost = trial_cost
                if small_gains >= PATIENCE:
                    outcome = CONVERGED
                    break
                if used >= evaluations:
                    break
                if cost <= floor:
                    outcome = CONVERGED
                    break
                complete(problem.sampler, n_active, trial_gradient, work)
                product = np.float32(0)
                for i in range(n):
                    changes[s, i] = trial_gradient[i] - gradient[i]
                    product += steps[s, i] * changes[s, i]
                    gradient[i] = trial_gradient[i]
                if product > 0:
                    history.weights[s] = np.float32(1) / product
                    n_stored += 1
                else:  # no curvature to learn from, and an old step may have been overwritten
                    n_stored = 0
                n_tries = 0
            elif used >= evaluations:
                break
            elif n_tries < MAX_BACKTRACKS:
                # the minimum of the parabola through both costs and the slope, kept in bounds
                parabola = -slope * length * length / (2 * (trial_cost - cost - slope * length))
                length = min(max(parabola, tenth * length), half * length)
            elif n_stored == 0:
                outcome = STALLED
                break
            else:
                n_stored = n_tries = 0

            if n_tries == 0:
                while True:
                    slope = _direction(inverse, history, n_stored)
                    if slope < 0 or n_stored == 0:
                        break
                    n_stored = 0
                if not slope < 0:
                    outcome = CONVERGED if slope == 0 else STALLED
                    break
                if cost + hope * slope > limit:
                    outcome = PRUNED
                    break
                longest = np.float32(0)
                for i in range(n):
                    longest = max(longest, abs(direction[i]))
                length = max_step / longest if longest > max_step else np.float32(1)
            for i in range(n):
                trial[i] = current[i] + length * direction[i]
        costs[pair] = cost
        status[pair] = outcome
        limit = min(limit, race * cost)
