"""What a solver is: a plan of stages, and a compiled descent that carries each stage out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from dikmeans.registration.objective import Pairs, Problem


class Status(IntEnum):
    """How the search for one alignment ended."""

    CONVERGED = 0
    """The cost no longer falls by more than the tolerance."""
    BUDGET = 1
    """All evaluations were used while the cost was still falling."""
    STALLED = 2
    """No step downhill was found: a kink or a flat place of the cost."""
    PRUNED = 3
    """Not refined: after the low-pass stage another centroid was far better."""


class Stage(NamedTuple):
    """One leg of the way: on which pyramid level, with which warp, for how long.

    Attributes
    ----------
    level : int
        Pyramid level, 0 is the picture itself.
    affine : bool
        Affine maps only; otherwise the whole warp family.
    evaluations : int
        Evaluations of the objective allowed for a pair.
    """

    level: int
    affine: bool
    evaluations: int


class Solver(BaseEstimator, ABC):
    """A way to minimise the alignment cost of many independent pairs.

    A solver looks at one pair at a time: what it finds for a pair does not depend on the others, on
    their order or on the number of threads. It returns the best parameters it has seen.
    """

    @abstractmethod
    def cold_stages(self, n_levels: int) -> tuple[Stage, ...]:
        """The plan from the identity; stages on low-pass levels come first."""

    @abstractmethod
    def warm_stages(self) -> tuple[Stage, ...]:
        """The plan from parameters that fitted a slightly different centroid."""

    def curvature(self, problem: Problem, centroids: np.ndarray) -> np.ndarray:
        """Per centroid, what the solver wants to know of the objective's curvature beforehand.

        Parameters
        ----------
        problem : Problem
        centroids : array of shape (K, C, rows, columns)
        """
        return np.empty((len(centroids), 0, 0), np.float32)

    @abstractmethod
    def minimise(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: np.ndarray,
        evaluations: int,
        deltas: np.ndarray,
        costs: np.ndarray,
        status: np.ndarray,
    ) -> None:
        """Improve `deltas` (n_pairs, 2, n_basis) in place; write `costs` and `status`."""
