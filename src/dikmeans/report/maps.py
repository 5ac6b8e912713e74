"""Maps of the pictures in the plane: before alignment, after affine alignment, after deformation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

PERPLEXITY, N_COMPONENTS, N_STEPS = 30, 50, 500


@dataclass(frozen=True)
class PictureMap:
    """One panel of the map.

    Attributes
    ----------
    title, note : str
        What was embedded, in a word and in a sentence.
    xy : array of shape (n, 2)
        Places in [0, 1].
    """

    title: str
    note: str
    xy: np.ndarray


def embed(pictures: np.ndarray) -> np.ndarray:
    """Pictures (n, ...) in the plane by t-SNE on their principal components, scaled into [0, 1].

    With too few pictures, or all alike, the components themselves are the map.
    """
    table = np.asarray(pictures, dtype=np.float64).reshape(len(pictures), -1)
    table = table - table.mean(axis=0)
    table /= np.linalg.norm(table, axis=1).mean() or 1.0
    n = len(table)
    if n < 2 or not table.any():
        return np.full((n, 2), 0.5)
    size = min(N_COMPONENTS, n, table.shape[1])
    components = PCA(size, random_state=0).fit_transform(table)
    if n <= 8 or size < 2:
        flat = np.zeros((n, 2))
        flat[:, : min(2, size)] = components[:, :2]
    else:
        flat = TSNE(
            perplexity=min(PERPLEXITY, (n - 1) / 3),
            max_iter=N_STEPS,
            init="pca",
            random_state=0,
            n_jobs=1,
        ).fit_transform(components)
    low, high = flat.min(axis=0), flat.max(axis=0)
    return (flat - low) / np.where(high > low, high - low, 1.0)
