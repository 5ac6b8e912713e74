"""Costs, gradients, rendering and its adjoint on a device are those of the compiled loops."""

from itertools import product

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.registration import make_warp
from dikmeans.registration.descent import Descent
from dikmeans.registration.objective import complete, evaluate, make_work
from tests import reference
from tests.registration.inlined import from_python
from tests.registration.torch.device_pairs import both, some_precision, some_warps

torch = pytest.importorskip("torch")

CPU = torch.device("cpu")

call_complete = from_python(complete)
call_evaluate = from_python(evaluate)
SHAPES = [(12, 15), (1, 40)]
CHANNELS = [1, 3]


def a_scene(shape, n_channels, measure, *, learned=False):
    """Both measures, the sharp problem of five images with two centroids, warps of the pairs."""
    rng = np.random.default_rng(0)
    # soft blots: on noise, rounding of the places alone would show in the fifth digit
    blots = ndimage.gaussian_filter(rng.random((7, n_channels, *shape)), (0, 0, 2, 2)).astype(
        np.float32
    )
    images, centroids = blots[:5], blots[5:]
    n_basis = make_warp(measure["warp"], shape).n_basis
    precision = some_precision(n_basis, 2) if learned else None
    compiled, device = both(shape, precision=precision, **measure)
    problem = compiled.bank(centroids).problems[0, False]
    pairs = Descent(compiled, images, compiled.bank(centroids), None)._pairs(images, 0)
    deltas = np.stack([a_clear_warp(compiled, problem.sampler, rng) for _ in range(10)])
    return compiled, device, problem, pairs, deltas


def a_clear_warp(measure, sampler, rng):
    """A warp that leads no pixel onto an edge, where rounding decides about the slope."""
    while True:
        delta = rng.normal(scale=0.1, size=(2, measure.n_basis)).astype(np.float32)
        live = reference.locate(sampler, delta)[list(measure.warp.grid.live_axes)]
        if np.abs(live - np.round(live)).min() > 1e-5:
            return delta


def compiled_values(problem, pairs, deltas):
    """Costs and gradients of all pairs by the compiled loops."""
    flat = deltas.reshape(len(deltas), -1)
    work, costs, gradients = make_work(problem, pairs), [], np.empty_like(flat)
    for i, delta in enumerate(flat):
        cost, n_active = call_evaluate(problem, pairs, i, delta, gradients[i], work)
        call_complete(problem.sampler, n_active, gradients[i], work)
        costs.append(cost)
    return np.array(costs), gradients


def device_values(problem, pairs, deltas):
    """The same by PyTorch, a slot a pair."""
    from dikmeans.registration.torch.slots import Slots

    slots = Slots(problem, pairs, CPU)
    everyone = torch.arange(len(deltas))
    slots.load(everyone, everyone)
    trial = torch.zeros((slots.n_slots, slots.n_parameters))
    trial[everyone] = torch.from_numpy(deltas).flatten(1)
    costs, gradients = slots.evaluate(trial)
    return costs[everyone].numpy(), gradients[everyone].numpy()


