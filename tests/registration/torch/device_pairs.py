"""What the tests of devices share: the same measure twice, and something to measure."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from dikmeans.registration.solvers import resolve_solver
from tests.helpers import build_measure


def on_device(solver="quasi-newton"):
    """The same solver, working in PyTorch."""
    return clone(resolve_solver(solver)).set_params(device="cpu")


def both(shape, *, solver="quasi-newton", **measure):
    """A measure evaluated by compiled loops, and the same evaluated by PyTorch."""
    return tuple(
        build_measure(shape, solver=either, **measure) for either in (solver, on_device(solver))
    )


def some_precision(n_basis, k, seed=0):
    """A learned penalty for each centroid, in which rows and columns depend on each other."""
    roots = np.random.default_rng(seed).normal(size=(k, 2 * n_basis, 2 * n_basis))
    return 0.02 * (roots @ np.swapaxes(roots, 1, 2) / (2 * n_basis) + np.eye(2 * n_basis))


def some_warps(measure, n, k, reach=0.1, seed=0):
    """Warps of n images for each of k centroids."""
    rng = np.random.default_rng(seed)
    return rng.normal(scale=reach, size=(n, k, 2, measure.n_basis)).astype(np.float32)
