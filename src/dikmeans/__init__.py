"""Interpretable, deformation-invariant clustering of images.

`DIKMeans` is the estimator; `pairwise_cost` and `align` are the measure without the clustering.

Names are imported when they are first used: compilers and scikit-learn take seconds to load, and
the command line's ``--help`` needs neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dikmeans import datasets, edits, evaluation, plot, preprocessing, registration
    from dikmeans.estimator import DIKMeans
    from dikmeans.kmeans.schedule import Search
    from dikmeans.refinement import Corrections, refine
    from dikmeans.registration import align, pairwise_cost

    __version__: str

__all__ = [
    "Corrections",
    "DIKMeans",
    "Search",
    "__version__",
    "align",
    "datasets",
    "edits",
    "evaluation",
    "pairwise_cost",
    "plot",
    "preprocessing",
    "refine",
    "registration",
]

_ORIGIN = {
    "Corrections": "dikmeans.refinement",
    "DIKMeans": "dikmeans.estimator",
    "Search": "dikmeans.kmeans.schedule",
    "align": "dikmeans.registration",
    "pairwise_cost": "dikmeans.registration",
    "refine": "dikmeans.refinement",
}
_PACKAGES = {"datasets", "edits", "evaluation", "plot", "preprocessing", "registration"}


def __getattr__(name: str) -> object:
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("dikmeans")
    elif name in _ORIGIN:
        value = getattr(import_module(_ORIGIN[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"dikmeans.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
