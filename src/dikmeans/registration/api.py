"""The measure without the clustering: costs of all pairs, and one pair looked at closely."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from dikmeans._typing import ArrayLike, FloatArray, ImageShape
from dikmeans.images import as_pictures
from dikmeans.parameters import InvalidParameterError
from dikmeans.registration.batches import cost_matrix
from dikmeans.registration.result import Alignment, align_to_nearest
from dikmeans.registration.specification import MeasureOptions, MeasureSpec
from dikmeans.registration.symmetric import symmetric_costs


def pairwise_cost(
    X: ArrayLike,
    centroids: ArrayLike,
    *,
    image_shape: ImageShape | None = None,
    symmetric: bool = False,
    n_jobs: int | None = -1,
    **measure: Unpack[MeasureOptions],
) -> FloatArray:
    """Deformation-invariant cost between every image and every centroid.

    Good for nearest neighbors, for clustering by a cost matrix, for retrieval. The cost is not
    symmetric, as one of the two is warped (see `direction`), unless that is asked for.

    Parameters
    ----------
    X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
    centroids : array of shape (K, ...)
        Pictures of the same shape.
    image_shape : tuple of int, optional
        Shape of the pictures if X is flat.
    symmetric : bool, default=False
        Whether a cost is the same in both directions, which takes twice as long: for methods that
        expect a matrix of dissimilarities. See `dikmeans.registration.symmetric`. Not with
        ``intensity="affine"``.
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
    images, pictures = images.astype(built.dtype), pictures.astype(built.dtype)
    if not symmetric:
        return cost_matrix(built, images, built.bank(pictures), n_jobs=n_jobs)
    if measure.get("intensity") == "affine":
        raise InvalidParameterError("symmetric", symmetric, 'False with intensity="affine"')
    return symmetric_costs(built, images, pictures, shape, n_jobs)


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
