r"""Light and contrast of pictures: counted as they are, or solved for in closed form.

With ``intensity="fixed"`` the values of two pictures are compared as they are. With ``"affine"``
every channel :math:`m` of the warped picture, the *template* :math:`T` sampled under the warp, gets
a gain and an offset of its own before it is compared with the target :math:`G`,

.. math::
    \min_{a \ge 0,\, b} \|a\,m + b - G\|^2 + \kappa\,(a \|\tilde T\| - \|\tilde G\|)^2,
    \qquad
    a = \frac{\langle \tilde m, \tilde G\rangle + \kappa \|\tilde T\| \|\tilde G\|}
             {\|\tilde m\|^2 + \kappa \|\tilde T\|^2}, \quad b = \bar G - a\,\bar m,

where a bar is the mean over the pixels and a tilde takes it away. The second term keeps a warp from
blowing up the little of a template that it leaves in the frame, and a template from fading out
where it does not fit: the contrast after the gain should be that of the target. It vanishes for a
perfect fit. By the envelope theorem the gradient with respect to the warp is the usual one, with
the residual :math:`a\,m + b - G` and slopes times :math:`a`.

Both pictures are standardized first: each channel has mean zero, and all have the same norm, with
squares that sum to one. A cost then has no unit, and does not depend on gain and offset of either
picture, in any channel. Without a warp, and with :math:`\rho` the correlation of two pictures of
one channel, it is :math:`(1 - \rho)(1 + \rho + 2\kappa) / (1 + \kappa)`: :math:`1 - \rho^2` for
:math:`\kappa = 0`, and the squared distance of the standardized pictures, :math:`2 (1 - \rho)`, for
:math:`\kappa \to \infty`.

A picture without contrast says nothing about a gain. As a target it costs
:math:`(1 + \kappa) \|\tilde T\|^2`, what a template costs that is uncorrelated with its target; or
nothing if the template is blank as well.

Where a black outside would be seen as an edge of a picture with an offset, the mean of the edge
pixels lies outside instead (``border="rim"``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from dikmeans._typing import Array, FloatArray
from dikmeans.registration.warps import Border

IntensityName = Literal["fixed", "affine"]

# An image of less energy counts as black: its inverse would not leave room in single precision.
BLACK = 1e-30
# kappa: what a gain costs beside the residual.
GAIN_WEIGHT = 0.3
# Stands for the norm of a target without contrast in any channel.
BLANK = -1.0
# A channel is constant if its contrast is below this share of the picture's strongest channel, or
# below that of its own values: what is left is rounding errors or noise.
FAINT, ROUNDING = 1e-2, 1e-5


def energies_of(images: Array) -> FloatArray:
    """Squared norm of each image (n, C, rows, columns), the unit of its costs; 1 if black."""
    energies = np.einsum("ncij,ncij->n", images, images, dtype=np.float64)
    energies[energies < BLACK] = 1.0
    return energies


class Tone(NamedTuple):
    """Brightness and contrast of each channel of some pictures.

    Attributes
    ----------
    means : float64 array of shape (n, C)
    contrasts : float64 array of shape (n, C)
        Norm of the channel without its mean; zero for a constant channel.
    """

    means: FloatArray
    contrasts: FloatArray

    @classmethod
    def of(cls, pictures: FloatArray) -> Tone:
        """Those of pictures (n, C, rows, columns)."""
        means = pictures.mean(axis=(2, 3), dtype=np.float64)
        centered = pictures - means[..., None, None]
        contrasts = _norms(centered)
        values = np.abs(means) * np.sqrt(pictures[0, 0].size)
        strongest = contrasts.max(axis=1, keepdims=True, initial=0)
        constant = (contrasts < FAINT * strongest) | (contrasts <= ROUNDING * values)
        return cls(means, np.where(constant, 0.0, contrasts))

    def give(self, pictures: FloatArray) -> FloatArray:
        """The pictures with this brightness and contrast, in double precision."""
        own = Tone.of(pictures)
        scales = self.contrasts / np.where(own.contrasts > 0, own.contrasts, np.inf)
        centered = pictures - own.means[..., None, None]
        return scales[..., None, None] * centered + self.means[..., None, None]


class Match(NamedTuple):
    """What makes warped pictures most like their targets: ``gain * warped + offset``.

    Attributes
    ----------
    gains, offsets : float64 arrays of shape (n, C)
    """

    gains: FloatArray
    offsets: FloatArray

    def apply(self, warped: FloatArray) -> FloatArray:
        """The warped pictures (n, C, rows, columns) with their gains and offsets."""
        matched = self.gains[..., None, None] * warped + self.offsets[..., None, None]
        return matched.astype(warped.dtype, copy=False)


class Intensity(ABC):
    """How a measure treats light and contrast."""

    name: ClassVar[IntensityName]

    @abstractmethod
    def border(self, border: Border) -> Border:
        """What lies outside a picture, where the preprocessing asks for `border`."""

    @abstractmethod
    def energies(self, images: FloatArray) -> FloatArray:
        """The unit of the costs of each image (n, C, rows, columns)."""

    @abstractmethod
    def prepare(self, pictures: FloatArray) -> FloatArray:
        """The pictures as they are compared."""

    @abstractmethod
    def level(self, pictures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Prepared pictures on one level of a pyramid, and norms (n, C) of their channels.

        The norms are float32; `BLANK` if all of them are zero.
        """

    @abstractmethod
    def distances(self, images: FloatArray, centroids: FloatArray) -> FloatArray:
        """Costs (n, K) of prepared images, not warped, to prepared centroids."""

    @abstractmethod
    def match(self, warped: FloatArray, templates: FloatArray, targets: FloatArray) -> Match:
        """Gains and offsets for warped `templates`, all arrays of shape (n, C, rows, columns)."""


