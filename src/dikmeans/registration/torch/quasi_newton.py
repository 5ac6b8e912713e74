"""The descent of `dikmeans.registration.solvers.quasi_newton`, in all slots at once.

One tick is one evaluation of every slot's next trial. A slot then does what the compiled loop does
next with its pair: it takes the step and a new direction, or tries a shorter step, or is done, in
which case the next pair that waits takes its place.
"""

from __future__ import annotations

import torch

from dikmeans.registration.solvers.base import Status
from dikmeans.registration.solvers.quasi_newton import (
    COST_FLOOR,
    MAX_BACKTRACKS,
    MAX_STEP,
    PATIENCE,
    SUFFICIENT_GAIN,
    QuasiNewton,
)
from dikmeans.registration.torch.slots import Slots

_GOES_ON = -1


class QuasiNewtonDescent:
    """L-BFGS from given parameters, for all pairs of `slots`.

    Parameters
    ----------
    solver : QuasiNewton
    slots : Slots
    inverses : float32 tensor of shape (K, n_parameters, n_parameters)
        Initial inverse Hessian of each centroid.
    evaluations : int
        Allowed to a pair.
    """

    def __init__(self, solver: QuasiNewton, slots: Slots, inverses: torch.Tensor, evaluations: int):
        self._slots, self._all_inverses = slots, inverses
        self._evaluations, self._tol = evaluations, solver.tol
        device, n, p = inverses.device, slots.n_slots, slots.n_parameters
        self._waiting = 0  # the first pair that has no slot yet
        self._pair = torch.full((n,), -1, device=device)
        self._inverse = torch.zeros((n, p, p), device=device)
        self._current, self._gradient, self._direction = torch.zeros((3, n, p), device=device)
        self._cost, self._slope, self._length = torch.zeros((3, n), device=device)
        self._used, self._tries, self._small_gains = torch.zeros(
            (3, n), dtype=torch.int32, device=device
        )
        # past steps, the latest first; one that is forgotten, or never was, has weight zero
        self._steps, self._changes = torch.zeros((2, solver.memory, n, p), device=device)
        self._weights = torch.zeros((solver.memory, n), device=device)

    @torch.inference_mode()
    def minimize(self, deltas: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Improve `deltas` (n_pairs, n_parameters) in place; returns costs and status."""
        costs = torch.empty(len(deltas), device=deltas.device)
        status = torch.empty(len(deltas), dtype=torch.int8, device=deltas.device)
        self._waiting = 0
        self._fill(torch.arange(self._slots.n_slots, device=deltas.device), deltas)
        busy = len(deltas)
        while busy:
            outcome = self._tick()
            done = torch.nonzero((outcome != _GOES_ON) & (self._pair >= 0))[:, 0]
            if len(done):
                pairs = self._pair[done]
                deltas[pairs], costs[pairs], status[pairs] = (
                    self._current[done],
                    self._cost[done],
                    outcome[done],
                )
                busy -= len(done)
                self._fill(done, deltas)
        return costs, status

    def _fill(self, free: torch.Tensor, deltas: torch.Tensor) -> None:
        """Give the free slots to pairs that wait, in their order."""
        self._pair[free] = -1
        end = min(self._waiting + len(free), len(deltas))
        pairs = torch.arange(self._waiting, end, device=deltas.device)
        self._waiting, slots = end, free[: len(pairs)]
        if not len(pairs):
            return
        self._slots.load(slots, pairs)
        self._pair[slots] = pairs
        self._inverse[slots] = self._all_inverses[self._slots.centroid_of[pairs]]
        self._current[slots] = deltas[pairs]
        # no direction yet: the first trial is where the pair starts
        self._direction[slots] = self._length[slots, None] = 0
        self._used[slots] = self._small_gains[slots] = 0
        self._weights[:, slots] = 0

    def _tick(self) -> torch.Tensor:
        """One evaluation a slot, and what follows from it; the status of slots that are done."""
        trial = self._current + self._length[:, None] * self._direction
        cost, gradient = self._slots.evaluate(trial)
        first = self._used == 0
        self._used += 1
        self._tries += 1
        accepted = first | (cost <= self._cost + SUFFICIENT_GAIN * self._length * self._slope)
        moved = accepted & ~first
        small = self._cost - cost < self._tol * cost
        self._small_gains = torch.where(moved & small, self._small_gains + 1, self._small_gains)
        self._small_gains.masked_fill_(moved & ~small, 0)
        self._remember(moved, trial - self._current, gradient - self._gradient)
        excess = cost - self._cost - self._slope * self._length
        self._current = torch.where(accepted[:, None], trial, self._current)
        self._gradient = torch.where(accepted[:, None], gradient, self._gradient)
        self._cost = torch.where(accepted, cost, self._cost)

        spent = self._used >= self._evaluations
        converged = moved & (self._small_gains >= PATIENCE)
        lost = ~accepted & (self._tries == MAX_BACKTRACKS)
        stalled = lost & (self._weights[0] == 0)
        self._forget(lost)
        turns = accepted | lost
        self._shorten(excess, ~turns)
        flat, stuck = self._turn(turns)

        outcome = torch.full_like(self._used, _GOES_ON, dtype=torch.int8)
        outcome.masked_fill_(turns & stuck | stalled, Status.STALLED)
        outcome.masked_fill_(turns & (flat | (self._cost <= COST_FLOOR)), Status.CONVERGED)
        outcome.masked_fill_(spent, Status.BUDGET)
        return outcome.masked_fill_(converged, Status.CONVERGED)

    def _remember(self, which: torch.Tensor, step: torch.Tensor, change: torch.Tensor) -> None:
        """Store a step in front of the others; without curvature to learn from, forget them all."""
        product = (step * change).sum(1)
        for memory, latest in (
            (self._steps, step),
            (self._changes, change),
            (self._weights, 1 / product),
        ):
            mask = which.reshape(-1, *[1] * (latest.ndim - 1))
            memory.copy_(torch.where(mask, torch.cat([latest[None], memory[:-1]]), memory))
        self._forget(which & ~(product > 0))

    def _forget(self, which: torch.Tensor) -> None:
        self._weights.masked_fill_(which, 0)

    def _shorten(self, excess: torch.Tensor, which: torch.Tensor) -> None:
        """The minimum of the parabola through both costs and the slope, kept in bounds."""
        parabola = -self._slope * self._length.square() / (2 * excess)
        shorter = torch.fmin(torch.fmax(parabola, 0.1 * self._length), 0.5 * self._length)
        self._length = torch.where(which, shorter, self._length)

    def _turn(self, which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """New directions; tells which slots see no slope any more, and which no way down."""
        direction, plain = self._directions()
        slope, plain_slope = (direction * self._gradient).sum(1), (plain * self._gradient).sum(1)
        misled = which & ~(slope < 0)
        self._forget(misled)
        direction = torch.where(misled[:, None], plain, direction)
        slope = torch.where(misled, plain_slope, slope)
        longest = direction.abs().amax(1)
        length = torch.where(longest > MAX_STEP, MAX_STEP / longest, torch.ones_like(longest))
        self._direction = torch.where(which[:, None], direction, self._direction)
        self._slope = torch.where(which, slope, self._slope)
        self._length = torch.where(which, length, self._length)
        self._tries.masked_fill_(which, 0)
        return slope == 0, ~(slope < 0)

    def _directions(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Minus inverse Hessian times gradient: by two-loop recursion, and without memory."""
        q, alphas = self._gradient, []
        past = list(zip(self._steps, self._changes, self._weights[..., None], strict=True))
        for step, change, weight in past:
            alphas.append(weight * (step * q).sum(1, keepdim=True))
            q = q - alphas[-1] * change
        both = torch.bmm(self._inverse, torch.stack([q, self._gradient], dim=2))
        direction, plain = both.unbind(2)
        for (step, change, weight), alpha in zip(reversed(past), reversed(alphas), strict=True):
            beta = alpha - weight * (change * direction).sum(1, keepdim=True)
            direction = direction + step * beta
        return -direction, -plain
