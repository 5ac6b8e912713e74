"""Adam (Kingma and Ba 2015): the solver of the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numba import njit
from sklearn.utils._param_validation import Interval

from dikmeans.registration.objective import N_WORK_ROWS, Pairs, Problem, evaluate
from dikmeans.registration.solvers.base import Solver, Stage, Status
from dikmeans.registration.sampling import FAST

CONVERGED, BUDGET = int(Status.CONVERGED), int(Status.BUDGET)


class Adam(Solver):
    """Adam with a fixed number of steps: affine on the low-pass pictures, then the whole warp.

    Without a penalty the result depends on stopping early, hence on both parameters.

    Parameters
    ----------
    learning_rate : float, default=0.01
        In units of the frame (half of the picture's longer side). The paper chooses among 1e-4,
        5e-4, 1e-3, 5e-3, 1e-2 and 5e-2.
    steps : int, default=50
        Gradient steps of each of the two stages, and of each warm start.
    """

    _parameter_constraints: ClassVar = {
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "steps": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, learning_rate: float = 0.01, steps: int = 50):
        self.learning_rate = learning_rate
        self.steps = steps

    def cold_stages(self, n_levels: int) -> tuple[Stage, ...]:
        """Low-pass affine, then sharp and whole."""
        return Stage(1, True, self.steps), Stage(0, False, self.steps)

    def warm_stages(self) -> tuple[Stage, ...]:
        """The sharp stage alone."""
        return (Stage(0, False, self.steps),)

    def minimise(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: np.ndarray,
        evaluations: int,
        deltas: np.ndarray,
        costs: np.ndarray,
        status: np.ndarray,
    ) -> None:
        """Take `evaluations` steps on every pair."""
        rate = np.float32(self.learning_rate)
        _minimise_pairs(problem, pairs, rate, evaluations, deltas, costs, status)


@njit(fastmath=FAST, nogil=True, cache=True)
def _minimise_pairs(problem, pairs, rate, steps, deltas, costs, status):
    n_basis, n_pixels = problem.sampler.phi.shape
    work, cells = np.empty((N_WORK_ROWS, n_pixels), np.float32), np.empty(n_pixels, np.uint32)
    gradient = np.empty((2, n_basis), np.float32)
    mean, square = np.empty((2, n_basis), np.float32), np.empty((2, n_basis), np.float32)
    here = np.empty((2, n_basis), np.float32)
    keep1, keep2, tiny, one = np.float32(0.9), np.float32(0.999), np.float32(1e-8), np.float32(1)
    for i in range(costs.shape[0]):
        mean[:] = 0
        square[:] = 0
        here[:] = deltas[i]
        best = evaluate(problem, pairs, i, here, gradient, work, cells)
        status[i] = BUDGET
        decay1, decay2 = one, one
        for _ in range(steps):
            decay1 *= keep1
            decay2 *= keep2
            steepest = np.float32(0)
            for axis in range(2):
                for j in range(n_basis):
                    g = gradient[axis, j]
                    steepest = max(steepest, abs(g))
                    mean[axis, j] = keep1 * mean[axis, j] + (one - keep1) * g
                    square[axis, j] = keep2 * square[axis, j] + (one - keep2) * g * g
                    scale = np.sqrt(square[axis, j] / (one - decay2)) + tiny
                    here[axis, j] -= rate * mean[axis, j] / (one - decay1) / scale
            if steepest == 0 and decay1 == keep1:  # starts on an exact minimum: nothing will move
                status[i] = CONVERGED
                break
            cost = evaluate(problem, pairs, i, here, gradient, work, cells)
            if cost < best:
                best = cost
                deltas[i] = here
        costs[i] = best
