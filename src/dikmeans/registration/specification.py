"""From parameters to a measure: the one way, for the estimator and for single pairs alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypedDict

import numpy as np

from dikmeans._typing import FloatArray, ImageShape
from dikmeans.parameters import InvalidParameterError, Number
from dikmeans.registration.euclidean_measure import EuclideanMeasure
from dikmeans.registration.intensity import INTENSITIES, IntensityName
from dikmeans.registration.measure import DIRECTIONS, Direction, Measure
from dikmeans.registration.orientation import ORIENTATIONS, Orientation
from dikmeans.registration.sampling import PAD_MODES
from dikmeans.registration.solvers import Solver, resolve_solver
from dikmeans.registration.warped_measure import WarpedMeasure
from dikmeans.registration.warps import Border, WarpName, make_warp

# Good on handwriting, sounds and hands alike; docs/results has the figures.
DEFAULT_SMOOTHNESS = 0.3
DEFAULT_DIRECTION: Direction = "centroid-to-image"
SMOOTHNESS = Number(0)

Landmarks = Literal["auto"] | int | tuple[int, int]


class MeasureOptions(TypedDict, total=False):
    """Keyword arguments that name a measure; see `MeasureSpec`."""

    warp: WarpName
    landmarks: Landmarks
    smoothness: float
    direction: Direction
    border: Border
    intensity: IntensityName
    orientation: Orientation
    solver: str | Solver


@dataclass(frozen=True)
class MeasureSpec:
    """The parameters of a measure, for pictures of any shape.

    Attributes
    ----------
    warp : {"tps", "affine", "none"}
        The family of warps: thin-plate splines, affine maps, or none (the Euclidean distance).
    landmarks : "auto", int or (int, int)
        The landmark grid of the spline: its side, or its rows and columns, from 2 to 12. "auto" is
        4, fewer on tiny pictures.
    smoothness : float
        Weight of the bending energy, in units of the image's energy; 0 leaves the warp free.
    direction : {"centroid-to-image", "image-to-centroid"}
        Which of the two is warped. The paper warps the image.
    border : {"zero", "edge", "rim"}
        What lies outside a picture: zeros, its edge pixels continued, or their mean. With
        ``intensity="affine"`` zeros have no meaning, and "zero" is "rim".
    intensity : {"fixed", "affine"}
        Whether the values of pictures count as they are, or every channel of the warped picture
        gets the gain and the offset that fit best. The cost then does not depend on light and
        contrast of either picture, and has no unit: from 0 to about 1. See
        `dikmeans.registration.intensity`.
    orientation : {"upright", "any", "any-mirrored"}
        Whether an image is compared as it is, turned by any angle, or turned and mirrored, whatever
        fits best. See `dikmeans.registration.orientation`.
    solver : {"quasi-newton", "adam"} or Solver
        How, and on which device, the best warp is found.
    unit_norm : bool
        Whether centroids are constrained to unit norm; without effect with ``intensity="affine"``,
        which does not see their norm.
    """

    warp: WarpName = "tps"
    landmarks: Landmarks = "auto"
    smoothness: float = DEFAULT_SMOOTHNESS
    direction: Direction = DEFAULT_DIRECTION
    border: Border = "zero"
    intensity: IntensityName = "fixed"
    orientation: Orientation = "upright"
    solver: str | Solver = "quasi-newton"
    unit_norm: bool = False

    def varied(
        self, *, warp: WarpName | None = None, smoothness_factor: float = 1.0
    ) -> MeasureSpec:
        """The same measure with another warp family, or with its smoothness multiplied."""
        smoothness = self.smoothness * smoothness_factor
        return replace(self, warp=warp or self.warp, smoothness=smoothness)

    def build(self, shape: ImageShape, precision: FloatArray | None = None) -> Measure:
        """The measure on pictures of `shape` (rows, columns[, channels]).

        Parameters
        ----------
        shape : tuple of int
        precision : array of shape (K, 2 n_basis, 2 n_basis), optional
            A learned deformation prior for each centroid; see `WarpedMeasure`.

        Raises
        ------
        InvalidParameterError
            A parameter has a value that it cannot have.
        MissingExtraError
            The solver's device needs PyTorch, which is not installed.

        Examples
        --------
        >>> MeasureSpec(warp="affine").build((28, 28)).n_basis
        3
        """
        if not SMOOTHNESS.accepts(self.smoothness):
            raise InvalidParameterError("smoothness", self.smoothness, str(SMOOTHNESS))
        if self.direction not in DIRECTIONS:
            raise InvalidParameterError("direction", self.direction, ", ".join(DIRECTIONS))
        if self.border not in tuple(PAD_MODES):  # a list cannot be looked up in a dict
            raise InvalidParameterError("border", self.border, ", ".join(PAD_MODES))
        if self.intensity not in tuple(INTENSITIES):
            raise InvalidParameterError("intensity", self.intensity, ", ".join(INTENSITIES))
        if self.orientation not in ORIENTATIONS:
            raise InvalidParameterError("orientation", self.orientation, ", ".join(ORIENTATIONS))
        intensity = INTENSITIES[self.intensity]
        border = intensity.border(self.border)
        unit_norm = self.unit_norm and intensity.name == "fixed"
        family = make_warp(self.warp, (shape[0], shape[1]), self.landmarks)
        if self.orientation != "upright" and len(family.grid.live_axes) < 2:
            raise InvalidParameterError(
                "orientation", self.orientation, "'upright' for signals, which cannot be turned"
            )
        solver = resolve_solver(self.solver)
        make: Callable[..., WarpedMeasure] = WarpedMeasure
        if solver.device is not None:
            from dikmeans.registration.torch.device import torch_device

            device = torch_device(solver.device)  # refuses a device that cannot be used
            from dikmeans.registration.torch.measure import TorchMeasure

            make = partial(TorchMeasure, device=device)
        if family.name == "none":  # too little work to be worth the way to a device
            return EuclideanMeasure(
                family,
                direction=self.direction,
                border=border,
                unit_norm=unit_norm,
                intensity=intensity,
            )
        return make(
            family,
            smoothness=float(self.smoothness),
            direction=self.direction,
            border=border,
            solver=solver,
            unit_norm=unit_norm,
            intensity=intensity,
            orientation=self.orientation,
            precision=precision,
        )


def is_precision(array: FloatArray, shape: tuple[int, ...]) -> bool:
    """Whether an array holds penalties: symmetric positive definite, also in single precision.

    A warp must not gain anything by bending, whatever file the array came from.
    """
    largest_usable = 1e30
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        return False
    largest = np.abs(array).max()
    transposed = np.swapaxes(array, 1, 2)
    if largest > largest_usable or not np.allclose(array, transposed, atol=1e-6 * largest):
        return False
    smallest = np.linalg.eigvalsh((array + transposed) / 2).min()
    return bool(smallest > 1 / largest_usable)
