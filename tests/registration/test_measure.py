"""The measure on real digits: what the paper proves of it, and what it is built for."""

import numpy as np
import pytest

from dikmeans.registration import align, make_warp, pairwise_cost
from dikmeans.registration.intensity import energies_of
from dikmeans.registration.warped_measure import DISPLACEMENT_WEIGHT
from tests import reference
from tests.helpers import build_measure


@pytest.fixture(scope="module")
def digits(digits_by_class):
    """Two real digits of each class, (20, 28, 28)."""
    return digits_by_class[:, :2].reshape(-1, 28, 28)


def deformed(pictures, reach, seed):
    """Pictures (n, rows, columns), each under a random spline; landmarks move by `reach` or so."""
    warp = make_warp("tps", pictures.shape[1:])
    noise = np.random.default_rng(seed).normal(scale=reach, size=(len(pictures), warp.n_basis, 2))
    pixels = warp.grid.to_pixels(warp.coordinates(warp.identity + noise))
    return np.stack(
        [reference.render(p, where, "zero") for p, where in zip(pictures, pixels, strict=True)]
    )


def squares(a, b):
    return ((a - b) ** 2).sum(axis=(1, 2), dtype=float)


def own_costs(images, centroids, **options):
    """Image i to centroid i."""
    return np.diag(pairwise_cost(images, centroids, **options))


@pytest.mark.parametrize("solver", ["quasi-newton", "adam"])
def test_a_known_warp_of_a_digit_is_recovered(digits, solver):
    # The centroid is the digit and the image its deformation by a spline of the same family: some
    # warp of the centroid is the image exactly, so that without a penalty the measure would be
    # zero if the search were perfect. The landmarks move by 0.08 units, more than a pixel; a third
    # of the energy is then out of place.
    images = deformed(digits, 0.08, seed=1)
    costs = own_costs(images, digits, direction="centroid-to-image", smoothness=0.0, solver=solver)
    euclidean = squares(images, digits)
    assert np.median(euclidean / (digits**2).sum(axis=(1, 2))) > 0.25
    assert np.median(costs / euclidean) < 0.01
    assert np.max(costs / euclidean) < 0.05


@pytest.mark.parametrize("solver", ["quasi-newton", "adam"])
def test_a_deformed_digit_is_brought_back(digits, solver):
    # The paper's direction: the deformed image is warped back. The inverse of a spline is not a
    # spline, and interpolating twice blurs strokes of two pixels' width; both cost a few per cent
    # of the energy, but far less than the deformation did.
    images = deformed(digits, 0.08, seed=1)
    costs = own_costs(images, digits, direction="image-to-centroid", smoothness=0.0, solver=solver)
    assert np.median(costs / squares(images, digits)) < 0.2
    assert np.median(costs / (digits**2).sum(axis=(1, 2))) < 0.06


@pytest.mark.parametrize("direction", ["image-to-centroid", "centroid-to-image"])
def test_the_measure_is_nearly_invariant_where_the_euclidean_distance_is_not(
    digits, digits_by_class, direction
):
    # The centroid is another digit of the class. If F aligns x with it, then F after the inverse
    # deformation aligns the deformed x: the measure changes by no more than what the family lacks
    # (inverses and compositions of splines are splines only approximately) and interpolation blurs.
    # The yardstick is |x' - x|^2, what the deformation does to the Euclidean distance from x
    # itself: a measure without invariance changes by that order, and by all of it if the centroid
    # is x. Measured: 8 % (image to centroid) and 10 % to 18 % (centroid to image), in the median.
    others = np.repeat(digits_by_class[:, 7], 2, axis=0)
    images = deformed(digits, 0.08, seed=2)
    yardstick = squares(images, digits)
    options = {"direction": direction, "smoothness": 0.0}
    before, after = own_costs(digits, others, **options), own_costs(images, others, **options)
    assert np.median(np.abs(after - before) / yardstick) < 0.25
    to_itself = own_costs(images, digits, **options)  # undeformed: zero
    assert np.median(to_itself / yardstick) < 0.2


def test_a_digit_is_nearer_to_its_deformation_than_to_any_digit_of_another_class(digits):
    images = deformed(digits, 0.08, seed=3)
    costs = pairwise_cost(images, digits)
    euclidean = ((images[:, None] - digits) ** 2).sum(axis=(2, 3))
    assert np.mean(costs.argmin(axis=1) == np.arange(20)) == 1
    assert np.all(np.diag(costs) < 0.2 * np.diag(euclidean))


def test_the_measure_is_not_symmetric():
    # A square is warped onto black at no cost, as it can be shrunk or pushed out of sight; of black
    # nothing can be made.
    square, black = np.zeros((2, 28, 28))
    square[12:16, 12:16] = 1
    options = {"direction": "image-to-centroid", "smoothness": 0.0}
    there, back = (
        pairwise_cost([a], [b], **options)[0, 0] for a, b in ((square, black), (black, square))
    )
    assert there < 0.1 * back
    assert back == pytest.approx(16, rel=1e-5)


def test_the_measure_between_real_digits_is_not_symmetric(digits):
    costs = pairwise_cost(digits, digits, direction="image-to-centroid", smoothness=0.0)
    gap = np.abs(costs - costs.T) / np.maximum(costs, costs.T).clip(1)
    assert np.median(gap[np.triu_indices(20, 1)]) > 0.1


