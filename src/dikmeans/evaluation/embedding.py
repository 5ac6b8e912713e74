"""Images as points of the plane: t-SNE of their principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dikmeans._typing import ArrayLike, FloatArray

PERPLEXITY = 30.0
MAX_ITER = 500
# Distances in this many principal components are nearly those in all, and much faster to compute.
N_COMPONENTS = 50
# Up to this many images the first two principal components are the map: t-SNE needs neighbors.
TOO_FEW_FOR_TSNE = 8


def embed(features: ArrayLike, *, random_state: int = 0) -> FloatArray:
    """Map images to the plane so that similar images lie close together.

    Parameters
    ----------
    features : array of shape (n, ...)
        One row, or one image, per point; for instance ``model.align(X).aligned``.
    random_state : int, default=0

    Returns
    -------
    array of shape (n, 2)
        Positions in [0, 1]. For 8 or fewer images, the first two principal components; if all
        images are equal, or there is one, the center.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> embed(load_digits().images[:40]).shape
    (40, 2)
    """
    # Imported here: scikit-learn's t-SNE takes a quarter of a second to import.
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    images = np.asarray(features, dtype=np.float64)
    n = len(images)
    if n < 2 or (images == images[0]).all():
        return np.full((n, 2), 0.5)
    table = images.reshape(n, -1)
    table = table - table.mean(axis=0)
    table /= np.linalg.norm(table, axis=1).mean()
    n_components = min(N_COMPONENTS, *table.shape)
    # OpenMP's threads wait for each other at every step: on a busy machine two are slower than one.
    with threadpool_limits(1):
        components = PCA(n_components, random_state=random_state).fit_transform(table)
        if n <= TOO_FEW_FOR_TSNE or n_components < 2:
            positions = np.zeros((n, 2))
            positions[:, : min(2, n_components)] = components[:, :2]
        else:
            positions = TSNE(
                perplexity=min(PERPLEXITY, (n - 1) / 3),
                max_iter=MAX_ITER,
                init="pca",
                random_state=random_state,
                n_jobs=1,
            ).fit_transform(components)
    low, high = positions.min(axis=0), positions.max(axis=0)
    scaled: FloatArray = (positions - low) / np.where(high > low, high - low, 1.0)
    return scaled
