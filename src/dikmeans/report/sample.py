"""Which pictures a report shows when there are too many for one page."""

from __future__ import annotations

import numpy as np

from dikmeans._typing import IntArray

# A page with more pixels than this takes long to open; 2,000 pictures of 28 x 28 have 1.6 million.
PIXEL_BUDGET = 40_000_000


def choose_shown(labels: IntArray, max_pictures: int, n_pixels: int) -> IntArray:
    """Sorted indices of the pictures to show: all, or a random sample stratified by cluster.

    The share of shown pictures is the same in every cluster, up to rounding, and every cluster has
    at least one if the limit allows it. The same labels and limit always give the same sample.

    Parameters
    ----------
    labels : int array of shape (N,)
    max_pictures : int
    n_pixels : int
        Pixels of one picture; very large ones lower the limit.

    Examples
    --------
    >>> shown = choose_shown(np.repeat([0, 1], [900, 100]), 50, 784)
    >>> len(shown), int((shown >= 900).sum())
    (50, 5)
    """
    limit = max(1, min(max_pictures, PIXEL_BUDGET // n_pixels))
    n = len(labels)
    if n <= limit:
        return np.arange(n)
    shuffled = np.random.default_rng(0).permutation(n)
    # The r-th of a cluster's m members, in random order, has rank (r + 1/2) / m: the lowest ranks
    # of all are the same share of each cluster. The first member of a cluster precedes all others.
    ranks = np.empty(n)
    for k in np.unique(labels):
        members = shuffled[labels[shuffled] == k]
        ranks[members] = (np.arange(len(members)) + 0.5) / len(members)
        ranks[members[0]] -= 1
    return np.sort(np.argsort(ranks, kind="stable")[:limit])
