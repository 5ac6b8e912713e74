"""The curriculum: rigid before soft, so that centroids take shape before they may bend.

A warp that is free from the start happily deforms everything into whatever the first centroids are. Plain
K-means settles the layout, affine maps remove pose and slant, a stiff spline the coarse deformation, and only
then does the spline get its full freedom.
"""

from __future__ import annotations

from typing import NamedTuple


class Phase(NamedTuple):
    """One lesson.

    Attributes
    ----------
    warp : str
        Family of warps.
    stiffness : float
        Factor on the smoothness.
    max_iter : int
        Lloyd iterations at most.
    """

    warp: str
    stiffness: float
    max_iter: int

    @property
    def name(self) -> str:
        """For the history."""
        return self.warp if self.stiffness == 1 else f"{self.warp}, {self.stiffness:g} x as stiff"


LESSONS = (
    Phase("none", 1.0, 10),
    Phase("affine", 1.0, 10),
    Phase("tps", 10.0, 5),
)
# Lessons need not converge: they end when the distortion falls by less than this share.
LESSON_TOL = 1e-3


def lessons_before(warp: str, smoothness: float = 1.0) -> tuple[Phase, ...]:
    """The phases that prepare a fit with `warp`; without a penalty there is nothing to be stiff.

    Examples
    --------
    >>> [phase.name for phase in lessons_before("tps")]
    ['none', 'affine', 'tps, 10 x as stiff']
    >>> lessons_before("none")
    ()
    """
    families = ("none", "affine", "tps")
    rank = families.index(warp)
    return tuple(
        phase
        for phase in LESSONS
        if families.index(phase.warp) < rank
        or (phase.warp == warp and phase.stiffness > 1 and smoothness > 0)
    )
