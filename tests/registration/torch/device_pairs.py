"""What the tests of devices share: the same measure twice, and something to measure."""

from __future__ import annotations

import numpy as np

from dikmeans.registration import make_measure


def both(shape, **measure):
    """The compiled measure of a measure, and the one that works in PyTorch."""
    return make_measure(shape, **measure), make_measure(shape, device="cpu", **measure)


def some_stiffness(n_basis, k, seed=0):
    """A penalty for each centroid, as it may have been learned: rows and columns depend on each other."""
    roots = np.random.default_rng(seed).normal(size=(k, 2 * n_basis, 2 * n_basis))
    return 0.02 * (roots @ np.swapaxes(roots, 1, 2) / (2 * n_basis) + np.eye(2 * n_basis))


def some_warps(measure, n, k, reach=0.1, seed=0):
    """Warps of n images for each of k centroids."""
    rng = np.random.default_rng(seed)
    return rng.normal(scale=reach, size=(n, k, 2, measure.n_basis)).astype(np.float32)
