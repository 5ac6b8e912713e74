"""The symmetric measure: on real digits, and on a warp whose inverse is known."""

from __future__ import annotations

import numpy as np
import pytest

from dikmeans import pairwise_cost
from dikmeans.parameters import InvalidParameterError


@pytest.fixture(scope="module")
def pictures(digits_by_class):
    return digits_by_class[:4, :3].reshape(-1, 28, 28)


def asymmetry(costs):
    """Difference of the two directions, as a part of their mean, over all pairs."""
    pairs = ~np.eye(len(costs), dtype=bool)
    return np.abs(costs - costs.T)[pairs].mean() / costs[pairs].mean()


@pytest.mark.parametrize("warp", ["tps", "affine"])
def test_costs_of_digits_are_the_same_in_both_directions(pictures, warp):
    symmetric = pairwise_cost(pictures, pictures, symmetric=True, warp=warp)
    np.testing.assert_allclose(symmetric, symmetric.T, rtol=1e-12)
    np.testing.assert_allclose(np.diag(symmetric), 0, atol=1e-3)
    assert asymmetry(pairwise_cost(pictures, pictures, warp=warp)) > 0.1


def test_both_ways_between_a_picture_and_its_double_cost_what_the_integral_says():
    """A square and one of twice the side: no warp may hide a stain by shrinking it."""
    small, large = np.zeros((2, 64, 64))
    small[24:40, 24:40] = 1
    large[16:48, 16:48] = 1
    stained = large.copy()
    stained[28:36, 28:36] = 0  # 8 x 8 pixels here are 4 x 4 in the frame of the small one
    options = {"warp": "affine", "smoothness": 0.0}
    onto_large = pairwise_cost([stained], [small], **options)[0, 0]
    onto_small = pairwise_cost([small], [stained], **options)[0, 0]
    assert onto_large > 3 * onto_small  # the direction decides: 64 pixels against 16
    both = pairwise_cost([stained], [small], symmetric=True, **options)[0, 0]
    back = pairwise_cost([small], [stained], symmetric=True, **options)[0, 0]
    assert both == pytest.approx(back)
    assert both == pytest.approx(np.sqrt(onto_large * onto_small), rel=0.25)  # |det| is 1/4 or 4


def test_without_a_warp_nothing_changes(pictures):
    plain = pairwise_cost(pictures, pictures[:5], warp="none")
    np.testing.assert_allclose(
        pairwise_cost(pictures, pictures[:5], warp="none", symmetric=True),
        plain,
        rtol=1e-5,
        atol=1e-9,
    )


def test_light_and_symmetry_do_not_go_together(pictures):
    with pytest.raises(InvalidParameterError, match="symmetric=True: expected False"):
        pairwise_cost(pictures, pictures, symmetric=True, intensity="affine")
