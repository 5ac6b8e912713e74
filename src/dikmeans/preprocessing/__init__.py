"""What is done to a picture before it is compared, so that what counts is what it shows.

A `Normaliser` is learned from some of the pictures of a fit and then applied to each picture on its own.
Which one suits is read off the pictures too: see `dikmeans.preprocessing.auto`.
"""

from dikmeans.preprocessing.base import AsItIs, Normaliser, UnitNorm
from dikmeans.preprocessing.auto import choose_normaliser
from dikmeans.preprocessing.whitening import EvenScales
from dikmeans.preprocessing.local_contrast import EvenStrokes
from dikmeans.preprocessing.subject_centering import Subject

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
