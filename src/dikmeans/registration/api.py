"""The measure without the clustering: costs of all pairs, and one pair looked at closely."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.registration.batches import cost_matrix, fit_images
from dikmeans.registration.measure import DEFAULT_DIRECTION, DEFAULT_SMOOTHNESS, make_measure
from dikmeans.registration.result import Alignment, Alignments
from dikmeans.registration.solvers import Solver
from dikmeans.images import ImageShape, as_pictures


def pairwise_cost(
    X: Any,
    centroids: Any,
    *,
    warp: str = "tps",
    landmarks: Any = "auto",
    smoothness: float = DEFAULT_SMOOTHNESS,
    direction: str = DEFAULT_DIRECTION,
    border: str = "zero",
    solver: str | Solver = "quasi-newton",
    image_shape: ImageShape | None = None,
    n_jobs: int | None = -1,
    device: str | None = None,
) -> np.ndarray:
    """Deformation-invariant cost between every image and every centroid.

    Good for nearest neighbours, for clustering by a cost matrix, for retrieval. The cost is not
    symmetric: see `direction`.

    Parameters
    ----------
    X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
    centroids : array of shape (K, ...)
        Pictures of the same shape.
    warp, landmarks, smoothness, direction, border, solver
        The measure; see `make_measure`.
    image_shape : tuple of int, optional
        Shape of the pictures if X is flat.
    n_jobs : int, default=-1
        Threads; -1 for all cores that are ours, see `dikmeans.parallel.cores`.
    device : str, optional
        A device of PyTorch's that does the work, such as "cuda"; see `make_measure`.

    Returns
    -------
    costs : float64 array of shape (N, K)

    Examples
    --------
    A bar, and the same bar moved to the right: far apart, but one is a warp of the other.

    >>> import numpy as np
    >>> from dikmeans.registration import pairwise_cost
    >>> bar, moved = np.zeros((2, 16, 16))
    >>> bar[3:13, 5:8] = moved[3:13, 8:11] = 1
    >>> euclidean = ((bar - moved) ** 2).sum()
    >>> bool(pairwise_cost([bar], [moved])[0, 0] < 0.01 * euclidean)
    True
    """
    images, centroid_pictures, shape = _same_shape(X, centroids, image_shape)
    measure = make_measure(
        shape,
        warp=warp,
        landmarks=landmarks,
        smoothness=smoothness,
        direction=direction,
        border=border,
        solver=solver,
        device=device,
    )
    bank = measure.bank(centroid_pictures.astype(measure.dtype))
    return cost_matrix(measure, images.astype(measure.dtype), bank, n_jobs=n_jobs)


def align(
    x: Any,
    centroid: Any,
    *,
    warp: str = "tps",
    landmarks: Any = "auto",
    smoothness: float = DEFAULT_SMOOTHNESS,
    direction: str = DEFAULT_DIRECTION,
    border: str = "zero",
    solver: str | Solver = "quasi-newton",
    device: str | None = None,
) -> Alignment:
    """Warp one picture onto another.

    Parameters
    ----------
    x, centroid : arrays of shape (rows, columns) or (rows, columns, channels)
    warp, landmarks, smoothness, direction, border, solver
        The measure; see `make_measure`. With direction "image-to-centroid" `x` is warped, with
        "centroid-to-image" `centroid` is.
    device : str, optional
        A device of PyTorch's that does the work, such as "cuda"; see `make_measure`.

    Returns
    -------
    alignment : Alignment
        Cost, parameters, warped picture, residual, deformed grid, and how the search went.
    """
    images, centroids, shape = _same_shape([np.asarray(x)], [np.asarray(centroid)], None)
    measure = make_measure(
        shape,
        warp=warp,
        landmarks=landmarks,
        smoothness=smoothness,
        direction=direction,
        border=border,
        solver=solver,
        device=device,
    )
    return align_to_own(measure, images, centroids, shape, n_jobs=1)[0]


def align_to_own(
    measure: Any,
    images: np.ndarray,
    centroids: np.ndarray,
    shape: ImageShape,
    *,
    clusters: np.ndarray | None = None,
    prune: float = np.inf,
    n_jobs: int | None = None,
) -> Alignments:
    """Alignments of pictures (N, C, rows, columns), each with the cheapest of the centroids.

    `clusters` is the cluster of each centroid, ascending, if clusters have several.
    """
    images, centroids = images.astype(measure.dtype), centroids.astype(measure.dtype)
    fits = fit_images(measure, images, measure.bank(centroids), prune=prune, n_jobs=n_jobs)
    forms = fits.costs.argmin(axis=1)
    own = np.arange(len(images)), forms
    return Alignments(
        forms=forms,
        form_costs=fits.costs,
        parameters=measure.warp.identity + np.swapaxes(fits.deltas[own], 1, 2),
        status=fits.status[own],
        _images=images,
        _centroids=centroids,
        _clusters=np.arange(len(centroids)) if clusters is None else clusters,
        _measure=measure,
        _shape=shape,
    )


def _same_shape(
    X: Any, centroids: Any, image_shape: ImageShape | None
) -> tuple[np.ndarray, np.ndarray, ImageShape]:
    images, shape = as_pictures(X, image_shape)
    centroid_pictures, centroid_shape = as_pictures(centroids, image_shape, "centroids")
    if shape != centroid_shape:
        raise ValueError(
            f"The images have shape {shape}, the centroids {centroid_shape}; both must be of one size."
        )
    return images, centroid_pictures, shape
