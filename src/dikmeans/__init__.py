"""Interpretable, deformation-invariant clustering of images.

`DIKMeans` is the estimator; `dikmeans.registration` has the measure alone; `dikmeans.registration` the deformations.

Names are imported when they are first used: compilers and scikit-learn take seconds to load, and the command
line's ``--help`` needs neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dikmeans.registration import pairwise_cost
    from dikmeans.kmeans import DIKMeans

    __version__: str

__all__ = ["DIKMeans", "__version__", "pairwise_cost"]

_HOMES = {"DIKMeans": "dikmeans.kmeans", "pairwise_cost": "dikmeans.registration"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("dikmeans")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # asked once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