def test_the_two_directions_are_each_others_transpose(digits):
    # Who is warped is all that a direction says, for images of one energy and a solver that looks
    # at nothing but the cost. Norms differ in their last digit, which sends a descent or two
    # another way.
    unit = digits / np.sqrt((digits**2).sum(axis=(1, 2), keepdims=True))
    one, other = (
        pairwise_cost(unit, unit, direction=direction, solver="adam", smoothness=0.1)
        for direction in ("image-to-centroid", "centroid-to-image")
    )
    np.testing.assert_allclose(one, other.T, rtol=0.01, atol=1e-7)
    assert np.mean(np.isclose(one, other.T, rtol=1e-5, atol=1e-7)) > 0.9
    assert not np.allclose(one, other, rtol=1e-2)


@pytest.mark.parametrize("factor", [2.0**-10, 2.0, 2.0**8])
def test_scaling_both_pictures_by_c_scales_the_measure_by_c_squared(measure, digits, factor):
    # Powers of two change no digit of any number on the way: equality holds bit for bit.
    costs = pairwise_cost(digits[:6], digits[10:13], **measure)
    scaled = pairwise_cost(factor * digits[:6], factor * digits[10:13], **measure)
    np.testing.assert_array_equal(scaled, factor**2 * costs)


def test_scaling_by_255_changes_the_measure_by_its_square_but_for_rounding(measure, digits):
    # Rounding may send a descent over a kink another way, and machines round differently: single
    # pairs differ by a per cent or so, to either side.
    costs = pairwise_cost(digits[:10], digits[10:], **measure)
    scaled = pairwise_cost(
        255 * digits[:10].astype(float), 255 * digits[10:].astype(float), **measure
    )
    assert scaled.mean() == pytest.approx(255**2 * costs.mean(), rel=2e-2)
    assert np.median(np.abs(scaled / (255**2 * costs) - 1)) < 5e-3


def test_the_more_may_be_deformed_the_smaller_the_measure(digits):
    # none < affine < tps as families; the descent does not always see it, the median does.
    costs = [
        pairwise_cost(digits, digits[::3], warp=warp, smoothness=0.0)
        for warp in ("none", "affine", "tps")
    ]
    assert np.all(costs[1] <= costs[0] * (1 + 1e-5) + 1e-5)
    assert np.all(costs[2] <= costs[0] * (1 + 1e-5) + 1e-5)
    assert np.median(costs[2]) < np.median(costs[1]) < np.median(costs[0])


def test_the_stiffer_the_warp_the_larger_the_measure_up_to_the_affine_one(digits):
    stiff = [
        np.median(pairwise_cost(digits, digits[::3], smoothness=s)) for s in (0.0, 0.1, 1.0, 10.0)
    ]
    assert np.all(np.diff(stiff) > 0)
    rigid = pairwise_cost(digits, digits[::3], smoothness=1e6)
    euclidean = pairwise_cost(digits, digits[::3], warp="none")
    # displacement is penalised too: at last nothing moves
    np.testing.assert_allclose(rigid, euclidean, rtol=1e-2, atol=1e-2)


def test_the_penalty_is_smoothness_times_bending_and_a_little_displacement(measure):
    measure = build_measure((28, 28), **measure, smoothness=0.7)
    deltas = np.random.default_rng(0).normal(size=(3, 2, measure.n_basis)).astype(np.float32)
    warp = measure.warp
    expected = [
        0.7
        * (
            warp.bending_energy(d.T.astype(float))
            + DISPLACEMENT_WEIGHT * np.einsum("ai,ij,aj->", d, warp.displacement, d)
        )
        for d in deltas
    ]
    np.testing.assert_allclose(measure.penalty(deltas, np.array([0, 2, 1])), expected, rtol=1e-5)


def test_on_a_coarse_level_data_and_penalty_keep_their_balance():
    # Four pixels become one, so that there are a quarter as many squares to add up.
    measure = build_measure((28, 28), smoothness=0.7)
    problems = measure.bank(np.ones((1, 1, 28, 28))).problems
    sharp, coarse = (problems[level, False].penalties for level in (0, 1))
    np.testing.assert_allclose(coarse, sharp / 4, rtol=1e-5)


def test_the_energy_of_an_image_is_its_squared_norm_and_one_if_it_is_black():
    images = np.stack([np.zeros((2, 3, 3)), np.ones((2, 3, 3)), np.full((2, 3, 3), 1e-20)])
    np.testing.assert_allclose(energies_of(images), [1, 18, 1])


@pytest.mark.parametrize("direction", ["image-to-centroid", "centroid-to-image"])
def test_who_is_warped_onto_whom(direction):
    # A square around (8, 8) and one around (8, 11). Backward warping takes the value for the square
    # of the target from where the square of the template is.
    image, centroid = np.zeros((2, 20, 20))
    image[6:11, 6:11] = centroid[6:11, 9:14] = 1
    found = align(image, centroid, direction=direction, warp="affine", smoothness=0.0)
    place = {"image-to-centroid": (8, 11), "centroid-to-image": (8, 8)}[direction]
    source = {"image-to-centroid": (8, 8), "centroid-to-image": (8, 11)}[direction]
    target = {"image-to-centroid": centroid, "centroid-to-image": image}[direction]
    np.testing.assert_array_equal(found.target, target)
    np.testing.assert_allclose(found.grid[place], source, atol=0.2)
    assert found.cost < 0.02 * ((image - centroid) ** 2).sum()
