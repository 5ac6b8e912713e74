r"""Background: how far every pixel is from the ground of its picture, in color.

What a picture shows stands on a ground: black, white, colored, or paper under uneven light. The
ground is modelled per channel as a polynomial of low degree in row and column,

.. math:: g(p) = \sum_{i + j \le d} c_{ij}\, p_{row}^i\, p_{col}^j,

fitted robustly, starting from the rim of the picture: pixels further from the fit than a few times
its typical error are not ground, and the fit is repeated without them. The result is

.. math:: \max(|x(p) - g(p)| - f\,\sigma,\; 0)

with the Euclidean norm over the channels and the noise :math:`\sigma` of the ground: one channel,
dark where the ground was. Polarity, color and light no longer count.

A picture has a *plain ground* if the noise of its ground is small beside its contrast. Photographs
have none: whatever surrounds their subject is as varied as the subject.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dikmeans._typing import BoolArray, FloatArray, ImageShape
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import Preprocessor

# Degree of the polynomial: paper that bulges under a lamp has a curved ground.
DEGREE = 2
# The rim that the first fit rests on, as a part of the shorter side.
RIM = 0.08
# A pixel within so many typical errors of the fit is ground.
GROUND_WIDTH = 3.0
# f: distances below so many times the noise are ground.
NOISE_FLOOR = 2.0
# The typical error is never believed to be less than this share of the range of values.
MIN_ERROR = 0.01
MAX_FITS = 8
# Keeps the fit defined where the ground is a few pixels in a row.
RIDGE = 1e-9
# Median over pictures of noise / contrast below which they have a plain ground.
PLAIN = 0.15
# Median over pictures of level / contrast below which their ground is black already.
BLACK = 0.02
CONTRAST_QUANTILE = 0.99


class Ground(NamedTuple):
    """The ground of pictures.

    Attributes
    ----------
    distance : array of shape (n, rows, columns)
        Of every pixel from the ground, over all channels.
    noise : array of shape (n,)
        Root mean square distance of the ground's own pixels.
    level : array of shape (n,)
        Mean absolute value of the ground.
    """

    distance: FloatArray
    noise: FloatArray
    level: FloatArray

    @property
    def contrast(self) -> FloatArray:
        """How far the brightest parts of each picture are from its ground."""
        flat = self.distance.reshape(len(self.distance), -1)
        contrast = np.quantile(flat, CONTRAST_QUANTILE, axis=1)
        return np.where(contrast > 0, contrast, 1.0)

    @property
    def is_plain(self) -> bool:
        """Whether most pictures have a plain ground: little noise beside their contrast."""
        return bool(np.median(self.noise / self.contrast) < PLAIN)

    @property
    def is_black(self) -> bool:
        """Whether most pictures have a black ground already."""
        return bool(np.median(self.level / self.contrast) < BLACK)


def find_ground(pictures: FloatArray) -> Ground:
    """The ground of pictures (n, C, rows, columns), of each on its own."""
    rows, columns = pictures.shape[2:]
    powers, rim = _powers(rows, columns), _rim(rows, columns)
    results = [_ground_of(picture, powers, rim) for picture in pictures.astype(np.float64)]
    distances, noises, levels = zip(*results, strict=True)
    return Ground(
        np.stack(distances).reshape(len(pictures), rows, columns),
        np.array(noises),
        np.array(levels),
    )


def _ground_of(
    picture: FloatArray, powers: FloatArray, rim: BoolArray
) -> tuple[FloatArray, float, float]:
    """Distance of every pixel of one picture (C, rows, columns), noise and level of its ground."""
    values = picture.reshape(len(picture), -1).T
    least = max(MIN_ERROR * float(np.ptp(values, axis=0).max()), np.finfo(float).tiny)
    is_ground = rim
    fit = np.broadcast_to(np.median(values[rim], axis=0), values.shape)
    for number in range(MAX_FITS):
        distance = np.linalg.norm(values - fit, axis=1)
        error = max(1.4826 * float(np.median(distance[is_ground])), least)
        # the rim alone at first; then whatever continues it
        candidates = rim if number < 2 else np.ones_like(rim)
        chosen = candidates & (distance <= GROUND_WIDTH * error)
        if chosen.sum() < 3 * powers.shape[1] or (number > 3 and (chosen == is_ground).all()):
            break
        is_ground = chosen
        basis = powers[:, :3] if number < 3 else powers  # a plane before a curved surface
        chosen_basis = basis[is_ground]
        gram = chosen_basis.T @ chosen_basis
        gram[np.diag_indices_from(gram)] += RIDGE * len(chosen_basis)
        fit = basis @ np.linalg.solve(gram, chosen_basis.T @ values[is_ground])
    distance = np.linalg.norm(values - fit, axis=1)
    noise = float(np.sqrt((distance[is_ground] ** 2).mean()))
    return distance, noise, float(np.linalg.norm(fit, axis=1).mean())


def _powers(rows: int, columns: int) -> FloatArray:
    """Powers of row and column at every pixel: constant, linear, then higher ones."""
    row, column = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
    exponents = [(i, d - i) for d in range(DEGREE + 1) for i in range(d + 1)]
    return np.stack([(row**i * column**j).ravel() for i, j in exponents], axis=1)


def _rim(rows: int, columns: int) -> BoolArray:
    width = max(1, round(RIM * min(rows, columns)))
    rim = np.ones((rows, columns), bool)
    rim[width:-width, width:-width] = False
    return rim.ravel()


class Background(Preprocessor):
    """Distance of every pixel from the ground of its picture: one channel, at unit norm."""

    name = "background"
    batch_pixels = 100_000

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Distances have one channel."""
        return shape[:2]

    def _apply(self, pictures: FloatArray) -> FloatArray:
        ground = find_ground(pictures)
        floor = NOISE_FLOOR * ground.noise[:, None, None]
        distance = np.maximum(ground.distance - floor, 0)[:, None]
        return scale_to_unit_norm(distance.astype(pictures.dtype, copy=False))

    def __str__(self) -> str:
        return "Every pixel is replaced by its distance from the ground of its picture."
