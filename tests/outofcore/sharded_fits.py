"""What tests of shards compare: a quick model, and two of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dikmeans import DIKMeans
from dikmeans.kmeans.schedule import PhaseKind
from tests import helpers


def quick(**parameters) -> DIKMeans:
    """A model that goes through all phases of a run on a sample, in few iterations."""
    defaults = {
        "max_iter": 2,
        "search__n_swaps": 1,
        "n_prototypes": 2,
        "search__sample_size": 60,
        "n_jobs": 1,
    }
    return helpers.quick(**{**defaults, **parameters})


def in_pieces(images: np.ndarray, size: int = 50) -> Iterator[np.ndarray]:
    """An iterator over arrays of images."""
    return (images[first : first + size] for first in range(0, len(images), size))


def assert_same_fit(one: DIKMeans, other: DIKMeans) -> None:
    """Equal but for the order in which double-precision sums were added up."""
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.prototypes_, other.prototypes_, atol=1e-5)
    np.testing.assert_array_equal(one.prototype_clusters_, other.prototype_clusters_)
    np.testing.assert_array_equal(one.init_centers_, other.init_centers_)
    np.testing.assert_allclose(one.inertia_, other.inertia_, rtol=1e-6)
    assert [i.phase for i in one.history_.iterations] == [
        i.phase for i in other.history_.iterations
    ]
    assert one.prototypes_.dtype == other.prototypes_.dtype
    assert one.preprocessing_.name == other.preprocessing_.name
    assert one.choices_ == other.choices_
    np.testing.assert_allclose(one.assignment_.costs, other.assignment_.costs, rtol=1e-4, atol=1e-6)
    assert one.labels_.dtype == other.labels_.dtype


class AtIteration:
    """A progress sink that does something after the first iteration over all images."""

    def __init__(self, action):
        self._action = action
        self.done = False

    def __call__(self, event) -> None:
        """Do it now, if it is time."""
        if event.record is None or event.phase.kind is not PhaseKind.ALL_IMAGES:
            return
        if not self.done:
            self.done = True
            self._action()


class PowerCut(BaseException):
    """Ends a fit as nothing in it expects."""


def cut_power():
    """Raise it."""
    raise PowerCut
