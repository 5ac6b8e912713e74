"""The compiled objective against its plain version, its formula, and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.registration import make_warp
from dikmeans.registration.objective import (
    N_WORK_ROWS,
    Pairs,
    Problem,
    add_penalty,
    evaluate,
    evaluate_pairs,
    project,
    residual,
    unmoved_costs,
)
from dikmeans.registration.sampling import PADDING, make_sampler, pad
from tests import reference

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
    n_pixels = problem.sampler.base.shape[1]
    gradient = np.full(delta.shape, np.nan, np.float32)
    work = np.full((N_WORK_ROWS, n_pixels), np.nan, np.float32)
    cells = np.full(n_pixels, 10**6, np.uint32)
    cost = evaluate(problem, pairs, pair, delta, gradient, work, cells)
    return cost, gradient


@given(seed=seeds, first=st.booleans())
def test_residual_equals_its_plain_version(seed, first):
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(4, 60)).astype(np.float32)
    fractions = rng.random((2, 60)).astype(np.float32)
    target, before = rng.normal(size=(3, 60)).astype(np.float32)[:2]
    slopes = np.stack([before, before])
    gain = np.float32(0.3)
    cost = residual(corners, *fractions, target, gain, first, slopes)
    difference = reference.blend(corners, fractions) - target
    pull = 0.3 * difference * reference.slopes_of(corners, fractions)
    assert cost == pytest.approx(0.3 * (difference**2).sum(), rel=1e-4)
    np.testing.assert_allclose(slopes, pull if first else before + pull, atol=2e-5)


@pytest.mark.parametrize(("family", "shape"), CASES)
def test_project_is_phi_transposed_times_the_slopes(family, shape):
    warp = make_warp(family, shape)
    sampler = make_sampler(warp, warp.grid)
    slopes = np.random.default_rng(0).normal(size=(2, warp.grid.n_pixels)).astype(np.float32)
    gradient = np.empty((2, warp.n_basis), np.float32)
    project(sampler, slopes, gradient)
    expected = (slopes.astype(float) @ sampler.phi.astype(float).T) * sampler.scale[:, None]
    np.testing.assert_allclose(gradient, expected, atol=1e-5 * np.abs(expected).max() + 1e-6)


@given(seed=seeds, n_basis=st.integers(1, 20))
def test_add_penalty_returns_the_quadratic_form_and_completes_the_gradient(seed, n_basis):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n_basis, 2 * n_basis))
    penalty = (root @ root.T).astype(np.float32)
    delta, halved = rng.normal(size=(2, 2, n_basis)).astype(np.float32)
    gradient = halved.copy()
    cost = add_penalty(penalty, delta, gradient)
    exact = (penalty.astype(float) @ delta.ravel()).reshape(delta.shape)
    assert cost == pytest.approx((exact * delta).sum(), rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(gradient, 2 * (halved + exact), rtol=1e-4, atol=1e-2)


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
    costs = np.empty(6, np.float32)
    evaluate_pairs(problem, pairs, deltas, costs)
    expected = [reference.evaluate(problem, pairs, i, deltas[i])[0] for i in range(6)]
    np.testing.assert_allclose(costs, expected, rtol=1e-4)
    chosen = np.array([4, 1])
    some = np.empty(2, np.float32)
    evaluate_pairs(problem, pairs.subset(chosen), deltas[chosen], some)
    np.testing.assert_array_equal(some, costs[chosen])


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("family", "shape"), [*CASES, ("tps", (2, 30)), ("affine", (3, 3))])
def test_unmoved_costs_are_those_of_the_identity_and_of_euclid(family, shape, border):
    warp, problem, pairs, (templates, targets) = a_problem(family, shape, border, n_channels=2)
    unmoved, evaluated = np.empty(6, np.float32), np.empty(6, np.float32)
    unmoved_costs(pairs, shape, PADDING, unmoved)
    evaluate_pairs(problem, pairs, np.zeros((6, 2, warp.n_basis), np.float32), evaluated)
    squares = ((templates[:, None] - targets) ** 2).sum(axis=(2, 3, 4)).ravel()
    np.testing.assert_allclose(unmoved, pairs.gain * squares, rtol=1e-5)
    np.testing.assert_allclose(evaluated, pairs.gain * squares, rtol=1e-4)
