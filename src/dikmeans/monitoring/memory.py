"""How much memory a fit will take, known beforehand from what it keeps."""

from __future__ import annotations

import math

import numpy as np

from dikmeans._typing import ImageShape
from dikmeans.kmeans.prototypes import prototype_rule
from dikmeans.preprocessing.base import MAX_LEARNING_PICTURES
from dikmeans.registration.descent import MAX_CANDIDATES
from dikmeans.registration.pyramid import pyramid_grids
from dikmeans.registration.specification import Landmarks
from dikmeans.registration.warps import WarpName, make_warp

_SINGLE, _DOUBLE, _BYTE = 4, 8, 1
# While images are aligned there are the old alignments, the new ones in batches, and the new ones
# joined.
COPIES_OF_FITS = 3
# What the images of a shard take, and at most their alignments.
SHARD_BYTES = 16 * 2**20
# A shard's images as they are read, in single precision, and preprocessed (filtered, then scaled).
COPIES_OF_A_SHARD = 4
# The final assignment (two labels, cost, margin) is there in pieces, and joined.
COPIES_OF_ASSIGNMENT, ASSIGNMENT_BYTES = 3, 2 * _SINGLE + 2 * _DOUBLE


def fits_bytes(n_images: int, n_clusters: int, n_basis: int) -> int:
    r"""Memory of the alignments of images: costs, parameters, status, orientation, centroid.

    :math:`N M (8 + 2 l \cdot 4 + 6)` bytes with `l` basis functions of the warp, where M is the
    number of clusters, or of candidates if that is less.
    """
    n_pairs = n_images * min(n_clusters, MAX_CANDIDATES)
    return n_pairs * (_DOUBLE + 2 * n_basis * _SINGLE + 2 * _BYTE + _SINGLE)


# Poses of the lattice of starts.
N_POSES = 125


def images_per_shard(shape: ImageShape, n_clusters: int, n_basis: int) -> int:
    """How many images are read at a time, of a set that is not in memory."""
    image, state = int(np.prod(shape)) * _SINGLE, fits_bytes(1, n_clusters, n_basis)
    return max(1, SHARD_BYTES // max(image, state))


def estimate_memory(
    n_images: int,
    shape: ImageShape,
    n_clusters: int,
    *,
    warp: WarpName = "tps",
    landmarks: Landmarks = "auto",
    n_prototypes: int | str = "auto",
    sample_size: int | None = None,
    streamed: bool = False,
) -> int:
    """Bytes that a fit of single-precision images needs at most, the images themselves included.

    Counted are the images as they are passed, their preprocessed copy, the sample of the search,
    the alignments as often as they are there at once, the final assignment and the learned prior.
    The program and its libraries come on top.

    Parameters
    ----------
    n_images : int
    shape : tuple of int
        (rows, columns) or (rows, columns, channels) of an image.
    n_clusters : int
    warp, landmarks, n_prototypes
        As in `DIKMeans`.
    sample_size : int, optional
        Images in the sample of the search; by default all.
    streamed : bool, default=False
        Whether the images are read piece by piece (a memory map, zarr, an iterator): then one shard
        takes the place of all images, and what grows with their number is the assignment.

    Examples
    --------
    >>> round(estimate_memory(60_000, (28, 28), 10, sample_size=4000) / 1e6)
    694
    >>> round(estimate_memory(10_000_000, (28, 28), 10, sample_size=4000, streamed=True) / 1e6)
    869
    """
    n_values = int(np.prod(shape))
    n_basis = make_warp(warp, (shape[0], shape[1]), landmarks).n_basis
    sample = min(n_images, sample_size or n_images)
    most_prototypes = prototype_rule(n_prototypes, warp).most
    # clusters are divided one after the other; the largest may have twice its share of the sample
    largest = min(sample, 2 * sample // n_clusters) if most_prototypes > 1 else 0
    division = largest * n_values * _SINGLE
    division += COPIES_OF_FITS * fits_bytes(largest, most_prototypes, n_basis)
    # one matrix per cluster, and one per prototype where a measure is made
    prior = (1 + most_prototypes) * n_clusters * (2 * n_basis) ** 2 * _DOUBLE
    # every prototype in all poses that an alignment may start from, on the coarsest level
    if warp != "none":
        coarsest = pyramid_grids((shape[0], shape[1]))[-1].n_pixels * math.prod(shape[2:])
        prior += most_prototypes * n_clusters * N_POSES * coarsest * _SINGLE
    assignment = COPIES_OF_ASSIGNMENT * n_images * ASSIGNMENT_BYTES
    # K-means, the first phase of the others, works in double precision
    in_double = sample * n_values * _DOUBLE
    if streamed:
        at_once = min(n_images, images_per_shard(shape, n_clusters, n_basis))
        searching = COPIES_OF_FITS * fits_bytes(sample, n_clusters, n_basis)
        search = sample * n_values * _SINGLE + in_double + max(searching, division)
        pixel_bytes = COPIES_OF_A_SHARD * _SINGLE + (_DOUBLE if warp == "none" else 0)
        shard = at_once * n_values * pixel_bytes
        shard += COPIES_OF_FITS * fits_bytes(at_once, n_clusters, n_basis)
        # the pictures that preprocessing is learned from are gone before anything else comes
        learning = min(n_images, MAX_LEARNING_PICTURES) * n_values * COPIES_OF_A_SHARD * _SINGLE
        return max(learning, search + shard) + assignment + prior
    pictures = 2 * n_images * n_values * _SINGLE
    copies = 0 if sample == n_images else sample * n_values * _SINGLE
    if warp == "none":
        in_double = n_images * n_values * _DOUBLE
    fits = fits_bytes(n_images, n_clusters, n_basis)
    alignments = max(COPIES_OF_FITS * fits, fits + division)
    warps = 2 * n_images * 2 * n_basis * _SINGLE  # of the final assignment
    return pictures + copies + in_double + alignments + assignment + warps + prior
