"""How the alignments of a shard came about, so that a cluster can make lost ones again.

Every iteration aligns a shard from where the last one left it. If each of these tasks had the one
before among its inputs, a scheduler would have to remember all of them until the end, for every
shard. So now and then a result is *anchored*: it becomes the result of a new task that depends on
the images and on the `History` alone, which all shards share. Where the result is, that task finds
it in the memory of its worker; where it is lost, it repeats the calls of the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dikmeans.kmeans.dataset import Handle

if TYPE_CHECKING:
    from distributed import Future


class Slot(Enum):
    """What takes the place of arguments that differ from shard to shard."""

    SHARD = "shard"
    STATE = "alignments before"


Call: TypeAlias = tuple[Callable[..., Any], tuple[object, ...]]
"""A function and its arguments, as values or slots. It returns a tuple, alignments first."""


@dataclass(frozen=True, eq=False)
class History:
    """The calls that led to the present alignments: the last one, and what was before."""

    call: Call
    before: History | None = None

    def ends_with(self, call: Call) -> bool:
        """Whether the last call is this one, with the very same arguments."""
        (function, arguments), (other, others) = self.call, call
        return (
            function is other
            and len(arguments) == len(others)
            and all(one is another for one, another in zip(arguments, others, strict=True))
        )


@dataclass(eq=False)
class AlignmentTask:
    """All results of a task that aligns a shard.

    Attributes
    ----------
    future : distributed.Future
    shard : handle
    base : Call or None
        What read the alignments that the history begins with; None if it begins with the images.
    history : History or None
        The calls since; None if there was none.
    depth : int
        Tasks before it that the scheduler has to remember for its sake.
    """

    future: Future
    shard: Handle
    base: Call | None
    history: History | None
    depth: int


class Part(NamedTuple):
    """One of the results of a task that returns several."""

    task: AlignmentTask
    number: int


class Shared(NamedTuple):
    """A value that the workers have, and this process too."""

    future: Future
    value: object


def calls_of(history: History | None) -> list[Call]:
    """All calls of a history, the first one first."""
    calls: list[Call] = []
    while history is not None:
        calls.append(history.call)
        history = history.before
    return calls[::-1]


def replay(shard: object, base: Call | None, calls: Sequence[Call]) -> tuple[Any, ...]:
    """The results of the last of these calls on a shard."""
    results: tuple[Any, ...] = ()
    for function, arguments in [*([] if base is None else [base]), *calls]:
        filled = {Slot.SHARD: shard, Slot.STATE: results[0] if results else None}
        results = function(*(filled[a] if isinstance(a, Slot) else a for a in arguments))
    return results


def anchor(shard: object, base: Call | None, calls: Sequence[Call], key: str) -> tuple[Any, ...]:
    """In a worker: results that it has under that key, or the same ones made again."""
    from distributed import get_worker

    data = get_worker().data
    try:
        return data[key]
    except KeyError:
        return replay(shard, base, calls)
