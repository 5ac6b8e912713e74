"""Interpretable, deformation-invariant clustering of images.

`DIKMeans` is the estimator; `dikmeans.align` has the measure alone; `dikmeans.warp` the deformations.
"""

from importlib.metadata import version as _version

from dikmeans.align import pairwise_cost
from dikmeans.cluster import DIKMeans

__version__ = _version("dikmeans")
__all__ = ["DIKMeans", "__version__", "pairwise_cost"]
