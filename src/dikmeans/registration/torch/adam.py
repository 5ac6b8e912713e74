"""The descent of `dikmeans.registration.solvers.adam`, in all slots at once."""

from __future__ import annotations

import torch

from dikmeans.registration.solvers import Adam, Stage, Status
from dikmeans.registration.torch.slots import Slots

_KEEP_MEAN, _KEEP_SQUARE, _TINY = 0.9, 0.999, 1e-8


class AdamDescent:
    """Adam from given parameters, for all pairs of `slots`.

    Parameters
    ----------
    solver : Adam
    slots : Slots
    curvature : tensor
        Not used.
    stage : Stage
        Says how many steps a pair takes, and at which rate.
    """

    def __init__(self, solver: Adam, slots: Slots, curvature: torch.Tensor, stage: Stage):
        self._slots, self._rate, self._steps = slots, solver.rate(stage), stage.evaluations

    @torch.inference_mode()
    def minimize(self, deltas: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Improve `deltas` (n_pairs, n_parameters) in place; returns costs and status."""
        costs = torch.empty(len(deltas), device=deltas.device)
        status = torch.full(
            (len(deltas),), int(Status.BUDGET), dtype=torch.int8, device=deltas.device
        )
        start = torch.zeros((self._slots.n_slots, self._slots.n_parameters), device=deltas.device)
        for pairs, slots in self._slots.blocks():
            start[slots] = deltas[pairs]
            best_deltas, best, settled = self._descend(start)
            deltas[pairs], costs[pairs] = best_deltas[slots], best[slots]
            status[pairs[settled[slots]]] = int(Status.CONVERGED)
        return costs, status

    def _descend(self, start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The best parameters and costs visited, and which pairs start on an exact minimum."""
        current = best_deltas = start.clone()
        best, gradient = self._slots.evaluate(current)
        settled = (gradient == 0).all(1) & (self._steps > 0)
        mean, square = torch.zeros_like(current), torch.zeros_like(current)
        for step in range(1, self._steps + 1):
            mean = torch.lerp(gradient, mean, _KEEP_MEAN)
            square = torch.lerp(gradient.square(), square, _KEEP_SQUARE)
            scale = (square / (1 - _KEEP_SQUARE**step)).sqrt() + _TINY
            current = current - self._rate / (1 - _KEEP_MEAN**step) * mean / scale
            cost, gradient = self._slots.evaluate(current)
            better = cost < best
            best = torch.where(better, cost, best)
            best_deltas = torch.where(better[:, None], current, best_deltas)
        return best_deltas, best, settled
