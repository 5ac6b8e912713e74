"""The record of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Iteration:
    """One line of a run's history."""

    phase: str
    distortion: float
    moved: int
    seconds: float


@dataclass
class History:
    """What happened during a fit.

    Attributes
    ----------
    iterations : list of Iteration
        Phase, distortion, number of images that changed cluster, and seconds of each iteration.
    stopped : str
        Why the fit ended.
    """

    iterations: list[Iteration] = field(default_factory=list)
    stopped: str = ""

    @property
    def distortion(self) -> list[float]:
        """Distortion after each iteration."""
        return [iteration.distortion for iteration in self.iterations]
