r"""Size normalization: what a picture shows fills the frame as much as in all others.

A letter on a card and the same letter on a page differ in size by a factor that no prior on
deformations should allow, and K-means, which warms up the search, sees nothing but place and size.
Size is the root mean square distance of what a picture shows from its center of mass,

.. math:: r^2 = \sum_p m(p)\, |p - c|^2 / \sum_p m(p),

where the mass m(p) is the brightness of what is neither faint nor glaring. Pictures are moved to
their center of mass and enlarged or reduced until r is the same part of a side in all of them.
Proportions stay.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.frames import Crops
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import Preprocessor

# r afterwards, as a part of the longer side. What is drawn with a pen ends at 2.1 to 2.5 r from its
# center, so that it just fits.
RADIUS = 0.2
# What is less bright than this part of the typical brightness has no mass: noise far from the
# center would weigh more than a stroke.
FAINT = 0.4
# A picture is enlarged or reduced by no more than this: one spot has no size.
LARGEST_CHANGE = 4.0


def find_sizes(pictures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Center of mass (n, 2) in pixels, and size r (n,) as a part of the longer side.

    The size of an empty picture, or of a single pixel, is 0.
    """
    brightness = np.sqrt(np.einsum("ncij,ncij->nij", pictures, pictures, dtype=np.float64))
    energy = (brightness**2).sum(axis=(1, 2), keepdims=True)
    is_empty = energy[:, 0, 0] == 0
    # weighted by energy: neither the dark ground nor a bright grain of dust counts for much
    typical = (brightness**3).sum(axis=(1, 2), keepdims=True) / np.where(energy > 0, energy, 1.0)
    mass = np.where(brightness >= FAINT * typical, np.minimum(brightness, typical), 0.0)
    mass[is_empty] = 1.0  # its center is the middle
    totals = mass.sum(axis=(1, 2))
    centers, variance = np.empty((len(pictures), 2)), np.zeros(len(pictures))
    for axis, n in enumerate(pictures.shape[2:]):
        profile, places = mass.sum(axis=2 - axis), np.arange(n)
        centers[:, axis] = profile @ places / totals
        squares = (places - centers[:, axis, None]) ** 2
        variance += (profile * squares).sum(axis=1) / totals
    sizes = np.sqrt(variance) / max(pictures.shape[2:])
    return centers, np.where(is_empty, 0.0, sizes)


class SizeNormalization(Preprocessor):
    """Pictures moved to their center of mass and scaled to one size, at unit norm."""

    name = "size-normalization"
    moves = True
    batch_pixels = 100_000

    def _apply(self, pictures: FloatArray) -> FloatArray:
        normalized = np.empty_like(pictures)
        crops = self._crops(pictures)
        for picture, scale, offset, result in zip(
            pictures, crops.scale, crops.offset, normalized, strict=True
        ):
            blur = max(0.0, (scale - 1) / 2)  # nothing finer than the pixels of the result
            for channel, out in zip(picture, result, strict=True):
                smooth = ndimage.gaussian_filter(channel, blur) if blur else channel
                ndimage.affine_transform(smooth, [scale, scale], offset, output=out, order=1)
        return scale_to_unit_norm(normalized)

    def _crops(self, pictures: FloatArray) -> Crops:
        centers, sizes = find_sizes(pictures)
        scale = np.clip(sizes / RADIUS, 1 / LARGEST_CHANGE, LARGEST_CHANGE)
        scale[sizes == 0] = 1.0
        middle = (np.array(pictures.shape[2:]) - 1) / 2
        return Crops(scale, centers - scale[:, None] * middle)

    def __str__(self) -> str:
        return "Every picture is moved to its center of mass and scaled to one size."
