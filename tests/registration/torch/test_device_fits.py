"""Alignments on a device: as good as the compiled ones, each pair on its own, reproducible."""

from itertools import product

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.registration import Adam, QuasiNewton, Status, align, pairwise_cost
from dikmeans.registration.batches import align_images
from dikmeans.registration.measure import WarmStart
from tests.helpers import build_measure
from tests.registration.torch.device_pairs import both, on_device, some_precision, some_warps

pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("few_slots")

DIRECTIONS = ["image-to-centroid", "centroid-to-image"]
MEASURES = [
    *product(["affine", "tps"], DIRECTIONS, ["fixed"]),
    *product(["tps"], DIRECTIONS, ["affine"]),
]


@pytest.fixture(params=MEASURES, ids=["-".join(measure) for measure in MEASURES])
def measure(request) -> dict[str, str]:
    """Keyword arguments that name a measure; the borders have been compared with the objective."""
    return dict(zip(("warp", "direction", "intensity"), request.param, strict=True))


def share_alike(ours, theirs, tol=1e-3):
    """The share of costs that agree to `tol`."""
    return float((np.abs(ours / theirs - 1) < tol).mean())


def fits_of_both(measure, solver, images, centroids):
    """What both make of the same start, compiled first."""
    measures = both((28, 28), solver=solver, **measure)
    bank = measures[0].bank(centroids, warm=True)
    start = some_warps(measures[0], len(images), len(centroids), reach=0.03)
    return [each.align(images, bank, start=WarmStart(start)) for each in measures]


@pytest.mark.parametrize("evaluations", [1, 2, 4])
def test_the_first_steps_are_those_of_the_compiled_descent(measure, evaluations, images, centroids):
    # Later ones may part: where the cost has a kink, the last digit decides which way a pair goes.
    theirs, ours = fits_of_both(measure, QuasiNewton(evaluations=evaluations), images, centroids)
    assert share_alike(ours.costs, theirs.costs, 1e-4) > 0.95
    assert (ours.status == theirs.status).mean() > 0.95
    assert (np.abs(ours.deltas - theirs.deltas).max(axis=(2, 3)) < 1e-3).mean() > 0.95


def test_on_soft_pictures_so_is_the_whole_way(measure, images, centroids):
    soft = [ndimage.gaussian_filter(pictures, (0, 0, 2.5, 2.5)) for pictures in (images, centroids)]
    theirs, ours = fits_of_both(
        measure, QuasiNewton(evaluations=10), *soft
    )  # more than a descent remembers
    assert share_alike(ours.costs, theirs.costs) > 0.9
    assert (ours.status == theirs.status).mean() > 0.95
    theirs, ours = fits_of_both(measure, QuasiNewton(evaluations=40), *soft)
    assert share_alike(ours.costs, theirs.costs, 0.01) > 0.9
    assert (ours.status == theirs.status).mean() > 0.9
    assert (ours.status == Status.CONVERGED).mean() > 0.9


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_adam_takes_the_same_steps(measure, steps, images, centroids):
    theirs, ours = fits_of_both(measure, Adam(steps=steps), images, centroids)
    assert share_alike(ours.costs, theirs.costs) > 0.98
    assert np.median(np.abs(ours.deltas - theirs.deltas)) < 1e-5
    np.testing.assert_array_equal(ours.status, theirs.status)
    _, device = both((28, 28), solver=Adam(steps=steps), **measure)
    blank = np.zeros_like(images[:1])
    assert device.align(blank, device.bank(blank)).status[0, 0] == (
        Status.CONVERGED if steps else Status.BUDGET
    )


def test_costs_are_as_close_to_the_compiled_ones_as_rounding_lets_anyone_be(
    measure, images, digits_by_class
):
    compiled, device = both((28, 28), **measure)
    bank = compiled.bank(digits_by_class[:, 10, None])
    theirs, ours = (measure.align(images, bank).costs for measure in (compiled, device))
    # what the compiled descent makes of pictures that differ in the last digit
    noise = np.random.default_rng(0).normal(scale=2e-7, size=images.shape)
    shaken = compiled.align((images * (1 + noise)).astype(np.float32), bank).costs
    assert np.median(np.abs(ours / theirs - 1)) < 1e-3
    # three standard errors of a difference of such shares of 200 pairs are 0.12 on their own
    assert share_alike(ours, theirs) > share_alike(shaken, theirs) - 0.15
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.01)
    own = np.arange(len(images)), theirs.argmin(axis=1)
    assert np.median(ours[own] / theirs[own] - 1) < 1e-4
    assert ours[own].sum() == pytest.approx(theirs[own].sum(), rel=0.02)


