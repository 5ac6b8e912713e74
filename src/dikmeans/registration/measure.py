"""The measure as a user names it: checked parameters in, an measure out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dikmeans.registration.warped_measure import DIRECTIONS, WarpedMeasure
from dikmeans.registration.euclidean_measure import EuclideanMeasure
from dikmeans.registration.solvers import Solver, make_solver
from dikmeans.registration.warps import make_warp
from dikmeans.registration.sampling import PAD_MODES

# Good on handwriting, sounds and hands alike; docs/results has the figures.
DEFAULT_SMOOTHNESS = 0.3
DEFAULT_DIRECTION = "centroid-to-image"


def make_measure(
    shape: tuple[int, ...],
    *,
    warp: str = "tps",
    landmarks: Any = "auto",
    smoothness: float = DEFAULT_SMOOTHNESS,
    direction: str = DEFAULT_DIRECTION,
    border: str = "zero",
    solver: str | Solver = "quasi-newton",
    stiffness: np.ndarray | None = None,
    device: str | None = None,
) -> WarpedMeasure | EuclideanMeasure:
    """The measure for pictures of `shape` (rows, columns[, channels]).

    Parameters
    ----------
    shape : tuple of int
    warp : {"none", "affine", "tps"}
        The family of warps: none at all (the Euclidean distance), affine maps, or thin-plate splines.
    landmarks : "auto", int or (int, int)
        The landmark grid of the spline: its side, or its rows and columns, from 2 to 12. "auto" is 4.
    smoothness : float
        Weight of the bending energy, in units of the image's energy; 0 leaves the warp free.
    direction : {"centroid-to-image", "image-to-centroid"}
        Which of the two is warped. "image-to-centroid" is the paper's.
    border : {"zero", "edge"}
        What lies outside a picture: zeros, or its edge pixels continued.
    solver : {"quasi-newton", "adam"} or Solver
    stiffness : array of shape (K, 2 n_basis, 2 n_basis), optional
        A penalty of its own for each centroid; see `WarpedMeasure`.
    device : str, optional
        Where the work is done: by the compiled loops on the processor if None, otherwise by PyTorch (the
        extra ``[deep]``) on that device: "cuda", "cuda:1", or "cpu". Without a warp there is too little of
        it to be worth the way, and it is done on the processor in any case.
    """
    if not (isinstance(smoothness, (int, float, np.integer, np.floating)) and 0 <= smoothness < np.inf):
        raise ValueError(f"smoothness={smoothness!r}: expected a number that is 0 or positive.")
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: expected one of {', '.join(DIRECTIONS)}.")
    if border not in tuple(PAD_MODES):
        raise ValueError(f"border={border!r}: expected one of {', '.join(PAD_MODES)}.")
    family = make_warp(warp, (shape[0], shape[1]), landmarks)
    method = make_solver(solver)
    make = WarpedMeasure if device is None else _on(device)
    if family.name == "none":
        return EuclideanMeasure(family, direction=direction)
    return make(
        family,
        smoothness=float(smoothness),
        direction=direction,
        border=border,
        solver=method,
        stiffness=stiffness,
    )


def _on(device: str) -> Callable[..., WarpedMeasure]:
    """What makes measures for a device of PyTorch's; checks that it can be used, and imports PyTorch."""
    from dikmeans.registration.torch.device import torch_device

    found = torch_device(device)
    from dikmeans.registration.torch.measure import TorchMeasure

    return partial(TorchMeasure, device=found)
