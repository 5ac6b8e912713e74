"""What is done to a picture before it is compared, so that what counts is what it shows.

A `Normaliser` is learned from some of the pictures of a fit and then applied to each picture on its own.
Which one suits is read off the pictures too: see `dikmeans.cluster.normalise.choice`.
"""

from dikmeans.cluster.normalise.base import AsItIs, Normaliser, UnitNorm
from dikmeans.cluster.normalise.choice import choose_normaliser
from dikmeans.cluster.normalise.scales import EvenScales
from dikmeans.cluster.normalise.strokes import EvenStrokes
from dikmeans.cluster.normalise.subject import Subject

NORMALISERS: dict[str | None, type[Normaliser]] = {
    kind.name: kind for kind in (AsItIs, UnitNorm, EvenStrokes, EvenScales, Subject)
}
"""By the name that a user gives as ``normalize``."""

__all__ = [
    "NORMALISERS",
    "AsItIs",
    "EvenScales",
    "EvenStrokes",
    "Normaliser",
    "Subject",
    "UnitNorm",
    "choose_normaliser",
]
