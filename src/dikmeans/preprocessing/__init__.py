"""What is done to a picture before it is compared, so that what counts is what it shows.

A `Preprocessor` learns from some of the pictures of a fit and is then applied to each picture on
its own. ``DIKMeans(preprocessing="auto")`` chooses one from the pictures
(`dikmeans.preprocessing.auto`) and keeps it as ``preprocessing_``.
"""

from dikmeans.preprocessing.auto import choose_preprocessing
from dikmeans.preprocessing.base import Identity, Preprocessor, UnitNorm
from dikmeans.preprocessing.local_contrast import LocalContrast
from dikmeans.preprocessing.subject_centering import SubjectCentering
from dikmeans.preprocessing.whitening import Whitening

PREPROCESSORS: dict[str | None, type[Preprocessor]] = {
    kind.name: kind for kind in (Identity, UnitNorm, LocalContrast, Whitening, SubjectCentering)
}
"""By the name that a user gives as ``preprocessing``."""

__all__ = [
    "PREPROCESSORS",
    "Identity",
    "LocalContrast",
    "Preprocessor",
    "SubjectCentering",
    "UnitNorm",
    "Whitening",
    "choose_preprocessing",
]
