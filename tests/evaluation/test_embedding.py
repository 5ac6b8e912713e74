"""The map of images: similar ones close together, in the unit square, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

from dikmeans.evaluation import embed


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    data = load_digits()
    chosen = data.target < 4
    return data.images[chosen][:120], data.target[chosen][:120]


@pytest.fixture(scope="module")
def positions(digits) -> np.ndarray:
    return embed(digits[0])


def test_the_nearest_neighbor_on_the_map_is_of_the_same_class(digits, positions):
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    labels = digits[1]
    assert (labels[distances.argmin(axis=1)] == labels).mean() > 0.9


def test_positions_fill_the_unit_square(positions):
    np.testing.assert_allclose(positions.min(axis=0), 0)
    np.testing.assert_allclose(positions.max(axis=0), 1)


def test_the_same_seed_gives_the_same_map_for_images_and_for_rows(digits, positions):
    images, _ = digits
    np.testing.assert_array_equal(embed(images.reshape(len(images), -1)), positions)


def test_the_unit_of_the_pixels_does_not_matter(digits):
    images = digits[0][:8]
    np.testing.assert_allclose(embed(images), embed(255 * images), atol=1e-9)


def test_few_images_are_placed_by_their_principal_components():
    line = np.outer([0.0, 1.0, 3.0, 7.0], np.ones(16)).reshape(4, 4, 4)
    across = embed(line)[:, 0]
    if across[0] > across[-1]:  # the sign of a component is arbitrary
        across = 1 - across
    np.testing.assert_allclose(across, [0, 1 / 7, 3 / 7, 1])


@pytest.mark.parametrize("n", [0, 1, 5, 20])
def test_equal_images_lie_in_the_center(n):
    np.testing.assert_array_equal(embed(np.ones((n, 3, 3))), np.full((n, 2), 0.5))


def test_images_of_one_pixel_are_placed_on_a_line():
    places = embed(np.arange(20.0).reshape(20, 1))
    assert np.ptp(places[:, 0]) == 1
    assert np.ptp(places[:, 1]) == 0


def test_thread_settings_are_left_as_they_were(digits):
    before = [pool["num_threads"] for pool in threadpool_info()]
    embed(digits[0][:20])
    assert [pool["num_threads"] for pool in threadpool_info()][: len(before)] == before