class FixedIntensity(Intensity):
    """Values are compared as they are."""

    name = "fixed"

    def border(self, border: Border) -> Border:
        """The border that was asked for."""
        return border

    def energies(self, images: FloatArray) -> FloatArray:
        """Squared norms."""
        return energies_of(images)

    def prepare(self, pictures: FloatArray) -> FloatArray:
        """The pictures themselves."""
        return pictures

    def level(self, pictures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The pictures themselves; their norms are not needed."""
        return pictures, np.empty(0, np.float32)

    def distances(self, images: FloatArray, centroids: FloatArray) -> FloatArray:
        """Squared Euclidean distances."""
        center = centroids.mean(axis=0)  # pictures far from zero would lose precision to rounding
        flat = ((pictures - center).reshape(len(pictures), -1) for pictures in (images, centroids))
        squared: FloatArray = euclidean_distances(*flat, squared=True)
        return squared

    def match(self, warped: FloatArray, templates: FloatArray, targets: FloatArray) -> Match:
        """Gain one and offset zero."""
        return Match(np.ones(warped.shape[:2]), np.zeros(warped.shape[:2]))


class AffineIntensity(Intensity):
    """Every channel of every warped picture gets the gain and the offset that fit best."""

    name = "affine"

    def border(self, border: Border) -> Border:
        """The mean of the edge pixels in place of zeros."""
        return "rim" if border == "zero" else border

    def energies(self, images: FloatArray) -> FloatArray:
        """One: costs have no unit."""
        return np.ones(len(images))

    def prepare(self, pictures: FloatArray) -> FloatArray:
        """Standardized: channels of mean zero and equal norms, with squares that sum to one."""
        tone = Tone.of(pictures)
        is_alive = tone.contrasts > 0
        n_alive = np.maximum(is_alive.sum(axis=1, keepdims=True), 1)
        scales = np.sqrt(n_alive) * np.where(is_alive, tone.contrasts, np.inf)
        centered = pictures - tone.means[..., None, None]
        return (centered / scales[..., None, None]).astype(pictures.dtype, copy=False)

    def level(self, pictures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The pictures, each channel without the mean that it has on this level."""
        centered = pictures - pictures.mean(axis=(2, 3), keepdims=True)
        norms = _norms(centered).astype(np.float32)
        norms[~norms.any(axis=1)] = BLANK
        return centered, norms

    def distances(self, images: FloatArray, centroids: FloatArray) -> FloatArray:
        """Squared distances after the best gains of the centroids."""
        costs = np.zeros((len(images), len(centroids)))
        for channel in range(images.shape[1]):
            x = images[:, channel].reshape(len(images), -1)
            mu = centroids[:, channel].reshape(len(centroids), -1)
            norms = np.linalg.norm(mu, axis=1), np.linalg.norm(x, axis=1)[:, None]
            source, target = np.broadcast_arrays(*norms)
            products = x @ mu.T
            gains = best_gains(source**2, products, source, target)
            # the square of gain * mu - x, without a loss of digits where both are alike
            excess = gains * source - target
            costs += (1 + GAIN_WEIGHT) * excess**2 + 2 * gains * (source * target - products)
        is_blank = ~images.any(axis=(1, 2, 3))
        costs[is_blank] = (1 + GAIN_WEIGHT) * centroids.any(axis=(1, 2, 3))
        return np.maximum(costs, 0.0)

    def match(self, warped: FloatArray, templates: FloatArray, targets: FloatArray) -> Match:
        """The closed form above, in the units of the pictures."""
        moved, source, target = Tone.of(warped), Tone.of(templates), Tone.of(targets)
        centered = warped - moved.means[..., None, None]
        products = np.einsum("ncij,ncij->nc", centered, targets - target.means[..., None, None])
        squares = np.einsum("ncij,ncij->nc", centered, centered)
        gains = best_gains(squares, products, source.contrasts, target.contrasts)
        return Match(gains, target.means - gains * moved.means)


def best_gains(
    squares: FloatArray, products: FloatArray, templates: FloatArray, targets: FloatArray
) -> FloatArray:
    """The best gains, all arrays of one shape.

    Parameters
    ----------
    squares, products : arrays
        Of the warped channels without their means: squared norm, and product with the target.
    templates, targets : arrays
        Contrasts. A template without any gets the gain one: whatever it is, the fit is the same.
    """
    above = products + GAIN_WEIGHT * templates * targets
    below = squares + GAIN_WEIGHT * templates**2
    gains = np.maximum(above / np.where(below > 0, below, 1.0), 0.0)
    return np.where(templates > 0, gains, 1.0)


def _norms(centered: FloatArray) -> FloatArray:
    """Norm of each channel (n, C) of pictures."""
    norms: FloatArray = np.sqrt(np.einsum("ncij,ncij->nc", centered, centered, dtype=np.float64))
    return norms


INTENSITIES: dict[IntensityName, Intensity] = {
    "fixed": FixedIntensity(),
    "affine": AffineIntensity(),
}
