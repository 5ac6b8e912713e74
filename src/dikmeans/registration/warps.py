r"""Warps: maps :math:`F` of the frame that are linear in their parameters :math:`\nu`.

Every family here has the form :math:`F(p) = \Phi(p)\,\nu` with a row of basis functions
:math:`\Phi(p)` that depends on nothing but the picture's shape and the landmark grid. K-means, its
affine-invariant and its deformation-invariant version differ only in :math:`\Phi`:

=========  =========================================  ==================================
warp       parameters :math:`\nu`                     :math:`\Phi(p)`
=========  =========================================  ==================================
none       none                                       (the identity)
affine     3 x 2 coefficients                         :math:`(1, p_{row}, p_{column})`
tps        where each of the landmarks goes, l x 2    thin-plate spline, see `ThinPlate`
=========  =========================================  ==================================

See `dikmeans.registration.grid` for the frame and for who is warped onto whom.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg

from dikmeans._typing import FloatArray
from dikmeans.parameters import InvalidParameterError
from dikmeans.registration.grid import Grid

Border = Literal["zero", "edge", "rim"]
"""What lies outside a picture: zeros, or its edge pixels continued."""

MIN_LANDMARKS, MAX_LANDMARKS, AUTO_LANDMARKS = 2, 12, 4


class Expansion(NamedTuple):
    r"""Warps as functions of the point: :math:`F(p) = \sum_j U(|p - s_j|)\,w_j + (1, p)\,a`.

    Attributes
    ----------
    centers : array of shape (l, 2)
        The points :math:`s_j`; none for affine maps.
    radial : array of shape (..., l, 2)
        The weights :math:`w`.
    affine : array of shape (..., 3, 2)
        The coefficients :math:`a`. Along a flat axis the map is the identity.
    """

    centers: FloatArray
    radial: FloatArray
    affine: FloatArray


class Warp(ABC):
    """A family of warps on pictures of one shape.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the pictures.
    """

    name: str

    def __init__(self, shape: tuple[int, int]):
        self.grid = Grid.of(shape)

    @abstractmethod
    def basis(self, points: FloatArray) -> FloatArray:
        """Basis functions at frame points (m, 2): the matrix Phi, shape (m, n_basis), float64."""

    @property
    @abstractmethod
    def identity(self) -> FloatArray:
        """Parameters of the warp that moves nothing, shape (n_basis, 2)."""

    @abstractmethod
    def embed_affine(self, coefficients: FloatArray) -> FloatArray:
        """Parameters of this family for the affine map `coefficients` (see `Affine`)."""

    def expansion(self, parameters: FloatArray) -> Expansion:
        """The warps of `parameters` (..., n_basis, 2), written out for use at any point."""
        weights = np.asarray(parameters, dtype=float)
        return self._expand(np.zeros((0, 2)), np.zeros((*weights.shape[:-2], 0, 2)), weights)

    def _expand(self, centers: FloatArray, radial: FloatArray, live: FloatArray) -> Expansion:
        """An expansion from the coefficients of a constant and the live coordinates."""
        axes = list(self.grid.live_axes)
        affine = np.zeros((*live.shape[:-2], 3, 2))
        affine[..., [0, *(1 + axis for axis in axes)], :] = live
        for axis in {0, 1}.difference(axes):
            radial[..., axis] = affine[..., axis] = 0
            affine[..., 1 + axis, axis] = 1
        return Expansion(centers, radial, affine)

    @property
    def n_basis(self) -> int:
        """Number of basis functions; there are twice as many parameters."""
        return len(self.identity)

    @cached_property
    def bending(self) -> FloatArray:
        r"""Bending energy as a matrix: :math:`\mathrm{bending}(\nu) = \mathrm{tr}(\nu^T B \nu)`."""
        return np.zeros((self.n_basis, self.n_basis))

    @cached_property
    def displacement(self) -> FloatArray:
        """Mean squared displacement of the pixels: the matrix of a form in nu - identity."""
        phi = self.basis(self.grid.points())
        return phi.T @ phi / len(phi)

    def coordinates(self, parameters: FloatArray, grid: Grid | None = None) -> FloatArray:
        """Where each pixel takes its value from: frame points (..., rows, columns, 2).

        Parameters
        ----------
        parameters : array of shape (..., n_basis, 2)
        grid : Grid, optional
            The pixels; by default those of the picture.
        """
        grid = grid or self.grid
        points = grid.points()
        moved = self.basis(points) @ (np.asarray(parameters, dtype=float) - self.identity)
        return (points + moved).reshape(*moved.shape[:-2], *grid.shape, 2)

    def jacobian_determinant(self, parameters: FloatArray) -> FloatArray:
        """Determinant of the warp's derivative at each pixel; <= 0 where the picture folds.

        Differences between neighboring pixels; along a flat axis the derivative is 1.
        """
        coordinates = self.coordinates(parameters)
        derivative = np.zeros((*coordinates.shape, 2))
        for axis in (0, 1):
            if axis in self.grid.live_axes:
                step = 1 / self.grid.scale[axis]
                derivative[..., axis] = np.gradient(coordinates, step, axis=axis - 3)
            else:
                derivative[..., axis, axis] = 1.0
        return np.linalg.det(derivative)

    def bending_energy(self, parameters: FloatArray) -> FloatArray:
        """Bending energy of each set of parameters (..., n_basis, 2)."""
        nu = np.asarray(parameters, dtype=float)
        return np.einsum("...ia,ij,...ja->...", nu, self.bending, nu)


class NoWarp(Warp):
    """The identity alone: with it the measure is the squared Euclidean distance."""

    name = "none"

    def basis(self, points: FloatArray) -> FloatArray:
        """No basis function at all."""
        return np.zeros((len(points), 0))

    @property
    def identity(self) -> FloatArray:
        """The empty set of parameters."""
        return np.zeros((0, 2))

    def embed_affine(self, coefficients: FloatArray) -> FloatArray:
        """Nothing to embed."""
        return np.zeros((*np.shape(coefficients)[:-2], 0, 2))

    def expansion(self, parameters: FloatArray) -> Expansion:
        """The identity, as an affine map."""
        affine = Affine(self.grid.shape)
        return affine.expansion(
            np.broadcast_to(affine.identity, (*np.shape(parameters)[:-2], affine.n_basis, 2))
        )


class Affine(Warp):
    r"""Affine maps: :math:`F(p) = (1, p_{row}, p_{column})\,\nu`.

    On a picture with a flat axis the column of :math:`\Phi` for that axis is left out.
    """

    name = "affine"

    def basis(self, points: FloatArray) -> FloatArray:
        """A constant and the live coordinates."""
        return np.column_stack([np.ones(len(points)), points[:, list(self.grid.live_axes)]])

    @property
    def identity(self) -> FloatArray:
        """Zero shift, unit matrix."""
        axes = list(self.grid.live_axes)
        return np.vstack([np.zeros((1, 2)), np.eye(2)[axes]])

    def embed_affine(self, coefficients: FloatArray) -> FloatArray:
        """An affine map is its own embedding."""
        return np.asarray(coefficients)


class ThinPlate(Warp):
    r"""Thin-plate splines on a rectangular grid of landmarks.

    The landmarks :math:`s_1 \dots s_l` lie at equal distances from edge to edge of the frame and go
    to :math:`\nu_1 \dots \nu_l`. Of all maps with :math:`F(s_j) = \nu_j` the spline is the one with
    the least bending energy; it is

    .. math::
        F(p) = \sum_j U(|p - s_j|)\, w_j + (1, p)\, a, \qquad U(r) = r^2 \log r^2,

    where :math:`(w, a)` solves the linear system with matrix
    :math:`\begin{pmatrix} K & P \\ P^T & 0 \end{pmatrix}`, :math:`K_{ij} = U(|s_i - s_j|)`,
    :math:`P_i = (1, s_i)`. As the :math:`s_j` never move, the inverse is computed once, in double
    precision, and :math:`\Phi(p) = (U(|p - s_1|), \dots, U(|p - s_l|), 1, p)` times its first
    :math:`l` columns. The upper left block of the inverse is the bending matrix :math:`B`: the
    integral of the squared second derivatives is :math:`16\pi\,\mathrm{tr}(\nu^T B \nu)`. In this
    unit, free of the grid's size, the bending energy is used throughout. :math:`|\cdot|` is the
    Euclidean norm (Bookstein 1989).

    Parameters
    ----------
    shape : tuple of int
    landmarks : tuple of int
        Rows and columns of the landmark grid.
    """

    name = "tps"

    def __init__(self, shape: tuple[int, int], landmarks: tuple[int, int]):
        super().__init__(shape)
        self.landmarks = landmarks
        half = [n / max(shape) for n in shape]
        sides = [
            np.linspace(-h, h, g) if g > 1 else np.zeros(1)
            for h, g in zip(half, landmarks, strict=True)
        ]
        self._positions = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        self._affine = Affine(shape)
        polynomial = self._affine.basis(self._positions)
        degree = polynomial.shape[1]
        system = np.block(
            [
                [_radial(self._positions, self._positions), polynomial],
                [polynomial.T, np.zeros((degree, degree))],
            ]
        )
        self._weights = linalg.inv(system)[:, : len(self._positions)]

    def basis(self, points: FloatArray) -> FloatArray:
        """The cardinal functions of the spline: function j is 1 at landmark j, 0 at the others."""
        functions = [_radial(points, self._positions), self._affine.basis(points)]
        return np.concatenate(functions, axis=1) @ self._weights

    @property
    def identity(self) -> FloatArray:
        """Every landmark where it is."""
        return self._positions

    @cached_property
    def bending(self) -> FloatArray:
        """The bending matrix; affine maps are its null space."""
        n = len(self._positions)
        block = self._weights[:n]
        # K is conditionally positive definite of order two: the block is positive semi-definite
        # up to rounding, which is cleaned off so that no warp can win energy by bending.
        values, vectors = linalg.eigh((block + block.T) / 2)
        return (vectors * np.maximum(values, 0)) @ vectors.T

    def embed_affine(self, coefficients: FloatArray) -> FloatArray:
        """The images of the landmarks under the affine map: the spline then is that map."""
        return self._affine.basis(self._positions) @ np.asarray(coefficients)

    def expansion(self, parameters: FloatArray) -> Expansion:
        """The spline's weights and its affine part."""
        weights = self._weights @ np.asarray(parameters, dtype=float)
        n = len(self._positions)
        return self._expand(self._positions, weights[..., :n, :], weights[..., n:, :])


