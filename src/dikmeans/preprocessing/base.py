"""What every preprocessor can do, and the two that leave a picture as it is but for its norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.images import scale_to_unit_norm
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


@dataclass(frozen=True, eq=False)
class Preprocessor(ABC):
    """What is done to every picture before it is compared, to each on its own.

    ``learn`` returns one that knows what it needs to know of pictures like those given; ``apply``
    then transforms pictures (n, C, rows, columns). ``str`` of one says in a sentence what it does.

    Attributes
    ----------
    border : {"zero", "edge"}
        What lies outside a picture when it is warped: zeros, or its edge pixels continued.
    name : str or None
        What a user calls it.
    only_scales : bool
        Whether it changes nothing but the norm of a picture.
    unit_norm : bool
        Whether pictures have unit norm afterwards.
    batch_pixels : int
        Pixels that are worked on at once: bounds the memory of intermediate results.
    """

    border: Border = "zero"
    name: ClassVar[str | None]
    only_scales: ClassVar[bool] = False
    unit_norm: ClassVar[bool] = True
    batch_pixels: ClassVar[int] = 10_000

    def learn(self, pictures: FloatArray) -> Self:
        """A preprocessor for pictures like these (n, C, rows, columns)."""
        return self

    def apply(self, pictures: FloatArray) -> FloatArray:
        """The pictures (n, C, rows, columns), preprocessed."""
        result = np.empty_like(pictures)
        step = max(1, self.batch_pixels // pictures[0].size)
        for first in range(0, len(pictures), step):
            part = slice(first, first + step)
            result[part] = self._apply(pictures[part])
        return result

    @abstractmethod
    def _apply(self, pictures: FloatArray) -> FloatArray:
        """`apply` for a few pictures."""

    @property
    def learned(self) -> Learned:
        """Everything that was learned: enough to restore it."""
        return {}

    def restore(self, learned: Learned, shape: tuple[int, ...]) -> Self:
        """The preprocessor, for pictures of `shape` (C, rows, columns), that had `learned` this.

        Raises
        ------
        ValueError
            These are not the values of such a preprocessor.
        """
        check_names(learned, set())
        return self

    @abstractmethod
    def __str__(self) -> str:
        """What it does, in one sentence."""


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
