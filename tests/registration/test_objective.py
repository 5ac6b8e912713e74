"""The compiled objective against its plain version, its formula, and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.registration import make_warp
from dikmeans.registration.lanes import N_LANES
from dikmeans.registration.objective import (
    Pairs,
    Problem,
    complete,
    evaluate,
    evaluate_pairs,
    make_work,
    penalize,
    unmoved_costs,
)
from dikmeans.registration.sampling import PADDING, make_sampler, pad
from tests import reference
from tests.registration.inlined import from_python

call_complete = from_python(complete)
call_evaluate = from_python(evaluate)
call_penalize = from_python(penalize)

CASES = [
    ("affine", (12, 15)),
    ("tps", (12, 15)),
    ("tps", (1, 40)),
    ("tps", (28, 28)),
    ("affine", (3, 20)),
]
BORDERS = ["zero", "edge", "rim"]

seeds = st.integers(0, 2**32 - 1)


def smooth_pictures(shape, n, n_channels, seed):
    """Sums of a few waves: slopes change slowly, and no two pictures are alike."""
    rng = np.random.default_rng(seed)
    points = make_warp("affine", shape).grid.points()
    pictures = np.zeros((n, n_channels, len(points)))
    for _ in range(3):
        waves = rng.normal(scale=2, size=(n, n_channels, 2))
        pictures += np.sin(waves @ points.T + rng.uniform(0, 6, size=(n, n_channels, 1)))
    return pictures.reshape(n, n_channels, *shape)


def a_problem(family, shape, border="zero", n_channels=1, smoothness=0.05, seed=0, matched=False):
    """Three templates and two targets of smooth pictures, all pairs of them.

    With `matched` light and contrast are solved for.
    """
    warp = make_warp(family, shape)
    penalty = smoothness * (warp.bending + 0.1 * warp.displacement)
    templates = smooth_pictures(shape, 3, n_channels, seed)
    targets = smooth_pictures(shape, 2, n_channels, seed + 1)
    pairs = Pairs(
        templates=pad(templates, border),
        targets=targets.reshape(2, n_channels, -1).astype(np.float32),
        template_of=np.repeat(np.arange(3), 2),
        target_of=np.tile(np.arange(2), 3),
        centroid_of=np.tile(np.arange(2), 3),
        image_of=np.repeat(np.arange(3), 2),
        gain=np.linspace(0.01, 0.03, 6, dtype=np.float32),
    )
    if matched:
        targets = targets - targets.mean(axis=(2, 3), keepdims=True)
        norms = (
            np.linalg.norm(p - p.mean(axis=(2, 3), keepdims=True), axis=(2, 3)).astype(np.float32)
            for p in (templates, targets)
        )
        flat = targets.reshape(2, n_channels, -1).astype(np.float32)
        pairs = pairs._replace(
            targets=flat, **dict(zip(("template_norms", "target_norms"), norms, strict=True))
        )
    # the second centroid's penalty is stiffer, and couples rows and columns
    couple = np.array([[2.0, 0.5], [0.5, 2.0]])
    penalties = np.stack([np.kron(np.eye(2), penalty), np.kron(couple, penalty)]).astype(np.float32)
    problem = Problem(make_sampler(warp, warp.grid), penalties, penalties)
    return warp, problem, pairs, (templates, targets)


def a_delta(warp, seed=0, reach=0.1):
    return (
        np.random.default_rng(seed).normal(scale=reach, size=(2, warp.n_basis)).astype(np.float32)
    )


def evaluate_one(problem, pairs, pair, delta):
    """Cost and gradient by the compiled loops, with scratch space full of rubbish."""
    gradient, work = np.full(delta.size, np.nan, np.float32), make_work(problem, pairs)
    for scratch in (work.rows, work.columns, work.slopes, work.rendered):
        scratch[:] = np.nan
    work.cells[:], work.active[:] = 10**6, 10**6
    cost, n_active = call_evaluate(problem, pairs, pair, delta.ravel(), gradient, work)
    call_complete(problem.sampler, n_active, gradient, work)
    return cost, gradient.reshape(delta.shape)


@pytest.mark.parametrize(("family", "shape"), CASES)
def test_complete_adds_to_the_gradient_with_phi_transposed_times_the_slopes(family, shape):
    warp = make_warp(family, shape)
    sampler = make_sampler(warp, warp.grid)
    rng = np.random.default_rng(0)
    slopes = np.zeros((2, len(sampler.block_weight)), np.float32)
    slopes[:, : warp.grid.n_pixels] = rng.normal(size=(2, warp.grid.n_pixels))
    pull = rng.normal(size=(2, warp.n_basis)).astype(np.float32)
    # slopes of other blocks do not count
    work = make_work(Problem(sampler, pull, pull), a_problem(family, shape)[2])
    active = np.arange(0, len(sampler.block_weight), 2 * N_LANES)
    work.slopes[:], work.active[: len(active)] = slopes, active
    counted = slopes.astype(float).reshape(2, -1, N_LANES)
    counted[:, 1::2] = 0
    in_order = np.empty((2, warp.grid.n_pixels))
    in_order[:, sampler.order] = counted.reshape(2, -1)[:, : warp.grid.n_pixels]
    expected = 2 * (pull + in_order @ sampler.phi.astype(float).T * sampler.scale[:, None])
    gradient = pull.ravel()
    call_complete(sampler, len(active), gradient, work)
    np.testing.assert_allclose(
        gradient, expected.ravel(), atol=1e-5 * np.abs(expected).max() + 1e-6
    )


@pytest.mark.parametrize("matched", [False, True])
def test_an_even_ground_leaves_nothing_to_project(matched):
    _, problem, pairs, _ = a_problem("tps", (28, 28), matched=matched)
    dotted = np.full((3, 1, 28, 28), 0.3)
    dotted[:, :, 5, 9] = 1
    pairs = pairs._replace(templates=pad(dotted, "edge"))
    work, gradient = make_work(problem, pairs), np.zeros(32, np.float32)
    _, n_active = call_evaluate(problem, pairs, 0, np.zeros(32, np.float32), gradient, work)
    # the dot, its neighbors to the left and above, and the blocks of 4 x 4 that they lie in
    assert n_active == 1
    assert set(problem.sampler.order[work.active[0] :][:N_LANES]) >= {5 * 28 + 9, 4 * 28 + 8}


@given(seed=seeds, n_basis=st.integers(1, 20))
def test_penalize_returns_the_quadratic_form_and_half_its_gradient(seed, n_basis):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n_basis, 2 * n_basis))
    penalty = (root @ root.T).astype(np.float32)
    delta = rng.normal(size=2 * n_basis).astype(np.float32)
    pull = np.full_like(delta, np.nan)
    cost = call_penalize(penalty, delta, pull)
    exact = penalty.astype(float) @ delta
    assert cost == pytest.approx((exact * delta).sum(), rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(pull, exact, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("n_channels", [1, 3])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("family", "shape"), CASES)
def test_evaluate_equals_its_plain_version(family, shape, border, n_channels, matched):
    warp, problem, pairs, _ = a_problem(family, shape, border, n_channels, matched=matched)
    for pair in range(6):
        delta = a_delta(warp, pair)
        cost, gradient = evaluate_one(problem, pairs, pair, delta)
        expected_cost, expected_gradient = reference.evaluate(problem, pairs, pair, delta)
        assert cost == pytest.approx(expected_cost, rel=1e-4)
        scale = np.abs(expected_gradient).max()
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-3 * scale)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("family", "shape"), CASES)
def test_the_cost_is_the_squared_residual_times_the_gain_plus_the_penalty(family, shape, border):
    # From the definition: scipy renders the template at the coordinates of the warp.
    warp, problem, pairs, (templates, targets) = a_problem(family, shape, border)
    for pair in range(0, 6, 2):  # the first centroid: bending and displacement alone
        delta = a_delta(warp, pair)
        pixels = warp.grid.to_pixels(warp.coordinates(warp.identity + delta.T))
        template, target = templates[pairs.template_of[pair], 0], targets[pairs.target_of[pair], 0]
        squares = ((reference.render(template, pixels, border) - target) ** 2).sum()
        bending = warp.bending_energy(delta.T.astype(float))
        displacement = (
            ((pixels - warp.grid.to_pixels(warp.coordinates(warp.identity))) ** 2).sum(-1).mean()
        )
        unit = max(shape) / 2
        if len(warp.grid.live_axes) < 2:  # parameters along a flat axis count though nothing moves
            displacement = np.einsum("ai,ij,aj->", delta, warp.displacement, delta) * unit**2
        expected = pairs.gain[pair] * squares + 0.05 * (bending + 0.1 * displacement / unit**2)
        assert evaluate_one(problem, pairs, pair, delta)[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("family", "shape"), CASES)
def test_the_gradient_equals_finite_differences_away_from_pixel_edges(
    family, shape, border, matched
):
    # Differences are taken of the plain version, in double precision, where a step of 1e-8 is fine
    # enough to stay within the pixels; the compiled gradient is good to single precision.
    warp, problem, pairs, _ = a_problem(family, shape, border, matched=matched)
    for pair in range(6):
        delta = a_delta(warp, pair)
        live = reference.locate(problem.sampler, delta)[list(warp.grid.live_axes)]
        assert np.abs(live - np.round(live)).min() > 1e-6
        _, gradient = evaluate_one(problem, pairs, pair, delta)
        expected = reference.finite_differences(
            lambda d, pair=pair: reference.evaluate(problem, pairs, pair, d)[0],
            delta.astype(float),
            1e-8,
        )
        np.testing.assert_allclose(gradient, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("shape", [(1, 40), (3, 20)])
def test_the_data_term_pulls_nothing_along_a_flat_axis(shape):
    warp, problem, pairs, _ = a_problem("tps", shape, smoothness=0.0)
    _, gradient = evaluate_one(problem, pairs, 0, a_delta(warp))
    assert not gradient[0].any()
    assert gradient[1].any()


def test_far_outside_the_picture_there_is_no_slope():
    _, problem, pairs, _ = a_problem("affine", (12, 15), "edge", smoothness=0.0)
    delta = np.zeros((2, 3), np.float32)
    delta[0, 0] = delta[1, 0] = 9.0
    cost, gradient = evaluate_one(problem, pairs, 0, delta)
    assert cost > 0
    assert not gradient.any()


@pytest.mark.parametrize("family", ["affine", "tps"])
def test_evaluate_pairs_gives_every_pair_the_cost_it_has_alone(family):
    warp, problem, pairs, _ = a_problem(family, (12, 15), n_channels=2)
    deltas = np.stack([a_delta(warp, seed) for seed in range(6)])
    costs = evaluate_pairs(problem, pairs, deltas)
    expected = [reference.evaluate(problem, pairs, i, deltas[i])[0] for i in range(6)]
    np.testing.assert_allclose(costs, expected, rtol=1e-4)
    chosen = np.array([4, 1])
    some = evaluate_pairs(problem, pairs.subset(chosen), deltas[chosen])
    np.testing.assert_array_equal(some, costs[chosen])


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("family", "shape"), [*CASES, ("tps", (2, 30)), ("affine", (3, 3))])
def test_unmoved_costs_are_those_of_the_identity_and_of_euclid(family, shape, border):
    warp, problem, pairs, (templates, targets) = a_problem(family, shape, border, n_channels=2)
    unmoved = np.empty(6, np.float32)
    unmoved_costs(pairs, shape, PADDING, unmoved)
    evaluated = evaluate_pairs(problem, pairs, np.zeros((6, 2, warp.n_basis), np.float32))
    squares = ((templates[:, None] - targets) ** 2).sum(axis=(2, 3, 4)).ravel()
    np.testing.assert_allclose(unmoved, pairs.gain * squares, rtol=1e-5)
    np.testing.assert_allclose(evaluated, pairs.gain * squares, rtol=1e-4)