def test_costs_with_a_learned_prior_are_close_too(images, centroids):
    precision = some_precision(16, 3)
    compiled, device = both((28, 28), precision=precision)
    theirs = compiled.align(images, compiled.bank(centroids)).costs
    ours = device.align(images, device.bank(centroids)).costs
    assert np.median(np.abs(ours / theirs - 1)) < 1e-4
    column = device.align(images, device.bank(centroids[2:], columns=np.array([2]))).costs
    np.testing.assert_array_equal(column[:, 0], ours[:, 2])


def test_no_cost_exceeds_the_identitys_and_each_belongs_to_its_warp(measure, images, centroids):
    _, device = both((28, 28), **measure)
    bank = device.bank(centroids)
    fits = device.align(images, bank)
    euclidean = ((images[:, None] - centroids) ** 2).sum(axis=(2, 3, 4))
    assert np.all(fits.costs <= euclidean * (1 + 1e-5))
    frozen = build_measure((28, 28), solver=QuasiNewton(evaluations=1, device="cpu"), **measure)
    again = frozen.align(images, bank, start=WarmStart(fits.deltas))
    np.testing.assert_array_equal(again.costs, fits.costs)
    np.testing.assert_array_equal(again.deltas, fits.deltas)


def test_a_warm_start_never_raises_the_cost(measure, images, centroids):
    _, device = both((28, 28), **measure)
    frozen = build_measure((28, 28), solver=QuasiNewton(evaluations=1, device="cpu"), **measure)
    bank = device.bank(centroids)
    for reach in (0.0, 0.05, 0.5):
        start = some_warps(device, 20, 3, reach)
        before, after = (
            measure.align(images, bank, start=WarmStart(start)).costs
            for measure in (frozen, device)
        )
        assert np.all(after <= before)
        assert np.median(after / before) < 1


def test_no_result_depends_on_company_order_or_batches(measure, images, centroids):
    # Bit for bit, as with the compiled loops.
    _, device = both((28, 28), **measure)
    bank = device.bank(centroids)
    together = device.align(images, bank, prune=2.0)
    order = np.random.default_rng(0).permutation(20)
    shuffled = device.align(images[order], bank, prune=2.0)
    alone = device.align(images[3:4], bank, prune=2.0)
    device.batch_pixels = 7 * 28 * 28
    in_batches = align_images(device, images, bank, prune=2.0, n_jobs=2)
    for all_of_it, some, single, parts in zip(together, shuffled, alone, in_batches, strict=True):
        np.testing.assert_array_equal(some, all_of_it[order])
        np.testing.assert_array_equal(single[0], all_of_it[3])
        np.testing.assert_array_equal(parts, all_of_it)


def test_the_same_call_gives_the_same_result(images, centroids):
    _, device = both((28, 28))
    for first, second in zip(
        *(device.align(images, device.bank(centroids)) for _ in range(2)), strict=True
    ):
        np.testing.assert_array_equal(first, second)


def test_how_a_search_ended_is_told():
    blank = np.zeros((1, 1, 16, 16), np.float32)
    bar, moved = blank.copy(), blank.copy()
    bar[:, :, 3:13, 5:8] = moved[:, :, 3:13, 8:11] = 1
    _, device = both((16, 16))
    bank = device.bank(np.concatenate([bar, moved]))
    assert device.align(bar, bank).status[0, 0] == Status.CONVERGED  # there from the start
    assert device.align(bar, bank, prune=1.0).status[0].tolist() == [
        Status.CONVERGED,
        Status.PRUNED,
    ]
    assert (
        device.align(blank, device.bank(blank)).status[0, 0] == Status.CONVERGED
    )  # no slope anywhere
    _, hasty = both((16, 16), solver=QuasiNewton(evaluations=2))
    assert hasty.align(bar, hasty.bank(moved)).status[0, 0] == Status.BUDGET


def test_pairwise_cost_and_align_take_a_device(images, centroids):
    X, Y = images[:6, 0], centroids[:, 0]
    np.testing.assert_allclose(
        np.median(pairwise_cost(X, Y, solver=on_device())),
        np.median(pairwise_cost(X, Y)),
        rtol=0.02,
    )
    ours, theirs = (align(X[0], X[0] * 0.9, solver=s) for s in (on_device(), "quasi-newton"))
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-3)
    np.testing.assert_allclose(ours.warped, theirs.warped, atol=1e-3)
