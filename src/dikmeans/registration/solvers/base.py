"""What a solver is: a list of stages, and a compiled descent that carries each stage out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from dikmeans._typing import FloatArray, IntArray
from dikmeans.parameters import Constraint, Instance, check_parameters
from dikmeans.registration.objective import Pairs, Problem
from dikmeans.registration.pyramid import LOW_PASS

DEVICE: Sequence[Constraint] = (Instance((str, type(None)), "None or a device such as 'cuda'"),)


class Status(IntEnum):
    """How the search for one alignment ended."""

    CONVERGED = 0
    """The cost no longer falls by more than the tolerance."""
    BUDGET = 1
    """All evaluations were used while the cost was still falling."""
    STALLED = 2
    """No step downhill was found: a kink or a flat place of the cost."""
    PRUNED = 3
    """Not refined: another centroid was far better before."""
    UNKNOWN = 4
    """The warp was given, not searched."""


class Stage(NamedTuple):
    """One part of a descent: on which pyramid level, with which warp, for how long.

    Attributes
    ----------
    level : int
        Pyramid level, 0 is the picture itself.
    affine : bool
        Affine maps only; otherwise the whole warp family.
    evaluations : int
        Evaluations of the objective allowed for a pair.
    prune : float or None
        Where hopeless pairs are left out at all: a pair takes part in this stage if it costs at
        most so many times the best of its image. None leaves the factor to the caller.
    """

    level: int
    affine: bool
    evaluations: int
    prune: float | None = None


class Solver(BaseEstimator, ABC):
    """A way to minimize the alignment cost of many independent pairs.

    A solver looks at one pair at a time: the result of a pair does not depend on the others, on
    their order or on the number of threads. It returns the best parameters it has seen.

    The built-in solvers are all there are: each has a compiled and a PyTorch version, and model
    files know them by name.
    """

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {}
    tries_poses: ClassVar[bool] = False
    """Whether a cold descent also starts from the best of a lattice of poses."""
    warm_starts: bool = True
    """Whether an iteration of Lloyd's algorithm starts from the warps of the one before."""
    low_pass: float = LOW_PASS
    """Standard deviation, in pixels of the finer one, of the filter between pyramid levels."""
    device: str | None

    def check(self) -> None:
        """Raise `InvalidParameterError` for a parameter that cannot be used."""
        check_parameters(self, self.constraints)

    @abstractmethod
    def cold_stages(self, n_levels: int) -> tuple[Stage, ...]:
        """Stages from the identity; those on low-pass levels come first."""

    @abstractmethod
    def warm_stages(self) -> tuple[Stage, ...]:
        """Stages from parameters that fitted a slightly different centroid."""

    def curvature(self, problem: Problem, centroids: FloatArray) -> FloatArray:
        """Curvature of the objective at each centroid, as far as the solver uses it.

        Parameters
        ----------
        problem : Problem
        centroids : array of shape (K, C, rows, columns)
        """
        return np.empty((len(centroids), 0, 0), np.float32)

    @abstractmethod
    def minimize(
        self,
        problem: Problem,
        pairs: Pairs,
        curvature: FloatArray,
        stage: Stage,
        deltas: FloatArray,
        costs: FloatArray,
        status: IntArray,
        race: float = np.inf,
    ) -> None:
        """Carry a stage out: improve `deltas` (n_pairs, 2, n_basis), write `costs` and `status`.

        A solver that can tell may give up a pair that promises no cost below `race` times the
        lowest of the pairs of its image that come before it.
        """
