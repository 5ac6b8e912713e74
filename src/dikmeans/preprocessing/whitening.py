r"""Scales: what is fine counts beside what is coarse.

The amplitude of pictures falls with the spatial frequency, about as :math:`|f|^{-a}`. In a sum of squares the
large bright parts of a thing outweigh its edges and all that is small: a closed hand and a fist are the same
bright patch. Here a picture is filtered by

.. math:: |f|^{e a}

before it is compared. With e = 1 all scales would have the same energy, the finest noise included; e takes
the fall back by a little less than a half. What is learned is one number, the exponent :math:`e a`.
"""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import fft

from dikmeans.preprocessing.base import Normaliser, refuse_unless, scale_what_is_left
from dikmeans.images import scale_to_unit_norm

logger = logging.getLogger(__name__)

# e: how much of the fall is taken back.
EVENNESS = 0.45
# An exponent beyond this would leave nothing but noise.
LARGEST_EXPONENT = 1.5
# The fall is measured between so many waves a side and the finest there are, in so many steps.
FEWEST_WAVES, FREQUENCY_STEPS = 2, 11


def fall_of_amplitude(pictures: np.ndarray) -> float:
    """The exponent a of the fall of the amplitude of pictures (n, C, rows, columns) with the frequency.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((50, 1, 32, 32))
    >>> abs(round(fall_of_amplitude(noise), 1)), round(fall_of_amplitude(noise.cumsum(2).cumsum(3)), 0)
    (0.0, 1.0)
    """
    padded = [2 * n for n in pictures.shape[2:]]
    power = np.zeros((padded[0], padded[1] // 2 + 1))
    for picture in scale_to_unit_norm(pictures):
        power += (np.abs(fft.rfft2(picture, s=padded)) ** 2).sum(axis=0)
    lowest, highest = FEWEST_WAVES / max(pictures.shape[2:]), 0.5
    edges = np.geomspace(lowest, highest, FREQUENCY_STEPS + 1)
    radius = _frequencies(padded)
    logs = np.array(
        [
            (np.log(radius[ring].mean()), np.log(power[ring].mean()))
            for ring in ((radius >= low) & (radius < high) for low, high in itertools.pairwise(edges))
            if ring.any() and power[ring].any()
        ]
    )
    if len(logs) < 2:
        return 0.0
    slope, _ = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(-slope / 2)


def even_out_scales(pictures: np.ndarray, exponent: float) -> np.ndarray:
    """Pictures (n, C, rows, columns) filtered by a power of the frequency, in a frame of zeros."""
    padded = [2 * n for n in pictures.shape[2:]]
    return _filtered(pictures, padded, exponent)


def even_out_mirrored(pictures: np.ndarray, exponent: float) -> np.ndarray:
    """The same where a picture goes on as in a mirror beyond its edge."""
    rows, columns = pictures.shape[2:]
    margins = [(n // 2, n - n // 2) for n in (rows, columns)]
    mirrored = np.pad(pictures, [(0, 0), (0, 0), *margins], mode="symmetric")
    found = _filtered(mirrored, [2 * rows, 2 * columns], exponent)
    return found[:, :, margins[0][0] :, margins[1][0] :][:, :, :rows, :columns]


def _filtered(pictures: np.ndarray, padded: list[int], exponent: float) -> np.ndarray:
    gain = _frequencies(padded).astype(pictures.dtype) ** exponent
    filtered = np.empty_like(pictures)
    # one by one: what is done to a picture must not depend on its neighbours, not even in the last bit
    for picture, result in zip(pictures, filtered, strict=True):
        wave = fft.rfft2(picture, s=padded) * gain
        result[:] = fft.irfft2(wave, s=padded)[:, : picture.shape[1], : picture.shape[2]]
    return filtered


def _frequencies(shape: list[int]) -> np.ndarray:
    """Distance from zero of each frequency of ``rfft2``, in waves a pixel."""
    return np.hypot(fft.fftfreq(shape[0])[:, None], fft.rfftfreq(shape[1])[None])


@dataclass(frozen=True)
class EvenScales(Normaliser):
    """Pictures whose scales have more nearly the same energy, at unit norm.

    Attributes
    ----------
    exponent : float
        Of the frequency.
    """

    name = "scales"

    exponent: float

    @classmethod
    def learn(cls, pictures: np.ndarray) -> Self:
        """With the exponent that these pictures ask for."""
        return cls(learn_exponent(pictures, EVENNESS))

    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        return scale_what_is_left(even_out_scales(pictures, self.exponent), pictures)

    @property
    def learned(self) -> dict[str, Any]:
        """The exponent."""
        return {"exponent": self.exponent}

    @classmethod
    def restore(cls, learned: dict[str, Any], shape: tuple[int, ...]) -> Self:
        """From the exponent."""
        refuse_unless({"exponent"}, learned)
        return cls(check_exponent(learned["exponent"]))


def learn_exponent(pictures: np.ndarray, evenness: float) -> float:
    """The exponent that takes back this share of the fall of the pictures' amplitude."""
    fall = fall_of_amplitude(pictures)
    exponent = min(max(evenness * fall, 0.0), LARGEST_EXPONENT)
    logger.info("the amplitude falls as |f|^-%.2f; pictures are filtered by |f|^%.2f", fall, exponent)
    return exponent


def check_exponent(exponent: Any) -> float:
    """An exponent that was learned; ValueError if it cannot have been."""
    if not (isinstance(exponent, float) and 0 <= exponent <= LARGEST_EXPONENT):
        raise ValueError(f"the exponent of the frequency is {exponent!r}")
    return exponent
