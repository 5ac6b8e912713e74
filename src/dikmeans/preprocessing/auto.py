"""Which preprocessing suits: decided by ground, place and thickness of what pictures show."""

from __future__ import annotations

import numpy as np
from scipy import fft

from dikmeans._typing import FloatArray
from dikmeans.preprocessing.background import Background, find_alpha, find_ground
from dikmeans.preprocessing.base import Preprocessor, UnitNorm, learning_indices
from dikmeans.preprocessing.centering import Centering, center_offsets, stays_inside
from dikmeans.preprocessing.chain import Chain, steps_of
from dikmeans.preprocessing.local_contrast import LocalContrast
from dikmeans.preprocessing.size_normalization import SizeNormalization, find_sizes
from dikmeans.preprocessing.subject_centering import SubjectCentering
from dikmeans.preprocessing.whitening import Whitening, power_spectrum
from dikmeans.registration.grid import MIN_LIVE_LENGTH
from dikmeans.registration.intensity import IntensityName
from dikmeans.registration.warps import WarpName

# A picture has a dark background if its darkest tenth is darker than this share of its brightest.
DARK, DARKEST, BRIGHTEST = 0.15, 0.1, 0.99
# Pictures are of strokes if their correlation length is below this part of a side.
THIN = 0.17
# Smaller pictures do not tell.
SMALLEST_SIDE = 16
# Pictures are centered if their centers of mass are off by more than this part of a side (root
# mean square).
OFF_CENTER = 0.04
# Their sizes are made equal if they differ by more than this (standard deviation of the logarithm).
UNEQUAL_SIZES = 0.2
# So many pictures tell what ground they have, and whether their sizes differ.
N_TELLING = 200


def choose_intensity(preprocessing: Preprocessor, warp: WarpName) -> tuple[IntensityName, str]:
    """How light and contrast of pictures should count after a fitted preprocessing, and why.

    Examples
    --------
    >>> tiny = np.zeros((3, 1, 8, 8))
    >>> choose_intensity(UnitNorm().learn(tiny), "tps")
    ('affine', 'the pictures are only scaled')
    """
    last = steps_of(preprocessing)[-1]
    if warp == "none":
        return "fixed", "as in K-means"
    if not isinstance(last, UnitNorm):
        how = "as they are" if last.name is None else "after the preprocessing"
        return "fixed", f"pictures are compared {how}"
    if min(preprocessing.output_shape(preprocessing.image_shape_)[:2]) < MIN_LIVE_LENGTH:
        return "fixed", "signals are compared at unit norm"
    return "affine", "the pictures are only scaled"


def choose_preprocessing(pictures: FloatArray) -> tuple[Preprocessor, str]:
    """The preprocessing that suits pictures (n, C, rows, columns), not fitted yet, and why.

    Examples
    --------
    >>> line, disc = np.zeros((2, 5, 1, 16, 16))
    >>> line[:, :, 4:12, 7:9] = 1
    >>> disc[:, :, 4:12, 3:13] = 1
    >>> stones = np.random.default_rng(0).uniform(0.3, 1, (5, 1, 4, 4)).repeat(4, 2).repeat(4, 3)
    >>> [choose_preprocessing(pictures)[0].name for pictures in (line, disc, stones)]
    ['local-contrast', 'whitening', 'subject-centering']
    >>> choose_preprocessing(1 - line)[0].steps
    (Background(), LocalContrast())
    """
    if min(pictures.shape[2:]) < SMALLEST_SIDE:
        return UnitNorm(), "signals and tiny pictures are only scaled"
    if not pictures.any():
        return UnitNorm(), "all pictures are black"
    steps: list[Preprocessor] = []
    reasons: list[str] = []
    has_alpha = find_alpha(pictures) > 0
    ground = find_ground(pictures[learning_indices(len(pictures), N_TELLING)])
    is_plain = has_alpha or ground.is_plain
    has_negative = bool(pictures.min() < 0)
    if has_negative and not is_plain:
        return UnitNorm(), "pictures with negative values and no plain ground are only scaled"
    if has_alpha or (is_plain and (has_negative or not ground.is_black)):
        steps.append(Background())
        if has_alpha:
            reasons.append("the pictures have an alpha channel, which tells their ground")
        elif has_negative:
            reasons.append("the pictures have a plain ground, and negative values")
        else:
            reasons.append("the pictures have a plain ground that is not black")
        pictures = steps[-1].learn(pictures).apply(pictures)
    elif not is_plain and not has_dark_background(pictures):
        return SubjectCentering(), "the pictures have no plain ground"
    if is_plain and stays_inside(pictures):
        placing = _choose_placing(pictures)
        if placing is not None:
            steps.append(placing[0])
            reasons.append(placing[1])
            pictures = steps[-1].learn(pictures).apply(pictures)
    length = correlation_length(pictures)
    steps.append(LocalContrast() if length < THIN else Whitening())
    reasons.append(f"what they show is {100 * length:.0f} % of a side thick")
    return (steps[0] if len(steps) == 1 else Chain(tuple(steps))), "; ".join(reasons)


def _choose_placing(pictures: FloatArray) -> tuple[Preprocessor, str] | None:
    """How pictures on a dark ground should be brought to one place and size, and why; or None."""
    _, sizes = find_sizes(pictures[learning_indices(len(pictures), N_TELLING)])
    sizes = sizes[sizes > 0]
    if len(sizes) and np.log(sizes).std() > UNEQUAL_SIZES:
        return SizeNormalization(), "what they show differs in size"
    offsets = center_offsets(pictures) / np.array(pictures.shape[2:])
    if np.sqrt((offsets**2).sum(axis=1).mean()) > OFF_CENTER:
        return Centering(), "what they show is not in the middle"
    return None


def has_dark_background(pictures: FloatArray) -> bool:
    """Whether the darkest tenth of the median picture is dark beside its brightest pixels."""
    flat = pictures.reshape(len(pictures), -1)
    dark, bright = np.quantile(flat, [DARKEST, BRIGHTEST], axis=1)
    return bool(np.median(dark - DARK * bright) <= 0)


def correlation_length(pictures: FloatArray) -> float:
    """Where the mean autocorrelation of pictures has fallen to a half, as a part of a side.

    The geometric mean of rows and columns.
    """
    shape = pictures.shape[2:]
    padded = [2 * n for n in shape]  # so that nothing wraps around
    correlation = fft.irfft2(power_spectrum(pictures, padded), s=padded)
    along_rows, along_columns = correlation[: shape[0], 0], correlation[0, : shape[1]]
    return float(np.sqrt(_half_width(along_rows) * _half_width(along_columns)))


def _half_width(correlation: FloatArray) -> float:
    """Where a falling curve passes half its first value, as a part of its length."""
    (below,) = np.nonzero(correlation < correlation[0] / 2)
    if not len(below):
        return 1.0
    after = below[0]
    excess = correlation[after - 1] - correlation[0] / 2
    fraction = excess / (correlation[after - 1] - correlation[after])
    return float(after - 1 + fraction) / len(correlation)
