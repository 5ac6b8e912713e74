"""Images as points of the plane: t-SNE of pictures as they are, and as aligned with their centroids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# Distances in so many principal directions are those in all, for pictures, and much sooner computed.
_DIRECTIONS = 50
PERPLEXITY = 30.0


def embed(
    pictures: Mapping[str, Any], *, seed: int = 0, perplexity: float = PERPLEXITY
) -> dict[str, np.ndarray]:
    """A t-SNE of each set of pictures, all with the same settings.

    Parameters
    ----------
    pictures : mapping of str to array of shape (N, rows, columns[, channels]) or (N, features)
        For instance ``{"raw": X, "aligned": model.align(X).aligned}``.
    seed : int
    perplexity : float
        As in `sklearn.manifold.TSNE`; less where there are few pictures.

    Returns
    -------
    dict of str to float array of shape (N, 2)
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    points = {}
    for name, set_ in pictures.items():
        table = np.asarray(set_, dtype=np.float64).reshape(len(set_), -1)
        if len(table) < 3:
            raise ValueError(f"A t-SNE needs at least 3 images; {name!r} has {len(table)}.")
        n_directions = min(_DIRECTIONS, *table.shape)
        table = PCA(n_directions, svd_solver="randomized", random_state=seed).fit_transform(table)
        layout = TSNE(
            perplexity=min(perplexity, (len(table) - 1) / 3), init="pca", random_state=seed, n_jobs=1
        )
        points[name] = layout.fit_transform(table)
    return points
