"""The record of a run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class IterationRecord:
    """One iteration of Lloyd's algorithm.

    Attributes
    ----------
    phase : str
        Name of the phase it belongs to.
    inertia : float
        After the iteration, under the measure of its phase.
    n_images : int
        Images the phase works on: a sample, or all.
    moved : int
        Images that changed their cluster.
    seconds : float
    """

    phase: str
    inertia: float
    n_images: int
    moved: int
    seconds: float


@dataclass
class History:
    """What happened during a run.

    Attributes
    ----------
    iterations : list of IterationRecord
    stopped : str
        Why the run ended.
    """

    iterations: list[IterationRecord] = field(default_factory=list)
    stopped: str = ""

    @property
    def inertia(self) -> list[float]:
        """Inertia after each iteration."""
        return [iteration.inertia for iteration in self.iterations]
