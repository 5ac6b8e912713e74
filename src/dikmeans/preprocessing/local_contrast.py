r"""Strokes: every neighbourhood has the same energy.

.. math:: x \,/\, \sqrt{G_\sigma * x^2 + (c\,\mathrm{rms}(x))^2},

with a Gaussian about as wide as a pen. In a sum of squares a long line outweighs all else, and letters
that differ in a dot are one letter; here a dot counts as much as a piece of line of its length.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from dikmeans.preprocessing.base import Normaliser
from dikmeans.images import scale_to_unit_norm

# Width of the neighbourhoods, as a part of a picture's longer side.
STROKE_WIDTH = 0.06
# The constant c: a neighbourhood of less energy is background, and stays dark.
FAINT = 0.3


class EvenStrokes(Normaliser):
    """Pictures with the same energy in every neighbourhood, at unit norm."""

    name = "strokes"

    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        pictures = scale_to_unit_norm(pictures)
        energy = np.einsum("ncij,ncij->nij", pictures, pictures)
        sigma = STROKE_WIDTH * max(pictures.shape[2:])
        nearby = ndimage.gaussian_filter(energy, (0, sigma, sigma), mode="constant")
        nearby += FAINT**2 / energy[0].size
        return scale_to_unit_norm(pictures / np.sqrt(nearby)[:, None])
