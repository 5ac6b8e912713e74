"""Wording that messages and descriptions share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_ITEMS = 5


def format_shape(shape: Iterable[int]) -> str:
    """A shape as text.

    Examples
    --------
    >>> format_shape((28, 28, 3))
    '28x28x3'
    """
    return "x".join(str(length) for length in shape)


def first_few(items: Sequence[str], separator: str = ", ") -> str:
    """The first five items, and how many more there are.

    Examples
    --------
    >>> first_few("abcdefg")
    'a, b, c, d, e, and 2 more'
    """
    shown = separator.join(items[:_MOST_ITEMS])
    n_more = len(items) - _MOST_ITEMS
    return f"{shown}{separator}and {n_more} more" if n_more > 0 else shown
