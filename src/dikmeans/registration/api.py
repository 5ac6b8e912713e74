"""The measure without the clustering: costs of all pairs, and one pair looked at closely."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from dikmeans._typing import ArrayLike, FloatArray, ImageShape, IntArray
from dikmeans.images import as_pictures
from dikmeans.registration.batches import align_images, cost_matrix
from dikmeans.registration.measure import Measure
from dikmeans.registration.result import Alignment, Alignments, cluster_costs
from dikmeans.registration.specification import MeasureOptions, MeasureSpec


def pairwise_cost(
    X: ArrayLike,
    centroids: ArrayLike,
    *,
    image_shape: ImageShape | None = None,
    n_jobs: int | None = -1,
    **measure: Unpack[MeasureOptions],
) -> FloatArray:
    """Deformation-invariant cost between every image and every centroid.

    Good for nearest neighbors, for clustering by a cost matrix, for retrieval. The cost is not
    symmetric: see `direction`.

    Parameters
    ----------
    X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
    centroids : array of shape (K, ...)
        Pictures of the same shape.
    image_shape : tuple of int, optional
        Shape of the pictures if X is flat.
    n_jobs : int, default=-1
        Threads; -1 for all available cores, see `dikmeans.parallel.cores`.
    **measure
        ``warp``, ``landmarks``, ``smoothness``, ``direction``, ``border``, ``intensity``,
        ``solver``: the measure; see `dikmeans.registration.MeasureSpec`.

    Returns
    -------
    costs : float64 array of shape (N, K)

    Examples
    --------
    A bar, and the same bar moved to the right: far apart, but one is a warp of the other.

    >>> import numpy as np
    >>> from dikmeans import pairwise_cost
    >>> bar, moved = np.zeros((2, 16, 16))
    >>> bar[3:13, 5:8] = moved[3:13, 8:11] = 1
    >>> euclidean = ((bar - moved) ** 2).sum()
    >>> bool(pairwise_cost([bar], [moved])[0, 0] < 0.01 * euclidean)
    True
    """
    images, pictures, shape = _same_shape(X, centroids, image_shape)
    built = MeasureSpec(**measure).build(shape)
    bank = built.bank(pictures.astype(built.dtype))
    return cost_matrix(built, images.astype(built.dtype), bank, n_jobs=n_jobs)


def align(x: ArrayLike, centroid: ArrayLike, **measure: Unpack[MeasureOptions]) -> Alignment:
    """Warp one picture onto another.

    Parameters
    ----------
    x, centroid : arrays of shape (rows, columns) or (rows, columns, channels)
    **measure
        ``warp``, ``landmarks``, ``smoothness``, ``direction``, ``border``, ``intensity``,
        ``solver``: the measure; see `dikmeans.registration.MeasureSpec`. With direction
        "image-to-centroid" `x` is warped, with "centroid-to-image" `centroid` is.

    Returns
    -------
    alignment : Alignment
        Cost, parameters, warped picture, residual, deformed grid, and how the search ended.

    Examples
    --------
    >>> import numpy as np
    >>> from dikmeans import align
    >>> bar, moved = np.zeros((2, 16, 16))
    >>> bar[3:13, 5:8] = moved[3:13, 8:11] = 1
    >>> align(bar, moved).warped.shape
    (16, 16)
    """
    images, centroids, shape = _same_shape([np.asarray(x)], [np.asarray(centroid)], None)
    built = MeasureSpec(**measure).build(shape)
    return align_to_nearest(built, images, centroids, shape, n_jobs=1)[0]


def align_to_nearest(
    measure: Measure,
    images: FloatArray,
    prototypes: FloatArray,
    shape: ImageShape,
    *,
    clusters: IntArray | None = None,
    prune: float = np.inf,
    n_jobs: int | None = None,
) -> Alignments:
    """Alignments of pictures (N, C, rows, columns), each with the cheapest of the prototypes.

    `clusters` is the cluster of each prototype, ascending; by default each is its own.
    """
    images, prototypes = images.astype(measure.dtype), prototypes.astype(measure.dtype)
    clusters = np.arange(len(prototypes)) if clusters is None else clusters
    bank = measure.bank(prototypes)
    fits = align_images(measure, images, bank, prune=prune, n_jobs=n_jobs)
    nearest = fits.costs.argmin(axis=1)
    pairs = np.arange(len(images)), nearest
    return Alignments(
        prototypes=nearest,
        cost=fits.costs[pairs],
        costs=cluster_costs(fits.costs, clusters),
        parameters=measure.warp.identity + np.swapaxes(fits.deltas[pairs], 1, 2),
        orientations=fits.orientations[pairs],
        status=fits.status[pairs],
        _images=images,
        _centroids=prototypes,
        _clusters=clusters,
        _measure=measure,
        _shape=shape,
    )


def _same_shape(
    X: ArrayLike, centroids: ArrayLike, image_shape: ImageShape | None
) -> tuple[FloatArray, FloatArray, ImageShape]:
    images, shape = as_pictures(X, image_shape)
    pictures, centroid_shape = as_pictures(centroids, image_shape, "centroids")
    if shape != centroid_shape:
        raise ValueError(
            f"The images have shape {shape}, the centroids {centroid_shape}; both must be of one "
            "size."
        )
    return images, pictures, shape
