"""How much memory a fit will take: known beforehand, from what it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.kmeans.prototypes import prototype_rule
from dikmeans.preprocessing.base import ENOUGH_TO_TELL
from dikmeans.registration.warps import make_warp

_SINGLE, _DOUBLE, _BYTE = 4, 8, 1
# While images are aligned anew there are the old state, the new one in chunks, and the new one put together.
STATES_AT_ONCE = 3
# What the images of a shard take, and at most their state.
SHARD_BYTES = 16 * 2**20
# A shard's images as they are read, in single precision, and normalised (twice: filtered, and scaled).
COPIES_OF_A_SHARD = 4
# At the end costs to all forms are there in chunks, and put together.
COPIES_OF_COSTS = 2
# At the end labels are there shard by shard, joined, and sorted to see which clusters have any.
COPIES_OF_LABELS = 3


def state_bytes(n_images: int, n_clusters: int, n_basis: int) -> int:
    r"""Memory of a run's state: costs, parameters and status of all pairs.

    :math:`N K (8 + 2 l \cdot 4 + 1)` bytes with `l` basis functions of the warp.
    """
    return n_images * n_clusters * (_DOUBLE + 2 * n_basis * _SINGLE + _BYTE)


def images_per_shard(shape: tuple[int, ...], n_clusters: int, n_basis: int) -> int:
    """How many images are read at a time, of a set that is not in memory."""
    image, state = int(np.prod(shape)) * _SINGLE, state_bytes(1, n_clusters, n_basis)
    return max(1, SHARD_BYTES // max(image, state))


def estimate_memory(
    n_images: int,
    shape: tuple[int, ...],
    n_clusters: int,
    *,
    warp: str = "tps",
    landmarks: Any = "auto",
    n_prototypes: int | str = "auto",
    search_size: int | None = None,
    streamed: bool = False,
) -> int:
    """Bytes that a fit of single-precision images needs at most, the images themselves included.

    Counted are the images as they are passed, their normalised copy, the sample of the search, the state
    of the run as often as it is there at once, and the learned stiffness. The program and its libraries
    come on top.

    Parameters
    ----------
    n_images : int
    shape : tuple of int
        (rows, columns) or (rows, columns, channels) of an image.
    n_clusters : int
    warp, landmarks, n_prototypes
        As in `DIKMeans`.
    search_size : int, optional
        Images in the sample of the search; by default all.
    streamed : bool, default=False
        Whether the images are read piece by piece (a memory map, zarr, an iterator): then a shard takes
        the place of all images, and what grows with their number is the label of each, four bytes, three
        times at the end.

    Examples
    --------
    >>> round(estimate_memory(60_000, (28, 28), 10, search_size=4000) / 1e6)
    699
    >>> round(estimate_memory(10_000_000, (28, 28), 10, search_size=4000, streamed=True) / 1e6)
    267
    """
    n_values = int(np.prod(shape))
    n_basis = make_warp(warp, (shape[0], shape[1]), landmarks).n_basis
    sample = min(n_images, search_size or n_images)
    most_forms = prototype_rule(n_prototypes, warp).most
    n_centroids = n_clusters * most_forms
    # clusters are divided one after the other; the largest may have twice its share of the sample
    largest = min(sample, 2 * sample // n_clusters) if most_forms > 1 else 0
    division = largest * n_values * _SINGLE + STATES_AT_ONCE * state_bytes(largest, most_forms, n_basis)
    # each cluster has one, and each of its forms again, where a measure is made
    stiffness = (n_clusters + n_centroids) * (2 * n_basis) ** 2 * _DOUBLE
    # plain K-means, the first lesson of the others, works in double precision
    exact = sample * n_values * _DOUBLE
    if streamed:
        at_once = min(n_images, images_per_shard(shape, n_clusters, n_basis))
        verdict = COPIES_OF_COSTS * at_once * n_centroids * _DOUBLE
        searching = STATES_AT_ONCE * state_bytes(sample, n_clusters, n_basis)
        search = sample * n_values * _SINGLE + exact + max(searching, division)
        shard = at_once * n_values * (COPIES_OF_A_SHARD * _SINGLE + (_DOUBLE if warp == "none" else 0))
        shard += STATES_AT_ONCE * state_bytes(at_once, n_clusters, n_basis)
        # those that decide how all are normalised are gone before anything else comes
        told = min(n_images, ENOUGH_TO_TELL) * n_values * COPIES_OF_A_SHARD * _SINGLE
        # the sample and its state are gone before the shards come, but for what the bookmark still holds
        return max(told, search + shard + verdict) + COPIES_OF_LABELS * n_images * _SINGLE + stiffness
    pictures = 2 * n_images * n_values * _SINGLE
    copies = 0 if sample == n_images else sample * n_values * _SINGLE
    if warp == "none":
        exact = n_images * n_values * _DOUBLE
    one_state = state_bytes(n_images, n_clusters, n_basis)
    state = max(STATES_AT_ONCE * one_state, one_state + division)
    verdict = COPIES_OF_COSTS * n_images * n_centroids * _DOUBLE
    return pictures + copies + exact + state + verdict + stiffness
