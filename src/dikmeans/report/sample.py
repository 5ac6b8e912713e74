"""Which pictures a report shows when there are too many for one page."""

from __future__ import annotations

import numpy as np

# A page with more pixels than this takes long to open; pictures of 28 x 28 are far from it.
PIXEL_BUDGET = 40_000_000


def choose_shown(labels: np.ndarray, max_pictures: int, n_pixels: int) -> np.ndarray:
    """Sorted indices of the pictures to show: all, or a random sample stratified by cluster.

    Every cluster gives the same share, rounded, and at least one picture as far as the limit allows. The
    sample depends on nothing but the labels and the limit.

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
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(n)
    # In each cluster the r-th of m members, in random order, has the place (r + 1/2) / m: the first places of
    # all are an even share of each cluster. The first member of a cluster comes before all others.
    places = np.empty(n)
    for k in np.unique(labels):
        members = shuffled[labels[shuffled] == k]
        places[members] = (np.arange(len(members)) + 0.5) / len(members)
        places[members[0]] -= 1
    return np.sort(np.argsort(places, kind="stable")[:limit])
