"""Ways to find the best warp of one pair: Adam, as in the paper, and the fast default."""

from __future__ import annotations

from dikmeans.registration.solvers.adam import Adam
from dikmeans.registration.solvers.base import Solver, Stage, Status
from dikmeans.registration.solvers.quasi_newton import QuasiNewton

SOLVERS: dict[str, type[Solver]] = {"quasi-newton": QuasiNewton, "adam": Adam}


def make_solver(solver: str | Solver) -> Solver:
    """A solver by its name, with its default parameters, or a solver as it is.

    Examples
    --------
    >>> make_solver("adam")
    Adam()
    """
    if isinstance(solver, Solver):
        solver._validate_params()
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    raise ValueError(
        f"solver={solver!r} is not known; expected one of {', '.join(map(repr, SOLVERS))} "
        "or a Solver such as dikmeans.registration.Adam(learning_rate=0.01, steps=50)."
    )


__all__ = ["SOLVERS", "Adam", "QuasiNewton", "Solver", "Stage", "Status", "make_solver"]
