"""What is done to a picture before it is compared, so that what counts is what it shows.

A `Preprocessor` is a scikit-learn transformer of pictures: it learns from some of them and is then
applied to each on its own. ``DIKMeans(preprocessing="auto")`` composes one from the pictures
(`dikmeans.preprocessing.auto`) and keeps it as ``preprocessing_``; ``str(model.preprocessing_)``
says what it does.
"""

from __future__ import annotations

from dikmeans._typing import FloatArray
from dikmeans.preprocessing.auto import choose_intensity, choose_preprocessing
from dikmeans.preprocessing.background import Background
from dikmeans.preprocessing.band_whitening import BandWhitening
from dikmeans.preprocessing.base import Identity, Preprocessor, UnitNorm
from dikmeans.preprocessing.centering import Centering
from dikmeans.preprocessing.chain import Chain
from dikmeans.preprocessing.local_contrast import LocalContrast
from dikmeans.preprocessing.size_normalization import SizeNormalization
from dikmeans.preprocessing.subject_centering import SubjectCentering
from dikmeans.preprocessing.whitening import Whitening

PREPROCESSORS: dict[str | None, type[Preprocessor]] = {
    kind.name: kind
    for kind in (
        Identity,
        UnitNorm,
        Background,
        Centering,
        SizeNormalization,
        LocalContrast,
        Whitening,
        SubjectCentering,
        BandWhitening,
    )
}
"""By the name that a user gives as ``preprocessing``."""


def resolve_preprocessing(
    preprocessing: str | Preprocessor | None, pictures: FloatArray
) -> tuple[Preprocessor, str | None]:
    """The preprocessing that was asked for, learned from pictures; and why, if it was "auto".

    Parameters
    ----------
    preprocessing : str, Preprocessor or None
        As in `DIKMeans`.
    pictures : array of shape (n, C, rows, columns)
    """
    reason = None
    if isinstance(preprocessing, str) and preprocessing == "auto":
        preprocessing, reason = choose_preprocessing(pictures)
    if not isinstance(preprocessing, Preprocessor):
        preprocessing = PREPROCESSORS[preprocessing]()
    return preprocessing.learn(pictures), reason


__all__ = [
    "PREPROCESSORS",
    "Background",
    "BandWhitening",
    "Centering",
    "Chain",
    "Identity",
    "LocalContrast",
    "Preprocessor",
    "SizeNormalization",
    "SubjectCentering",
    "UnitNorm",
    "Whitening",
    "choose_intensity",
    "choose_preprocessing",
    "resolve_preprocessing",
]