def _radial(points: FloatArray, centers: FloatArray) -> FloatArray:
    """U(r) = r^2 log r^2 between all points and centers."""
    squared = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=-1)
    return squared * np.log(np.where(squared > 0, squared, 1.0))


def resolve_landmarks(landmarks: object, shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the landmark grid on pictures of `shape`.

    Parameters
    ----------
    landmarks : "auto", int or (int, int)
        The side of a square grid, or its rows and columns, from 2 to 12 and no more than there
        are pixels along that axis. ``"auto"`` is 4 along each axis, fewer on tiny pictures. A flat
        axis always has one landmark.

    Examples
    --------
    >>> resolve_landmarks("auto", (28, 28)), resolve_landmarks((3, 6), (24, 64))
    ((4, 4), (3, 6))
    """
    flat = [axis not in Grid.of(shape).live_axes for axis in (0, 1)]
    if isinstance(landmarks, str) and landmarks == "auto":
        sides = [min(AUTO_LANDMARKS, n) for n in shape]
    else:
        sides = _whole_numbers(landmarks)
        for axis, side in enumerate(sides):
            most = min(MAX_LANDMARKS, shape[axis])
            if not flat[axis] and not MIN_LANDMARKS <= side <= most:
                raise InvalidParameterError(
                    "landmarks",
                    landmarks,
                    f"{('rows', 'columns')[axis]} from {MIN_LANDMARKS} to {most} on pictures of "
                    f"{shape[0]} x {shape[1]} pixels",
                )
    rows, columns = (1 if f else side for f, side in zip(flat, sides, strict=True))
    return rows, columns


def _whole_numbers(landmarks: object) -> list[int]:
    pair = np.asarray(landmarks)
    if pair.shape in ((), (2,)) and np.issubdtype(pair.dtype, np.integer):
        return [int(side) for side in np.broadcast_to(pair, (2,))]
    raise InvalidParameterError(
        "landmarks",
        landmarks,
        f"'auto', a whole number, or a pair (rows, columns) of whole numbers from {MIN_LANDMARKS} "
        f"to {MAX_LANDMARKS}",
    )


WarpName = Literal["none", "affine", "tps"]
WARPS: tuple[WarpName, ...] = ("none", "affine", "tps")


def make_warp(name: WarpName, shape: tuple[int, int], landmarks: object = "auto") -> Warp:
    """The warp family `name` on pictures of `shape`; built once per shape and grid.

    Examples
    --------
    >>> make_warp("tps", (28, 28), 6).n_basis
    36
    """
    if name not in WARPS:
        raise InvalidParameterError("warp", name, ", ".join(map(repr, WARPS)))
    return _build(name, shape, resolve_landmarks(landmarks, shape) if name == "tps" else None)


# The landmarks are resolved before they become a key: 4.0 and True equal whole numbers but are
# none.
@lru_cache(maxsize=32)
def _build(name: str, shape: tuple[int, int], landmarks: tuple[int, int] | None) -> Warp:
    if landmarks is not None:
        return ThinPlate(shape, landmarks)
    return NoWarp(shape) if name == "none" else Affine(shape)
