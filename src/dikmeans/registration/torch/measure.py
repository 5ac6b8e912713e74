"""`WarpedMeasure` with the work on pixels done by PyTorch; all else is inherited."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.intensity import Intensity
from dikmeans.registration.measure import Direction
from dikmeans.registration.objective import Pairs, Problem
from dikmeans.registration.orientation import Orientation
from dikmeans.registration.sampling import pad
from dikmeans.registration.solvers import Adam, QuasiNewton, Solver, Stage
from dikmeans.registration.torch.adam import AdamDescent
from dikmeans.registration.torch.adjoint import back_project
from dikmeans.registration.torch.quasi_newton import QuasiNewtonDescent
from dikmeans.registration.torch.sampling import (
    NUMBERS_AT_ONCE,
    DeviceSampler,
    render_pairs,
    upload,
)
from dikmeans.registration.torch.slots import Slots, evaluate_pairs
from dikmeans.registration.warped_measure import WarpedMeasure
from dikmeans.registration.warps import Border, Warp


class Descent(Protocol):
    """A solver written for devices: all pairs of `Slots` at once."""

    def minimize(self, deltas: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Improve `deltas` (n_pairs, n_parameters) in place; returns costs and status."""


def _descent(solver: Solver, slots: Slots, curvature: torch.Tensor, stage: Stage) -> Descent:
    if isinstance(solver, QuasiNewton):
        return QuasiNewtonDescent(solver, slots, curvature, stage.evaluations)
    assert isinstance(solver, Adam)  # there are no others
    return AdamDescent(solver, slots, curvature, stage)


class TorchMeasure(WarpedMeasure):
    """The measure with its solver on a device of PyTorch's.

    Pictures and parameters stay in the computer's memory and travel to the device and back for
    every stage of a batch, which takes little time beside the descent itself.

    Parameters
    ----------
    warp : Warp
    device : torch.device
    smoothness, direction, border, solver, unit_norm, intensity, orientation, precision
        As for `WarpedMeasure`.
    """

    max_threads = 1  # a device is parallel in itself

    def __init__(
        self,
        warp: Warp,
        *,
        device: torch.device,
        smoothness: float,
        direction: Direction,
        border: Border,
        solver: Solver,
        unit_norm: bool = False,
        intensity: Intensity | None = None,
        orientation: Orientation = "upright",
        precision: FloatArray | None = None,
    ):
        super().__init__(
            warp,
            smoothness=smoothness,
            direction=direction,
            border=border,
            solver=solver,
            unit_norm=unit_norm,
            intensity=intensity,
            orientation=orientation,
            precision=precision,
        )
        self.device = device
        # it gets many images at a time, enough to fill its slots K times over
        self.batch_pixels = NUMBERS_AT_ONCE[device.type]

    def evaluate(self, problem: Problem, pairs: Pairs, deltas: FloatArray) -> FloatArray:
        """Cost of every pair at its `deltas`."""
        slots = Slots(problem, pairs, self.device)
        return evaluate_pairs(slots, self._flat(deltas)).cpu().numpy()

    def minimize(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: FloatArray,
        stage: Stage,
        deltas: FloatArray,
        race: float = np.inf,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Parameters, costs and status of every pair after a descent from its `deltas`.

        All pairs are refined side by side: there is no race in which one could be given up.
        """
        slots = Slots(problem, pairs, self.device)
        descent = _descent(self.solver, slots, upload(curvature, self.device), stage)
        reached = self._flat(deltas)
        costs, status = descent.minimize(reached)
        return (
            reached.cpu().numpy().reshape(deltas.shape),
            costs.cpu().numpy(),
            status.cpu().numpy(),
        )

    def _flat(self, deltas: FloatArray) -> torch.Tensor:
        return upload(deltas, self.device).flatten(1)

    def render(self, pictures: FloatArray, which: IntArray, deltas: FloatArray) -> FloatArray:
        """Warp ``pictures[which[i]]`` (C, rows, columns) by ``deltas[i]`` (2, n_basis)."""
        sampler = DeviceSampler(self.sampler, self.device)
        templates, deltas = pad(pictures, self.border), deltas.astype(np.float32, copy=False)
        rendered = render_pairs(sampler, templates, np.asarray(which), deltas)
        return rendered.reshape(len(which), *pictures.shape[1:])

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
        sampler = DeviceSampler(self.sampler, self.device)
        back_project(sampler, templates, targets, labels, weights, deltas, push, mass)
