r"""Band whitening: rows of a spectrogram less their means, then whitened.

In a spectrogram in decibels a row is a frequency band, and a microphone or a room adds a constant
to it. Less its mean,

.. math:: x_{ij} - \frac{1}{n} \sum_k x_{ik},

a row shows when its band is louder or softer than usual, whatever recorded it: what speech
processing calls cepstral mean normalization. Whitening (`dikmeans.preprocessing.whitening`) then
lets onsets and bends count beside long vowels.
"""

from __future__ import annotations

from dikmeans._typing import FloatArray
from dikmeans.preprocessing.whitening import Whitening


def center_rows(pictures: FloatArray) -> FloatArray:
    """Pictures (n, C, rows, columns) whose rows have mean zero."""
    return pictures - pictures.mean(axis=3, keepdims=True, dtype=pictures.dtype)


class BandWhitening(Whitening):
    """Pictures whose rows have mean zero, whitened, at unit norm: for spectrograms in decibels."""

    name = "band-whitening"

    def _learn(self, pictures: FloatArray) -> None:
        super()._learn(center_rows(pictures))

    def _apply(self, pictures: FloatArray) -> FloatArray:
        return super()._apply(center_rows(pictures))

    def __str__(self) -> str:
        return (
            "Every row is taken less its mean, so that the level of a frequency band does not "
            f"count, and spectra are whitened (filtered by |f|^{self.exponent_:.2f})."
        )
