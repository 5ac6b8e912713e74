r"""Local contrast normalization: every neighborhood has the same energy.

.. math:: x \,/\, \sqrt{G_\sigma * x^2 + (c\,\mathrm{rms}(x))^2},

with a Gaussian about as wide as a pen. In a sum of squares a long line outweighs everything else,
and letters that differ in a dot are one letter; after normalization a dot counts as much as a piece
of line of its length.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import Preprocessor

# sigma: width of the neighborhoods, as a part of a picture's longer side.
NEIGHBORHOOD = 0.06
# c: a neighborhood of less energy is background, and stays dark.
FAINT = 0.3


class LocalContrast(Preprocessor):
    """Pictures with the same energy in every neighborhood, at unit norm."""

    name = "local-contrast"

    def _apply(self, pictures: FloatArray) -> FloatArray:
        pictures = scale_to_unit_norm(pictures)
        energy = np.einsum("ncij,ncij->nij", pictures, pictures)
        sigma = NEIGHBORHOOD * max(pictures.shape[2:])
        nearby = ndimage.gaussian_filter(energy, (0, sigma, sigma), mode="constant")
        nearby += FAINT**2 / energy[0].size
        return scale_to_unit_norm(pictures / np.sqrt(nearby)[:, None])

    def __str__(self) -> str:
        return (
            "Local contrast is normalized, so that a dot counts beside a line; brightness does not "
            "count."
        )