@pytest.mark.parametrize("learned", [False, True], ids=["bending", "learned"])
@pytest.mark.parametrize("n_channels", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_costs_and_gradients_are_the_compiled_ones(measure, shape, n_channels, learned):
    _, _, problem, pairs, deltas = a_scene(shape, n_channels, measure, learned=learned)
    costs, gradients = device_values(problem, pairs, deltas)
    expected_costs, expected_gradients = compiled_values(problem, pairs, deltas)
    np.testing.assert_allclose(costs, expected_costs, rtol=1e-5)
    np.testing.assert_allclose(
        gradients, expected_gradients, atol=1e-5 * np.abs(expected_gradients).max()
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_costs_and_gradients_are_those_of_the_formula(measure, shape):
    _, _, problem, pairs, deltas = a_scene(shape, 2, measure, learned=True)
    costs, gradients = device_values(problem, pairs, deltas)
    expected = [
        reference.evaluate(problem, pairs, pair, delta) for pair, delta in enumerate(deltas)
    ]
    np.testing.assert_allclose(costs, [cost for cost, _ in expected], rtol=1e-5)
    expected_gradients = np.stack([gradient.ravel() for _, gradient in expected])
    np.testing.assert_allclose(
        gradients, expected_gradients, atol=1e-5 * np.abs(expected_gradients).max()
    )


@pytest.mark.usefixtures("few_slots")
def test_costs_of_more_pairs_than_there_are_slots(measure):
    _, device, problem, pairs, deltas = a_scene((28, 28), 1, measure)
    costs = device.evaluate(problem, pairs, deltas)
    np.testing.assert_allclose(costs, compiled_values(problem, pairs, deltas)[0], rtol=1e-5)


def test_warps_that_are_no_numbers_or_lead_far_away_do_no_harm():
    measure = {"warp": "affine", "direction": "centroid-to-image", "border": "edge"}
    _, device, problem, pairs, deltas = a_scene((12, 15), 1, measure)
    alone = device.evaluate(problem, pairs, deltas)
    deltas[2], deltas[3], deltas[4] = np.nan, np.inf, 1e6
    costs = device.evaluate(problem, pairs, deltas)
    others = [0, 1, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(costs[others], alone[others])
    assert not np.isfinite(costs[[2, 3]]).any()


@pytest.mark.parametrize("n_channels", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("few_slots")
def test_rendered_pictures_are_the_compiled_ones(measure, shape, n_channels):
    compiled, device = both(shape, **measure)
    pictures = np.random.default_rng(0).random((4, n_channels, *shape)).astype(np.float32)
    which = np.arange(60) % 4
    deltas = some_warps(compiled, 60, 1, reach=0.3)[:, 0]
    rendered = device.render(pictures, which, deltas)
    np.testing.assert_allclose(rendered, compiled.render(pictures, which, deltas), atol=2e-5)
    # where a picture stands among others does not show, not even in the last digit
    np.testing.assert_array_equal(
        device.render(pictures, which[50:51], deltas[50:51]), rendered[50:51]
    )


def sums(measure, centroids, images, labels, weights, deltas):
    """Residuals and ones, carried back to the pixels of the centroids."""
    return measure.back_project(centroids, images, labels, weights, deltas, 1)


def members(measure, shape, n_channels, n=50, k=3):
    """Centroids (the last one without members), and images with labels, weights and warps."""
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(k, n_channels, *shape)).astype(np.float32)
    images = rng.random((n, n_channels, *shape)).astype(np.float32)
    weights = rng.uniform(0, 2, n)
    labels = np.arange(n) % (k - 1)
    weights[labels == 1] *= 1e-12  # of a weight that beside the others would be lost
    return centroids, images, labels, weights, some_warps(measure, n, 1, reach=0.3)[:, 0]


@pytest.mark.parametrize("n_channels", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("few_slots")
def test_the_adjoint_is_the_compiled_one(measure, shape, n_channels):
    compiled, device = both(shape, **measure)
    scene = members(compiled, shape, n_channels)
    for ours, expected in zip(sums(device, *scene), sums(compiled, *scene), strict=True):
        assert not ours[2].any()
        for cluster in range(2):
            scale = np.abs(expected[cluster]).max()
            np.testing.assert_allclose(ours[cluster], expected[cluster], atol=2e-5 * scale)


@pytest.mark.usefixtures("few_slots")
def test_sums_do_not_depend_on_the_order_or_the_company_of_the_images():
    _, device = both((12, 15))
    centroids, *images = members(device, (12, 15), 2)
    expected = sums(device, centroids, *images)
    order = np.random.default_rng(1).permutation(50)
    shuffled = sums(device, centroids, *(of_image[order] for of_image in images))
    parts = [
        sums(device, centroids, *(of_image[part] for of_image in images))
        for part in np.split(order, [7])
    ]
    together = [sum(of_part) for of_part in zip(*parts, strict=True)]
    for push_or_mass, *others in zip(expected, shuffled, together, strict=True):
        for other, cluster in product(others, range(2)):
            scale = np.abs(push_or_mass[cluster]).max()
            np.testing.assert_allclose(other[cluster], push_or_mass[cluster], atol=1e-14 * scale)
