"""One image and one centroid: the deformation-invariant measure, its solvers, and the alignment."""

from dikmeans.registration.api import align, pairwise_cost
from dikmeans.registration.measure import make_measure
from dikmeans.registration.result import Alignment, Alignments
from dikmeans.registration.solvers import Adam, QuasiNewton, Solver, Status

__all__ = [
    "Adam",
    "Alignment",
    "Alignments",
    "QuasiNewton",
    "Solver",
    "Status",
    "align",
    "make_measure",
    "pairwise_cost",
]
