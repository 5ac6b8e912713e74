"""One image and one centroid: the deformation-invariant measure, its solvers, and the alignment."""

from dikmeans.align.api import align, pairwise_cost
from dikmeans.align.measure import make_aligner
from dikmeans.align.result import Alignment, Alignments
from dikmeans.align.solvers import Adam, QuasiNewton, Solver, Status

__all__ = [
    "Adam",
    "Alignment",
    "Alignments",
    "QuasiNewton",
    "Solver",
    "Status",
    "align",
    "make_aligner",
    "pairwise_cost",
]
