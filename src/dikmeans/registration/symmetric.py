r"""The symmetric measure: the same from image to centroid as from centroid to image.

The residual of a warp :math:`\varphi` is summed over the pixels of the picture that is warped
onto. A warp that shrinks what does not fit hides it there, but not the other way around. Where
every pixel counts with the square root of what the warp does to its area,

.. math:: \int |x(\varphi(p)) - y(p)|^2\, |\det D\varphi(p)|^{1/2}\, dp
    = \int |x(q) - y(\varphi^{-1}(q))|^2\, |\det D\varphi^{-1}(q)|^{1/2}\, dq,

as one sees by substituting :math:`q = \varphi(p)`: both directions agree. The inverse of a spline
is no spline, so of each pair both directions are searched, and the warp with the lower of the two
costs counts. With it the matrix of costs of pictures among themselves is symmetric.
"""

from __future__ import annotations

import numpy as np

from dikmeans._typing import FloatArray, ImageShape
from dikmeans.registration.measure import Measure
from dikmeans.registration.result import align_to_nearest


def symmetric_costs(
    measure: Measure,
    images: FloatArray,
    centroids: FloatArray,
    shape: ImageShape,
    n_jobs: int | None,
) -> FloatArray:
    """Symmetric costs (N, K) of pictures (N, C, rows, columns) and (K, C, rows, columns)."""
    there = _weighted_costs(measure, images, centroids, shape, n_jobs)
    back = _weighted_costs(measure, centroids, images, shape, n_jobs)
    return np.minimum(there, back.T)


def _weighted_costs(
    measure: Measure,
    images: FloatArray,
    centroids: FloatArray,
    shape: ImageShape,
    n_jobs: int | None,
) -> FloatArray:
    """Costs (N, K) of the best warps, with residuals weighted by the root of the area."""
    costs = np.empty((len(images), len(centroids)))
    for k in range(len(centroids)):  # one at a time: warped pictures of all pairs would not fit
        one = centroids[k : k + 1]
        alignments = align_to_nearest(measure, images, one, shape, n_jobs=n_jobs)
        squares = np.square(alignments.residual, dtype=np.float64).reshape(
            len(images), *shape[:2], -1
        )
        areas = np.abs(measure.warp.jacobian_determinant(alignments.parameters))
        residuals = np.einsum("nijc,nij->n", squares, np.sqrt(areas))
        costs[:, k] = residuals + alignments.bending_cost
    return costs
