"""What values a parameter may have, as data, and one check of an estimator against it.

scikit-learn has the same idea in a private module; this is the small part of it that is needed
here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from dikmeans.errors import DikmeansError


class InvalidParameterError(DikmeansError, ValueError, TypeError):
    """A parameter has a value that it cannot have.

    Attributes
    ----------
    parameter : str
        Its name.
    value : object
    expected : str
        What it may be, in words.
    """

    def __init__(self, parameter: str, value: object, expected: str):
        self.parameter, self.value, self.expected = parameter, value, expected
        super().__init__(f"{parameter}={value!r}: expected {expected}.")


class Choice(NamedTuple):
    """What "auto" decided for a parameter, and why."""

    value: object
    reason: str


class Constraint(Protocol):
    """Something that a value is or is not."""

    def accepts(self, value: object) -> bool:
        """Whether a parameter may have this value."""

    def __str__(self) -> str:
        """What it may be, in words."""


@dataclass(frozen=True)
class Whole:
    """An integer, at least `low`; with `nonzero` any but 0."""

    low: int | None = None
    nonzero: bool = False

    def accepts(self, value: object) -> bool:
        """Whether it is such a number; True and False are none."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
            return False
        if self.nonzero and value == 0:
            return False
        return self.low is None or int(value) >= self.low

    def __str__(self) -> str:
        if self.nonzero:
            return "an integer other than 0"
        return "an integer" if self.low is None else f"an integer >= {self.low}"


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`; `low` itself only if `with_low`."""

    low: float
    high: float = np.inf
    with_low: bool = True

    def accepts(self, value: object) -> bool:
        """Whether it is such a number; True and False are none."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            return False
        number = float(value)
        above = number >= self.low if self.with_low else number > self.low
        return above and number <= self.high and bool(np.isfinite(number))

    def __str__(self) -> str:
        lower = f"from {self.low:g}" if self.with_low else f"above {self.low:g}"
        return f"a number {lower}" + ("" if np.isinf(self.high) else f" to {self.high:g}")


@dataclass(frozen=True)
class OneOf:
    """One of some values; of strings any kind, of others the same type."""

    options: tuple[object, ...]

    def accepts(self, value: object) -> bool:
        """Whether it is one of them."""
        if isinstance(value, str):
            return any(isinstance(option, str) and value == option for option in self.options)
        return any(type(value) is type(option) and value == option for option in self.options)

    def __str__(self) -> str:
        return ", ".join(map(repr, self.options))


@dataclass(frozen=True)
class Instance:
    """An object of a type, named in words."""

    kind: type | tuple[type, ...]
    words: str

    def accepts(self, value: object) -> bool:
        """Whether it is of the type."""
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        return self.words


FLAG = Instance((bool, np.bool_), "True or False")
ARRAY_LIKE = Instance((np.ndarray, list, tuple), "an array")


def check_parameters(
    estimator: BaseEstimator, constraints: Mapping[str, Sequence[Constraint]]
) -> None:
    """Raise `InvalidParameterError` for the first parameter that violates its constraints.

    Parameters
    ----------
    estimator : BaseEstimator
    constraints : mapping
        For each parameter, the constraints of which one must accept its value.
    """
    for name, allowed in constraints.items():
        value = getattr(estimator, name)
        if not any(constraint.accepts(value) for constraint in allowed):
            raise InvalidParameterError(name, value, " or ".join(map(str, allowed)))
