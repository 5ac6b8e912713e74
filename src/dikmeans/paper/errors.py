"""Errors that a user of the reproduction can correct; each carries its facts as fields."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from dikmeans.errors import DikmeansError

Value = TypeVar("Value")


class UnknownChoiceError(DikmeansError, ValueError):
    """A name that is not among the known ones.

    Attributes
    ----------
    kind : str
        What was looked for, such as "model".
    name : str
    known : tuple of str
    suggestion : str or None
        The known name that is most like it.
    """

    def __init__(self, kind: str, name: str, known: tuple[str, ...]):
        self.kind, self.name, self.known = kind, name, known
        # A known name that contains it says more than one that is spelled alike.
        containing = sorted((other for other in known if name and name.lower() in other), key=len)
        close = containing or difflib.get_close_matches(name.lower(), known, n=1)
        self.suggestion = close[0] if close else None
        question = f" Did you mean {self.suggestion!r}?" if close else ""
        super().__init__(f"There is no {kind} {name!r}.{question} Known are {', '.join(known)}.")


class ReproductionFileError(DikmeansError, ValueError):
    """A file of runs or figures that cannot be used; it is left unchanged.

    Attributes
    ----------
    path : Path
    reason : str
        What is wrong, and what to do; continues a sentence that begins with the path.
    """

    def __init__(self, path: Path, reason: str):
        self.path, self.reason = path, reason
        super().__init__(f"{path} {reason}")


def look_up(kind: str, name: str, known: Mapping[str, Value]) -> Value:
    """Return the value of that name, or raise `UnknownChoiceError`.

    Examples
    --------
    >>> look_up("model", "k-means", {"k-means": 1, "other": 2})
    1
    >>> try:
    ...     look_up("model", "k-mean", {"k-means": 1, "other": 2})
    ... except UnknownChoiceError as error:
    ...     print(error)
    There is no model 'k-mean'. Did you mean 'k-means'? Known are k-means, other.
    """
    if name not in known:
        raise UnknownChoiceError(kind, name, tuple(known))
    return known[name]
