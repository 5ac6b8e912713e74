r"""Background: how far every pixel is from the ground of its picture, in color.

What a picture shows stands on a ground: black, white, colored, or paper under uneven light. The
ground is modelled per channel as a polynomial of low degree in row and column,

.. math:: g(p) = \sum_{i + j \le d} c_{ij}\, p_{row}^i\, p_{col}^j,

fitted robustly, starting from the rim of the picture: pixels further from the fit than a few times
its typical error are not ground, and the fit is repeated without them. The result is

.. math:: \max(|x(p) - g(p)| - f\,\sigma,\; 0)

with the Euclidean norm over the channels and the noise :math:`\sigma` of the ground: one channel,
dark where the ground was. Polarity, color and light no longer count.

Where pictures have an alpha channel, it says what the ground is: the distance is

.. math:: \alpha(p)\, (1 + |x(p) - g| / |w|)\, /\, 2

with the ground g black or white w, whichever is further from what the picture shows. It is zero
where a picture is transparent and at least a half where it is opaque. A picture that is opaque
everywhere is treated like one without alpha.

A picture has a *plain ground* if the noise of its ground is small beside its contrast. Photographs
have none: whatever surrounds their subject is as varied as the subject.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dikmeans._typing import BoolArray, FloatArray, ImageShape
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import Learned, Preprocessor, check_names

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
# A last channel is alpha if in this share of the pictures this part of the pixels is (nearly)
# transparent or opaque and some reach this part of the opaque value, and if this share of the
# pictures has this part transparent.
ALPHA_PICTURES, ALPHA_PIXELS, NEARLY, OPAQUE = 0.9, 0.1, 0.02, 0.8
TRANSPARENT_PICTURES, TRANSPARENT_PIXELS = 0.1, 0.01


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


def find_alpha(pictures: FloatArray) -> float:
    """The opaque value of the alpha channel of pictures (n, C, rows, columns); 0 if they have none.

    The last of two or four channels is alpha if a good part of it is transparent (0) or opaque (its
    largest value) in nearly all pictures, and some have transparent pixels.

    Examples
    --------
    >>> pictures = np.random.default_rng(0).random((5, 4, 8, 8))
    >>> find_alpha(pictures)
    0.0
    >>> pictures[:, 3] = np.eye(8)
    >>> find_alpha(pictures)
    1.0
    """
    top = float(pictures[:, -1].max())
    if pictures.shape[1] not in (2, 4) or pictures[:, -1].min() < 0 or not top > 0:
        return 0.0
    alpha = pictures[:, -1].reshape(len(pictures), -1) / top
    is_clear = ((alpha < NEARLY) | (alpha > 1 - NEARLY)).mean(axis=1) >= ALPHA_PIXELS
    is_clear &= alpha.max(axis=1) >= OPAQUE
    has_holes = (alpha == 0).mean(axis=1) >= TRANSPARENT_PIXELS
    enough = is_clear.mean() >= ALPHA_PICTURES and has_holes.mean() >= TRANSPARENT_PICTURES
    return top if enough else 0.0


def _distance_by_alpha(picture: FloatArray, top: float) -> FloatArray:
    """Distance from the ground (rows, columns) of a picture (C, rows, columns) with alpha last."""
    colors, alpha = picture[:-1], np.clip(picture[-1] / top, 0, 1)
    from_black, from_white = (np.linalg.norm(colors - level, axis=0) for level in (0, top))
    further = from_white if (alpha * (from_white - from_black)).sum() > 0 else from_black
    return alpha * (1 + further / (top * np.sqrt(len(colors)))) / 2


class Background(Preprocessor):
    """Distance of every pixel from the ground of its picture: one channel, at unit norm.

    Attributes
    ----------
    alpha_ : float
        Value of the last channel where pictures are opaque, if it is alpha; 0 if they have none.
    """

    name = "background"
    batch_pixels = 100_000
    alpha_: float

    def _learn(self, pictures: FloatArray) -> None:
        self.alpha_ = find_alpha(pictures)

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Distances have one channel."""
        return shape[:2]

    def _apply(self, pictures: FloatArray) -> FloatArray:
        colors = pictures[:, :-1] if self.alpha_ else pictures
        distance = np.empty((len(pictures), 1, *pictures.shape[2:]), pictures.dtype)
        is_opaque = (pictures[:, -1] >= self.alpha_).all(axis=(1, 2)) | (self.alpha_ == 0)
        if is_opaque.any():
            ground = find_ground(colors[is_opaque])
            floor = NOISE_FLOOR * ground.noise[:, None, None]
            distance[is_opaque, 0] = np.maximum(ground.distance - floor, 0)
        for number in np.flatnonzero(~is_opaque):
            distance[number, 0] = _distance_by_alpha(pictures[number], self.alpha_)
        return scale_to_unit_norm(distance)

    @property
    def learned(self) -> Learned:
        """The opaque value of alpha."""
        return {"alpha": self.alpha_}

    def _restore(self, learned: Learned) -> None:
        check_names(learned, {"alpha"})
        alpha = learned["alpha"]
        if not (isinstance(alpha, float) and np.isfinite(alpha) and alpha >= 0):
            raise ValueError(f"the opaque value of alpha is {alpha!r}")
        self.alpha_ = alpha

    def __str__(self) -> str:
        where = ", which is where it is transparent" if getattr(self, "alpha_", 0) else ""
        return f"Every pixel is replaced by its distance from the ground of its picture{where}."
