r"""Spectral whitening: fine detail counts beside coarse shape.

The amplitude of pictures falls with the spatial frequency, about as :math:`|f|^{-a}`; :math:`a` is
the spectral slope. In a sum of squares the large bright parts of a thing outweigh its edges and all
that is small: a closed hand and a fist are the same bright patch. Here a picture is filtered by

.. math:: |f|^{s a}

before it is compared. With a whitening strength of s = 1 all scales would have the same energy, the
finest noise included; the strength used is a little less than a half. What is learned is one
number, the exponent :math:`s a`.
"""

from __future__ import annotations

import itertools
import logging

import numpy as np
from scipy import fft

from dikmeans._typing import FloatArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import (
    Learned,
    Preprocessor,
    check_names,
    unit_norm_unless_negligible,
)
from dikmeans.registration.warps import Border

logger = logging.getLogger(__name__)

STRENGTH = 0.45
# A larger exponent would leave nothing but noise.
LARGEST_EXPONENT = 1.5
# The slope is measured from so many waves per side to the finest there are, in so many rings.
FEWEST_WAVES, N_RINGS = 2, 11


def spectral_slope(pictures: FloatArray) -> float:
    """The exponent a with which the amplitude of pictures (n, C, rows, columns) falls.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((50, 1, 32, 32))
    >>> abs(round(spectral_slope(noise), 1)), round(spectral_slope(noise.cumsum(2).cumsum(3)), 0)
    (0.0, 1.0)
    """
    padded = [2 * n for n in pictures.shape[2:]]
    power = power_spectrum(scale_to_unit_norm(pictures), padded)
    lowest, highest = FEWEST_WAVES / max(pictures.shape[2:]), 0.5
    edges = np.geomspace(lowest, highest, N_RINGS + 1)
    radius = _frequencies(padded)
    logs = np.array(
        [
            (np.log(radius[ring].mean()), np.log(power[ring].mean()))
            for ring in (
                (radius >= low) & (radius < high) for low, high in itertools.pairwise(edges)
            )
            if ring.any() and power[ring].any()
        ]
    )
    if len(logs) < 2:
        return 0.0
    slope, _ = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(-slope / 2)


def power_spectrum(pictures: FloatArray, padded: list[int]) -> FloatArray:
    """Power of the frequencies of ``rfft2`` on a frame of zeros, summed over pictures."""
    power = np.zeros((padded[0], padded[1] // 2 + 1))
    for picture in pictures:
        power += (np.abs(fft.rfft2(picture, s=padded)) ** 2).sum(axis=0)
    return power


def whiten(pictures: FloatArray, exponent: float) -> FloatArray:
    """Pictures (n, C, rows, columns) filtered by a power of the frequency, zero outside."""
    return _filter(pictures, [2 * n for n in pictures.shape[2:]], exponent)


def whiten_mirrored(pictures: FloatArray, exponent: float) -> FloatArray:
    """The same with pictures continued as in a mirror beyond their edges."""
    rows, columns = pictures.shape[2:]
    margins = [(n // 2, n - n // 2) for n in (rows, columns)]
    mirrored = np.pad(pictures, [(0, 0), (0, 0), *margins], mode="symmetric")
    filtered = _filter(mirrored, [2 * rows, 2 * columns], exponent)
    return filtered[:, :, margins[0][0] :, margins[1][0] :][:, :, :rows, :columns]


def _filter(pictures: FloatArray, padded: list[int], exponent: float) -> FloatArray:
    gain = _frequencies(padded).astype(pictures.dtype) ** exponent
    filtered = np.empty_like(pictures)
    # one by one: a picture must not depend on its neighbors, not even in the last bit
    for picture, result in zip(pictures, filtered, strict=True):
        wave = fft.rfft2(picture, s=padded) * gain
        result[:] = fft.irfft2(wave, s=padded)[:, : picture.shape[1], : picture.shape[2]]
    return filtered


def _frequencies(shape: list[int]) -> FloatArray:
    """Distance from zero of each frequency of ``rfft2``, in waves per pixel."""
    return np.hypot(fft.fftfreq(shape[0])[:, None], fft.rfftfreq(shape[1])[None])


class Whitening(Preprocessor):
    """Pictures in which fine and coarse scales have more nearly the same energy, at unit norm.

    Parameters
    ----------
    strength : float, default=0.45
        The part of the spectral slope that is compensated.
    border : {"zero", "edge"}, default="zero"
        As in `Preprocessor`.

    Attributes
    ----------
    exponent_ : float
        Of the frequency.
    """

    name = "whitening"
    exponent_: float

    def __init__(self, strength: float = STRENGTH, border: Border = "zero"):
        super().__init__(border)
        self.strength = strength

    def _learn(self, pictures: FloatArray) -> None:
        self.exponent_ = learn_exponent(pictures, self.strength)

    def _apply(self, pictures: FloatArray) -> FloatArray:
        return unit_norm_unless_negligible(whiten(pictures, self.exponent_), pictures)

    @property
    def learned(self) -> Learned:
        """The exponent."""
        return {"exponent": self.exponent_}

    def _restore(self, learned: Learned) -> None:
        check_names(learned, {"exponent"})
        self.exponent_ = check_exponent(learned["exponent"])

    def __str__(self) -> str:
        return (
            f"Spectra are whitened (filtered by |f|^{self.exponent_:.2f}), so that edges and gaps "
            "count beside large bright parts; brightness does not count."
        )


def learn_exponent(pictures: FloatArray, strength: float) -> float:
    """The exponent that whitens pictures like these to a given strength."""
    slope = spectral_slope(pictures)
    exponent = min(max(strength * slope, 0.0), LARGEST_EXPONENT)
    logger.info("spectral slope %.2f: pictures are filtered by |f|^%.2f", slope, exponent)
    return exponent


def check_exponent(exponent: object) -> float:
    """An exponent that was learned; ValueError if it cannot have been."""
    if not (isinstance(exponent, float) and 0 <= exponent <= LARGEST_EXPONENT):
        raise ValueError(f"the exponent of the frequency is {exponent!r}")
    return exponent
