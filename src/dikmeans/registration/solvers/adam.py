"""Adam (Kingma and Ba 2015): the solver of the paper."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.parameters import FLAG, Number, Whole
from dikmeans.registration.objective import Pairs, Problem, complete, evaluate, make_work
from dikmeans.registration.pyramid import LOW_PASS
from dikmeans.registration.sampling import FAST
from dikmeans.registration.solvers.base import DEVICE, Solver, Stage, Status

CONVERGED, BUDGET = int(Status.CONVERGED), int(Status.BUDGET)

# With the best affine map, on the sharp pictures, a pair may cost so many times the best of its
# image to be refined. None of 1,500 digits lost the centroid that would have been its nearest.
PRUNE = 2.0


class Adam(Solver):
    """Adam with a fixed number of steps: affine on the low-pass pictures, then the whole warp.

    Without a penalty the result depends on stopping early, hence on all parameters. Rates are in
    units of the frame (half of the picture's longer side).

    Parameters
    ----------
    learning_rate : float, default=0.01
        Of the whole warp. The paper chooses among 1e-4, 5e-4, 1e-3, 5e-3, 1e-2 and 5e-2.
    steps : int, default=50
        Gradient steps with the whole warp, from scratch and from a warm start.
    affine_learning_rate : float, default=0.02
        Of the affine maps that an alignment from scratch begins with.
    affine_steps : int, default=100
        Gradient steps with them.
    low_pass : float, default=1.5
        Standard deviation, in pixels, of the Gaussian that pictures are filtered by before affine
        maps are learned on every second of their pixels. A wide one lets pictures be far apart, and
        gives wrong pairs less to hold on to; a narrow one places the map better.
    warm_starts : bool, default=True
        Whether an iteration of Lloyd's algorithm starts from the warps of the one before, or aligns
        every pair from scratch, as Algorithm 2 of the paper says.
    device : str, optional
        Where the work is done: by compiled loops on the processor if None, otherwise by PyTorch
        (the extra ``[deep]``) on that device: "cuda", "cuda:1", or "cpu" to compare. A matter of
        the machine, not of the model: model files do not keep it.
    """

    constraints: ClassVar = {
        "learning_rate": [Number(0, 1, with_low=False)],
        "steps": [Whole(0)],
        "affine_learning_rate": [Number(0, 1, with_low=False)],
        "affine_steps": [Whole(0)],
        "low_pass": [Number(0)],
        "warm_starts": [FLAG],
        "device": DEVICE,
    }

    def __init__(
        self,
        learning_rate: float = 0.01,
        steps: int = 50,
        affine_learning_rate: float = 0.02,
        affine_steps: int = 100,
        low_pass: float = LOW_PASS,
        warm_starts: bool = True,
        device: str | None = None,
    ):
        self.learning_rate = learning_rate
        self.steps = steps
        self.affine_learning_rate = affine_learning_rate
        self.affine_steps = affine_steps
        self.low_pass = low_pass
        self.warm_starts = warm_starts
        self.device = device

    def cold_stages(self, n_levels: int) -> tuple[Stage, ...]:
        """Low-pass affine; all pairs as they then are, but sharp; the promising ones, whole."""
        return (
            Stage(1, True, self.affine_steps),
            Stage(0, False, 0, prune=np.inf),
            Stage(0, False, self.steps, prune=PRUNE),
        )

    def warm_stages(self) -> tuple[Stage, ...]:
        """The sharp stage alone."""
        return (Stage(0, False, self.steps),)

    def rate(self, stage: Stage) -> float:
        """The learning rate of a stage."""
        return self.affine_learning_rate if stage.affine else self.learning_rate

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
        """Take the steps of a stage on every pair."""
        rate = np.float32(self.rate(stage))
        work = make_work(problem, pairs)
        flat = deltas.reshape(len(deltas), 2 * problem.n_basis)  # the same memory
        _minimize_pairs(problem, pairs, rate, stage.evaluations, flat, costs, status, work)


@njit(fastmath=FAST, nogil=True, cache=True)
def _minimize_pairs(problem, pairs, rate, steps, deltas, costs, status, work):
    n = deltas.shape[1]
    gradient = np.empty(n, np.float32)
    mean, square = np.empty(n, np.float32), np.empty(n, np.float32)
    current = np.empty(n, np.float32)
    keep1, keep2, tiny, one = np.float32(0.9), np.float32(0.999), np.float32(1e-8), np.float32(1)
    for i in range(costs.shape[0]):
        mean[:] = 0
        square[:] = 0
        current[:] = deltas[i]
        best, n_active = evaluate(problem, pairs, i, current, gradient, work)
        status[i] = BUDGET
        decay1, decay2 = one, one
        for _ in range(steps):
            complete(problem.sampler, n_active, gradient, work)
            decay1 *= keep1
            decay2 *= keep2
            steepest = np.float32(0)
            for j in range(n):
                g = gradient[j]
                steepest = max(steepest, abs(g))
                mean[j] = keep1 * mean[j] + (one - keep1) * g
                square[j] = keep2 * square[j] + (one - keep2) * g * g
                scale = np.sqrt(square[j] / (one - decay2)) + tiny
                current[j] -= rate * mean[j] / (one - decay1) / scale
            if steepest == 0 and decay1 == keep1:  # starts on an exact minimum: nothing will move
                status[i] = CONVERGED
                break
            cost, n_active = evaluate(problem, pairs, i, current, gradient, work)
            if cost < best:
                best = cost
                deltas[i] = current
        costs[i] = best
