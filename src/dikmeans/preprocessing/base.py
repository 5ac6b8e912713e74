"""What every normaliser can do; and the two that leave a picture what it was, but for its brightness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar, Self

import numpy as np

from dikmeans.images import scale_to_unit_norm

# So many pictures, taken at even distances, tell how all are normalised.
ENOUGH_TO_TELL = 1000
# What is left of a picture's norm, at most, where there was nothing but rounding errors.
NOTHING = 1e-5


def representatives(n: int, most: int | None = None) -> np.ndarray:
    """Numbers of the pictures, among `n`, that decide how all are normalised: `most` of them at most."""
    return np.unique(np.linspace(0, n - 1, min(n, most or ENOUGH_TO_TELL)).astype(int))


class Normaliser(ABC):
    """What is done to pictures (n, C, rows, columns), to each on its own: ``normaliser(pictures)``.

    Attributes
    ----------
    name : str or None
        What a user calls it.
    only_scales : bool
        Whether it leaves a picture what it was, but for its brightness.
    at_once : int
        Pixels that are worked on at once, so that what is needed in between fits beside the pictures.
    """

    name: ClassVar[str | None]
    only_scales: ClassVar[bool] = False
    at_once: ClassVar[int] = 10_000

    @classmethod
    def learn(cls, pictures: np.ndarray) -> Self:
        """One for pictures like these; most have nothing to learn."""
        return cls()

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """The pictures, normalised; a few at a time."""
        normalised = np.empty_like(pictures)
        step = max(1, self.at_once // pictures[0].size)
        for first in range(0, len(pictures), step):
            part = slice(first, first + step)
            normalised[part] = self._normalise(pictures[part])
        return normalised

    @abstractmethod
    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        """The same for a few pictures."""

    @property
    def learned(self) -> dict[str, Any]:
        """What was learned, as numbers and arrays by name: all it takes to make it again."""
        return {}

    @classmethod
    def restore(cls, learned: dict[str, Any], shape: tuple[int, ...]) -> Self:
        """The normaliser of pictures of `shape` (C, rows, columns) that had `learned` this.

        Raises
        ------
        ValueError
            These are not the values of such a normaliser.
        """
        refuse_unless(set(), learned)
        return cls()


class AsItIs(Normaliser):
    """Nothing is done."""

    name = None
    only_scales = True

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """The pictures themselves."""
        return pictures

    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        return pictures


class UnitNorm(Normaliser):
    """A picture is scaled to unit norm: brightness no longer matters."""

    name = "unit"
    only_scales = True

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """The pictures, scaled: all at once, it takes nothing in between."""
        return self._normalise(pictures)

    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        return scale_to_unit_norm(pictures)


def scale_what_is_left(filtered: np.ndarray, pictures: np.ndarray) -> np.ndarray:
    """Filtered pictures at unit norm; all zero where the filter left of a picture rounding errors only."""
    left, norms = (np.sqrt(np.einsum("ncij,ncij->n", p, p, dtype=np.float64)) for p in (filtered, pictures))
    return scale_to_unit_norm(np.where((left > NOTHING * norms)[:, None, None, None], filtered, 0))


def refuse_unless(expected: set[str], learned: dict[str, Any], optional: Collection[str] = ()) -> None:
    """Raise ValueError unless what a normaliser has learned has the expected names."""
    odd = (set(learned) ^ expected) - set(optional)
    if odd:
        raise ValueError(f"unknown or missing values of the normaliser: {', '.join(sorted(odd))}")
