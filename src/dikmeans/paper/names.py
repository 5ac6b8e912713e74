"""Finding things by name, with a helpful word where there is no such thing."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

Thing = TypeVar("Thing")


class UnknownChoiceError(ValueError):
    """A name that is not among the known ones; the message lists them."""


def look_up(kind: str, name: str, known: Mapping[str, Thing]) -> Thing:
    """The thing of that name.

    Parameters
    ----------
    kind : str
        What is looked for, for the message.
    name : str
    known : mapping of str to thing

    Raises
    ------
    UnknownChoiceError
        There is none.

    Examples
    --------
    >>> look_up("model", "k-mean", {"k-means": 1, "other": 2})
    Traceback (most recent call last):
    ...
    dikmeans.paper.names.UnknownChoiceError: There is no model 'k-mean'. Did you mean 'k-means'? ...
    """
    if name in known:
        return known[name]
    # Part of a name says more than likeness does.
    containing = sorted((other for other in known if name and name.lower() in other), key=len)
    close = containing or difflib.get_close_matches(name.lower(), known, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownChoiceError(f"There is no {kind} {name!r}.{suggestion} Known are {', '.join(known)}.")
