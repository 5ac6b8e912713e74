"""What every preprocessor can do, and the two that leave a picture as it is but for its norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from dikmeans._typing import ArrayLike, FloatArray, ImageShape, IntArray
from dikmeans.frames import Crops
from dikmeans.images import as_pictures, from_channels_first, scale_to_unit_norm
from dikmeans.registration.warps import Border

Learned: TypeAlias = dict[str, float | FloatArray]
"""What a preprocessor has learned: numbers and arrays by name."""

# So many pictures, at even distances, are enough to learn from.
MAX_LEARNING_PICTURES = 1000
# A filter that leaves less than this share of a picture's norm has left rounding errors only.
NEGLIGIBLE = 1e-5


def learning_indices(n: int, most: int = MAX_LEARNING_PICTURES) -> IntArray:
    """Numbers of the pictures, among `n`, to learn from: at most `most`, at even distances."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


class Preprocessor(TransformerMixin, BaseEstimator, ABC):
    """What is done to every picture before it is compared, to each on its own.

    A scikit-learn transformer of pictures (N, rows, columns[, channels]): ``fit`` learns what it
    needs to know, ``transform`` applies it. ``str`` of a fitted one says in a sentence what it
    does.

    Parameters
    ----------
    border : {"zero", "edge"}, default="zero"
        What lies outside a picture when it is warped: zeros, or its edge pixels continued.

    Attributes
    ----------
    name : str or None
        What a user calls it.
    only_scales : bool
        Whether it changes nothing but the norm of a picture.
    unit_norm : bool
        Whether pictures have unit norm afterwards.
    moves : bool
        Whether it moves or scales pictures within their frame; `crops` says how.
    batch_pixels : int
        Pixels that are worked on at once: bounds the memory of intermediate results.
    """

    name: ClassVar[str | None]
    only_scales: ClassVar[bool] = False
    unit_norm: bool = True
    moves: bool = False
    batch_pixels: ClassVar[int] = 10_000

    def __init__(self, border: Border = "zero"):
        self.border: Border = border

    # -- scikit-learn --------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from pictures (N, rows, columns[, channels])."""
        pictures, self.image_shape_ = as_pictures(X)
        self._learn(pictures[learning_indices(len(pictures))])
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """The pictures (N, rows, columns[, channels]), preprocessed."""
        check_is_fitted(self)
        pictures, shape = as_pictures(X, self.image_shape_)
        return from_channels_first(self.apply(pictures), self.output_shape(shape))

    # -- for the estimator: pictures with their channels first ----------------------------------

    def learn(self, pictures: FloatArray) -> Self:
        """A fitted copy for pictures like these (n, C, rows, columns)."""
        fresh: Self = clone(self)
        channels, *sides = pictures.shape[1:]
        fresh.image_shape_ = (*sides, channels) if channels > 1 else tuple(sides)
        fresh._learn(pictures)
        return fresh

    def _learn(self, pictures: FloatArray) -> None:
        """Learn from pictures (n, C, rows, columns); most have nothing to learn."""

    def apply(self, pictures: FloatArray) -> FloatArray:
        """The pictures (n, C, rows, columns), preprocessed, a batch at a time."""
        step = max(1, self.batch_pixels // pictures[0].size)
        first = self._apply(pictures[:step])
        if len(pictures) <= step:
            return first
        result = np.empty((len(pictures), *first.shape[1:]), first.dtype)
        result[:step] = first
        for start in range(step, len(pictures), step):
            part = slice(start, start + step)
            result[part] = self._apply(pictures[part])
        return result

    @abstractmethod
    def _apply(self, pictures: FloatArray) -> FloatArray:
        """`apply` for one batch of pictures."""

    def crops(self, pictures: FloatArray) -> Crops:
        """The part of each given picture (n, C, rows, columns) that the preprocessed one shows."""
        if not self.moves:
            return Crops.unchanged(len(pictures))
        step = max(1, self.batch_pixels // pictures[0].size)
        starts = range(0, len(pictures), step)
        parts = zip(*(self._crops(pictures[i : i + step]) for i in starts), strict=True)
        return Crops(*map(np.concatenate, parts))

    def _crops(self, pictures: FloatArray) -> Crops:
        """`crops` for one batch of pictures, if it `moves` them."""
        raise NotImplementedError

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Shape (rows, columns[, channels]) of preprocessed pictures of `shape`."""
        return shape

    # -- files ---------------------------------------------------------------------------------

    @property
    def learned(self) -> Learned:
        """Everything that was learned: enough to restore it."""
        return {}

    def restore(self, learned: Learned, shape: ImageShape) -> Self:
        """A fitted copy, for pictures of `shape` (rows, columns[, channels]), that `learned` this.

        Raises
        ------
        ValueError
            These are not the values of such a preprocessor.
        """
        fresh: Self = clone(self)
        fresh.image_shape_ = shape
        fresh._restore(learned)
        return fresh

    def _restore(self, learned: Learned) -> None:
        check_names(learned, set())

    @abstractmethod
    def __str__(self) -> str:
        """What it does, in one sentence."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class Identity(Preprocessor):
    """Pictures are compared as they are."""

    name = None
    only_scales = True
    unit_norm = False

    def apply(self, pictures: FloatArray) -> FloatArray:
        """The pictures themselves."""
        return pictures

    def _apply(self, pictures: FloatArray) -> FloatArray:
        return pictures

    def __str__(self) -> str:
        return "Pictures are compared as they are; brightness counts."


class UnitNorm(Preprocessor):
    """Every picture is scaled to unit norm, so that brightness does not count."""

    name = "unit-norm"
    only_scales = True

    def apply(self, pictures: FloatArray) -> FloatArray:
        """The pictures, scaled; all at once, as nothing is needed in between."""
        return scale_to_unit_norm(pictures)

    def _apply(self, pictures: FloatArray) -> FloatArray:
        return scale_to_unit_norm(pictures)

    def __str__(self) -> str:
        return "Every picture is scaled to unit norm, so that brightness does not count."


def unit_norm_unless_negligible(filtered: FloatArray, pictures: FloatArray) -> FloatArray:
    """Filtered pictures at unit norm; zero where the filter left rounding errors only."""
    left, norms = (
        np.sqrt(np.einsum("ncij,ncij->n", p, p, dtype=np.float64)) for p in (filtered, pictures)
    )
    is_left = (left > NEGLIGIBLE * norms)[:, None, None, None]
    return scale_to_unit_norm(np.where(is_left, filtered, 0))


def check_names(learned: Learned, expected: set[str], optional: Collection[str] = ()) -> None:
    """Raise ValueError unless learned values have the expected names."""
    odd = (set(learned) ^ expected) - set(optional)
    if odd:
        raise ValueError(f"unknown or missing values: {', '.join(sorted(odd))}")
