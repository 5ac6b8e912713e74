"""Centering: what a picture shows is shifted to the middle of its frame.

Alignments end in wrong optima when pictures start far apart, and K-means, which warms up the
search, sees nothing but place. Pictures on a dark ground are therefore shifted, by whole pixels, so
that their center of mass is in the middle.
"""

from __future__ import annotations

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.frames import Crops
from dikmeans.images import scale_to_unit_norm
from dikmeans.preprocessing.base import Preprocessor

# The rim of a picture, as a part of the shorter side, and the share of a picture's energy there
# above which things reach beyond the frame: shifting would cut them, or leave a hole.
RIM, MAX_RIM_ENERGY = 0.04, 0.01


def center_offsets(pictures: FloatArray) -> IntArray:
    """Offset (rows, columns) of each picture's center of mass from its middle: (n, 2), rounded."""
    mass = np.abs(pictures).sum(axis=1, dtype=np.float64)
    totals = mass.sum(axis=(1, 2))
    totals[totals == 0] = 1.0
    offsets = []
    for axis, n in ((2, pictures.shape[2]), (1, pictures.shape[3])):
        profile = mass.sum(axis=axis)
        offsets.append(profile @ (np.arange(n) - (n - 1) / 2) / totals)
    return np.rint(np.stack(offsets, axis=1)).astype(int)


def stays_inside(pictures: FloatArray) -> bool:
    """Whether things in most pictures (n, C, rows, columns) end before the edge."""
    energy = np.einsum("ncij,ncij->nij", pictures, pictures, dtype=np.float64)
    width = max(1, round(RIM * min(pictures.shape[2:])))
    inner = energy[:, width:-width, width:-width].sum(axis=(1, 2))
    totals = energy.sum(axis=(1, 2))
    return bool(np.median(totals - inner - MAX_RIM_ENERGY * totals) <= 0)


class Centering(Preprocessor):
    """Pictures shifted by whole pixels to their center of mass, at unit norm."""

    name = "centering"
    moves = True

    def _apply(self, pictures: FloatArray) -> FloatArray:
        centered = np.zeros_like(pictures)
        for picture, offset, result in zip(
            pictures, center_offsets(pictures), centered, strict=True
        ):
            source, target = zip(*map(_overlap, offset, picture.shape[1:]), strict=True)
            result[(slice(None), *target)] = picture[(slice(None), *source)]
        return scale_to_unit_norm(centered)

    def _crops(self, pictures: FloatArray) -> Crops:
        return Crops(np.ones(len(pictures)), center_offsets(pictures).astype(np.float64))

    def __str__(self) -> str:
        return "Every picture is shifted to its center of mass."


def _overlap(offset: int, n: int) -> tuple[slice, slice]:
    """Where pixels of one axis come from, and where they go, when shifted by minus `offset`."""
    return slice(max(offset, 0), n + min(offset, 0)), slice(max(-offset, 0), n + min(-offset, 0))
