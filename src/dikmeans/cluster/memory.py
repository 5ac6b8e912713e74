"""How much memory a fit will take: known beforehand, from what it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.warp.basis import make_warp

_SINGLE, _DOUBLE, _BYTE = 4, 8, 1
# While images are aligned anew there are the old state, the new one in chunks, and the new one put together.
STATES_AT_ONCE = 3


def state_bytes(n_images: int, n_clusters: int, n_basis: int) -> int:
    r"""Memory of a run's state: costs, parameters and status of all pairs.

    :math:`N K (8 + 2 l \cdot 4 + 1)` bytes with `l` basis functions of the warp.
    """
    return n_images * n_clusters * (_DOUBLE + 2 * n_basis * _SINGLE + _BYTE)


def estimate_memory(
    n_images: int,
    shape: tuple[int, ...],
    n_clusters: int,
    *,
    warp: str = "tps",
    landmarks: Any = "auto",
    search_size: int | None = None,
) -> int:
    """Bytes that a fit of single-precision images needs at most, the images themselves included.

    Counted are the images as they are passed, their normalised copy, the sample of the search, and
    the state of the run as often as it is there at once. The program and its libraries come on top.

    Parameters
    ----------
    n_images : int
    shape : tuple of int
        (rows, columns) or (rows, columns, channels) of an image.
    n_clusters : int
    warp, landmarks
        As in `DIKMeans`.
    search_size : int, optional
        Images in the sample of the search; by default all.

    Examples
    --------
    >>> round(estimate_memory(60_000, (28, 28), 10, search_size=4000) / 1e6)
    661
    """
    n_values = int(np.prod(shape))
    n_basis = make_warp(warp, (shape[0], shape[1]), landmarks).n_basis
    sample = min(n_images, search_size or n_images)
    pictures = 2 * n_images * n_values * _SINGLE
    copies = 0 if sample == n_images else sample * n_values * _SINGLE
    # plain K-means, the first lesson of the others, works in double precision
    exact = (n_images if warp == "none" else sample) * n_values * _DOUBLE
    state = STATES_AT_ONCE * state_bytes(n_images, n_clusters, n_basis)
    return pictures + copies + exact + state
