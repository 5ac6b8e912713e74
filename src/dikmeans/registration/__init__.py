"""One image and one centroid: warps, the deformation-invariant measure, its solvers, the result.

Conventions (axes, frame, who is warped onto whom) are written in `dikmeans.registration.grid`.
"""

from dikmeans.registration.api import align, pairwise_cost
from dikmeans.registration.measure import Measure
from dikmeans.registration.result import Alignment, Alignments
from dikmeans.registration.solvers import Adam, QuasiNewton, Status
from dikmeans.registration.specification import MeasureSpec
from dikmeans.registration.warps import Affine, NoWarp, ThinPlate, Warp, make_warp

__all__ = [
    "Adam",
    "Affine",
    "Alignment",
    "Alignments",
    "Measure",
    "MeasureSpec",
    "NoWarp",
    "QuasiNewton",
    "Status",
    "ThinPlate",
    "Warp",
    "align",
    "make_warp",
    "pairwise_cost",
]
