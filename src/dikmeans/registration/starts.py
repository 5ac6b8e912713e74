r"""Where a cold alignment starts: the most promising of a lattice of poses.

A descent from the identity ends in a wrong optimum if the two pictures are far apart. So all poses
of a lattice (shifts up to a quarter of a side, turns up to 45 degrees) are tried on the coarsest
pyramid level first. Warped centroids :math:`t_{kc} = \mathrm{warp}(\mu_k; \nu_c)` are rendered once
for all images, and the cost of a pair in pose c is then one inner product,

.. math:: a\,(\|x\|^2 - 2\,\langle x, t_{kc}\rangle + \|t_{kc}\|^2) + \delta_c^T Q_k\,\delta_c .

Only the best pose of a pair is refined.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.grid import Grid
from dikmeans.registration.measure import Direction
from dikmeans.registration.objective import Problem
from dikmeans.registration.sampling import FAST, NO_REFCOUNTS, pad, render_pairs
from dikmeans.registration.warps import Border

# Shifts in units of the frame (half of the longer side): a quarter of a side, an eighth apart.
SHIFTS = (-0.5, -0.25, 0.0, 0.25, 0.5)
# In degrees.
TURNS = (-45.0, -22.5, 0.0, 22.5, 45.0)
UNTURNED = (0.0,)


class StartBank(NamedTuple):
    """Centroids in all poses of a lattice, on the coarsest level.

    Attributes
    ----------
    deltas : float32 array of shape (n_poses, 2, n_basis)
        The poses: affine maps minus the identity.
    pictures : float32 array of shape (K, n_poses, C * n_pixels)
    energies : float32 array of shape (K, n_poses)
        Squared norms of the pictures.
    penalties : float32 array of shape (K, n_poses)
    """

    deltas: FloatArray
    pictures: FloatArray
    energies: FloatArray
    penalties: FloatArray


def make_starts(
    problem: Problem,
    centroids: FloatArray,
    poses: FloatArray,
    *,
    direction: Direction,
    border: Border,
) -> StartBank:
    """Centroids (K, C, rows, columns), on the level of an affine `problem`, in all `poses`."""
    # an image that is warped by a pose meets the centroid warped by the inverse of the pose
    maps = poses if direction == "centroid-to-image" else inverse_maps(poses)
    n, n_poses, n_pixels = len(centroids), len(poses), problem.sampler.phi.shape[1]
    pictures = np.empty((n * n_poses, centroids.shape[1], n_pixels), np.float32)
    which = np.repeat(np.arange(n), n_poses)
    render_pairs(problem.sampler, pad(centroids, border), which, np.tile(maps, (n, 1, 1)), pictures)
    pictures = pictures.reshape(n, n_poses, -1)
    flat = poses.reshape(n_poses, -1)
    penalties = np.einsum("ci,kij,cj->kc", flat, problem.penalties, flat, optimize=True)
    return StartBank(
        poses,
        pictures,
        np.einsum("kcp,kcp->kc", pictures, pictures),
        penalties.astype(np.float32),
    )


def lattice_of_poses(grid: Grid, turns: tuple[float, ...] = TURNS) -> FloatArray:
    """Affine maps (n, 2, n_basis), minus the identity, that an alignment may start from.

    Along a flat axis nothing moves, and nothing turns.

    Examples
    --------
    >>> lattice_of_poses(Grid.of((28, 28))).shape, lattice_of_poses(Grid.of((1, 64))).shape
    ((125, 2, 3), (5, 2, 2))
    """
    live = list(grid.live_axes)
    shifts = np.array(list(itertools.product(SHIFTS, repeat=len(live))))
    angles = np.deg2rad(turns if len(live) == 2 else UNTURNED)
    poses = np.zeros((len(angles), len(shifts), 2, 1 + len(live)), np.float32)
    for pose, angle in zip(poses, angles, strict=True):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        pose[:, live, 0] = shifts
        pose[:, live, 1:] = (turn - np.eye(2))[np.ix_(live, live)]
    return poses.reshape(-1, *poses.shape[2:])


def inverse_maps(deltas: FloatArray) -> FloatArray:
    """The inverses of turned and shifted frames (n, 2, n_basis), minus the identity."""
    if deltas.shape[2] < 3:  # shifts alone
        return -deltas
    linear = np.linalg.inv(np.eye(2) + deltas[:, :, 1:])
    shifts = -linear @ deltas[:, :, :1]
    return np.concatenate([shifts, linear - np.eye(2)], axis=2).astype(np.float32)


def best_poses(
    bank: StartBank, targets: FloatArray, gains: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The cheapest pose of every image with every centroid, and its cost: arrays (n, K).

    Parameters
    ----------
    bank : StartBank
    targets : float32 array of shape (n, C * n_pixels)
        Images on the coarsest level.
    gains : float32 array of shape (n,)
        One over the unit of each image's costs.
    """
    shape = len(targets), len(bank.pictures)
    poses, costs = np.empty(shape, np.int64), np.empty(shape, np.float32)
    _best_poses(bank, targets, gains, poses, costs)
    costs += (gains * np.einsum("nv,nv->n", targets, targets))[:, None]
    return poses, np.maximum(costs, 0)  # rounding may take a perfect fit below


# No matrix product: what it returns for a row depends on the rows beside it, in the last bits.
@njit(fastmath=FAST, **NO_REFCOUNTS)
def _best_poses(bank, targets, gains, poses, costs):
    """`best_poses`, less the energy of the image."""
    n_centroids, n_poses, n_values = bank.pictures.shape
    for i in range(targets.shape[0]):
        target, gain = targets[i], gains[i]
        for k in range(n_centroids):
            best, best_cost = 0, np.float32(np.inf)
            for c in range(n_poses):
                picture = bank.pictures[k, c]
                product = np.float32(0)
                for v in range(n_values):
                    product += target[v] * picture[v]
                cost = gain * (bank.energies[k, c] - np.float32(2) * product) + bank.penalties[k, c]
                if cost < best_cost:
                    best, best_cost = c, cost
            poses[i, k], costs[i, k] = best, best_cost
