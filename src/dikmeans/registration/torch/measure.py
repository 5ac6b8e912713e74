"""`WarpedMeasure` with the work on pixels done by PyTorch; stages, pruning and all the rest are its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dikmeans.registration.warped_measure import WarpedMeasure
from dikmeans.registration.torch.adam import AdamDescent
from dikmeans.registration.torch.adjoint import back_project
from dikmeans.registration.torch.quasi_newton import QuasiNewtonDescent
from dikmeans.registration.torch.sampling import NUMBERS_AT_ONCE, DeviceSampler, render_pairs, upload
from dikmeans.registration.torch.slots import Slots, evaluate_pairs
from dikmeans.registration.objective import Pairs, Problem
from dikmeans.registration.solvers import Adam, QuasiNewton, Solver
from dikmeans.registration.warps import Warp
from dikmeans.registration.sampling import pad

# Solvers that have been written for devices.
DESCENTS: dict[type[Solver], Any] = {QuasiNewton: QuasiNewtonDescent, Adam: AdamDescent}


class TorchMeasure(WarpedMeasure):
    """The measure with its solver on a device of PyTorch's.

    Pictures and parameters live in the computer's memory and travel to the device and back for every stage
    of a chunk, which takes little time beside the descent itself.

    Parameters
    ----------
    warp : Warp
    device : torch.device
    solver : Solver
        One of `DESCENTS`.
    **measure
        As for `WarpedMeasure`.
    """

    def __init__(self, warp: Warp, *, device: torch.device, solver: Solver, **measure: Any):
        if type(solver) not in DESCENTS:
            names = ", ".join(kind.__name__ for kind in DESCENTS)
            raise ValueError(
                f"solver={solver!r} does not run on device={str(device)!r}; those that do: {names}. "
                "Choose another solver, or do without a device."
            )
        super().__init__(warp, solver=solver, **measure)
        self.device = device
        # a device is parallel in itself: it gets much at a time, enough to fill its slots K times over
        self.chunk_pixels = NUMBERS_AT_ONCE[device.type]

    def _evaluate(self, problem: Problem, pairs: Pairs, deltas: np.ndarray) -> np.ndarray:
        slots = Slots(problem, pairs, self.device)
        return evaluate_pairs(slots, self._flat(deltas)).cpu().numpy()

    def _minimise(
        self, problem: Problem, pairs: Pairs, curvature: np.ndarray, evaluations: int, deltas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        slots = Slots(problem, pairs, self.device)
        descent = DESCENTS[type(self.solver)](self.solver, slots, upload(curvature, self.device), evaluations)
        found = self._flat(deltas)
        costs, status = descent.minimise(found)
        return found.cpu().numpy().reshape(deltas.shape), costs.cpu().numpy(), status.cpu().numpy()

    def _flat(self, deltas: np.ndarray) -> torch.Tensor:
        return upload(deltas, self.device).flatten(1)

    def render(self, pictures: np.ndarray, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """Warp ``pictures[which[i]]`` (C, rows, columns) by ``deltas[i]`` (2, n_basis) for each i."""
        sampler, templates = DeviceSampler(self.sampler, self.device), pad(pictures, self.border)
        rendered = render_pairs(sampler, templates, np.asarray(which), deltas.astype(np.float32, copy=False))
        return rendered.reshape(len(which), *pictures.shape[1:])

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
        """See `WarpedMeasure.back_project`; a device needs no threads."""
        sampler = DeviceSampler(self.sampler, self.device)
        back_project(sampler, templates, targets, labels, weights, deltas, push, mass)
