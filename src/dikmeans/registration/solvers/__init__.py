"""Ways to find the best warp of one pair: Adam, as in the paper, and the fast default."""

from __future__ import annotations

from dikmeans.parameters import InvalidParameterError
from dikmeans.registration.solvers.adam import Adam
from dikmeans.registration.solvers.base import Solver, Stage, Status
from dikmeans.registration.solvers.quasi_newton import QuasiNewton

SOLVERS: dict[str, type[Solver]] = {"quasi-newton": QuasiNewton, "adam": Adam}


def resolve_solver(solver: str | Solver) -> Solver:
    """A solver by its name, with default parameters, or a checked solver as it is.

    Examples
    --------
    >>> resolve_solver("adam")
    Adam()
    """
    if isinstance(solver, Solver):
        solver.check()
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    names = ", ".join(map(repr, SOLVERS))
    raise InvalidParameterError("solver", solver, f"{names}, or QuasiNewton(...) or Adam(...)")


__all__ = ["SOLVERS", "Adam", "QuasiNewton", "Solver", "Stage", "Status", "resolve_solver"]
