"""How much memory a streamed fit takes is known beforehand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dikmeans.monitoring import memory
from dikmeans.monitoring.memory import (
    ASSIGNMENT_BYTES,
    COPIES_OF_ASSIGNMENT,
    estimate_memory,
    fits_bytes,
    images_per_shard,
)
from dikmeans.preprocessing import base
from tests.outofcore.sharded_fits import quick


def peak_of_fit(model, X) -> int:
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("warp", ["none", "affine"])
def test_the_estimate_of_a_streamed_fit_is_kept(real_digits, on_disk, monkeypatch, warp):
    monkeypatch.setattr(memory, "SHARD_BYTES", 2**18)
    monkeypatch.setattr(memory, "MAX_LEARNING_PICTURES", 50)
    monkeypatch.setattr(base.learning_indices, "__defaults__", (50,))
    X = on_disk(real_digits[0])
    parameters = {"n_clusters": 8, "warp": warp, "search__sample_size": 50}
    assert len(X) > 5 * images_per_shard((28, 28), 8, 3)
    model = quick(**parameters, max_iter=1, search__n_swaps=0)
    model.fit(X[:60])  # compiled and imported before the count begins
    expected = estimate_memory(len(X), (28, 28), 8, warp=warp, sample_size=50, streamed=True)
    peak = peak_of_fit(model, X)
    assert expected / 4 < peak < expected
    assert expected < estimate_memory(len(X), (28, 28), 8, warp=warp, sample_size=50)


def test_a_streamed_fit_grows_by_the_assignment_alone():
    one, ten = (
        estimate_memory(n, (28, 28), 10, sample_size=4000, streamed=True) for n in (10**6, 10**7)
    )
    # two labels, a cost and a margin per image, as often as they are there at once
    assert ASSIGNMENT_BYTES == 4 + 4 + 8 + 8
    assert ten - one == 9 * 10**6 * ASSIGNMENT_BYTES * COPIES_OF_ASSIGNMENT


def test_a_shard_holds_as_many_images_as_their_pixels_or_their_alignments_allow():
    assert images_per_shard((28, 28), 10, 16) == memory.SHARD_BYTES // (28 * 28 * 4)
    assert images_per_shard((8, 8), 100, 16) == memory.SHARD_BYTES // fits_bytes(1, 100, 16)
    assert images_per_shard((10_000, 10_000), 2, 16) == 1
    assert np.iinfo(np.int32).max > images_per_shard((1, 1), 1, 1)
