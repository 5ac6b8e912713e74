"""What tests of several packages share."""

from __future__ import annotations

from dikmeans import DIKMeans, Search
from dikmeans.registration import MeasureSpec


def build_measure(shape, precision=None, **words):
    """The measure that keyword arguments name, on pictures of a shape."""
    return MeasureSpec(**words).build(shape, precision)


def quick(**parameters):
    """A model of four clusters that is fitted in few iterations; any parameter may be given.

    `max_iter` bounds the phases of the search too, unless `search__max_iter` does.
    """
    few = {"n_init": 1, "max_iter": 4, "search__n_swaps": 2}
    chosen = {"n_clusters": 4, "random_state": 0, **few, **parameters}
    chosen = {"search__max_iter": chosen["max_iter"], **chosen}
    return DIKMeans(search=Search()).set_params(**chosen)
