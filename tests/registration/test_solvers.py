"""The solvers: laws for both, in both directions and both families, and Adam step by step."""

import numpy as np
import pytest

from dikmeans.registration import Adam, QuasiNewton, Status
from dikmeans.registration.batches import align_images
from dikmeans.registration.measure import WarmStart
from dikmeans.registration.objective import Pairs, evaluate_pairs
from dikmeans.registration.sampling import pad
from dikmeans.registration.solvers import Stage, resolve_solver
from dikmeans.registration.solvers.quasi_newton import _direction, _History
from tests import reference
from tests.helpers import build_measure
from tests.registration.inlined import from_python


@pytest.fixture(scope="module")
def images(digits_by_class):
    """Twelve real digits (12, 1, 28, 28), of all classes."""
    return digits_by_class[:, :2].reshape(-1, 1, 28, 28)[:12]


@pytest.fixture(scope="module")
def centroids(digits_by_class):
    """Three other digits."""
    return digits_by_class[[1, 4, 7], 10][:, None]


def problem_and_pairs(measure, images, centroids):
    """The sharp problem of all pairs of unit gain, and its gradient's starting point."""
    problem = measure.bank(centroids).problems[0, False]
    n, k = len(images), len(centroids)
    image_of, centroid_of = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    pairs = Pairs(
        templates=pad(images, "zero"),
        targets=np.ascontiguousarray(centroids.reshape(k, 1, -1)),
        template_of=image_of,
        target_of=centroid_of,
        centroid_of=centroid_of,
        image_of=image_of,
        gain=np.full(n * k, 0.01, np.float32),
    )
    return problem, pairs


def costs_at(measure, images, bank, deltas):
    """Costs of given warps: a warm start that may not move."""
    frozen = type(measure)(
        measure.warp,
        smoothness=measure.smoothness,
        direction=measure.direction,
        border=measure.border,
        solver=QuasiNewton(evaluations=0),
    )
    return frozen.align(images, frozen.bank(bank.pictures), start=WarmStart(deltas)).costs


def some_warps(measure, n, k, reach=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=reach, size=(n, k, 2, measure.n_basis)).astype(np.float32)


def test_a_cold_start_never_ends_above_the_cost_of_the_identity(make, images, centroids):
    measure = make()
    costs = measure.align(images, measure.bank(centroids)).costs
    euclidean = ((images[:, None] - centroids) ** 2).sum(axis=(2, 3, 4))
    assert np.all(costs <= euclidean * (1 + 1e-5))
    assert np.median(costs / euclidean) < 0.8  # and it did find something
    assert np.all(costs >= 0)


def test_a_coarse_stage_that_leads_astray_is_forgotten(make):
    # Fine stripes vanish on the low-pass level: what the coarse stages find there is arbitrary.
    stripes = np.zeros((2, 1, 28, 28), np.float32)
    stripes[0, 0, ::2], stripes[1, 0, :, ::2] = 1, 1
    noise = np.random.default_rng(0).random((6, 1, 28, 28)).astype(np.float32)
    images = np.concatenate([stripes, noise])
    measure = make(smoothness=0.0)
    costs = measure.align(images, measure.bank(images)).costs
    euclidean = ((images[:, None] - images) ** 2).sum(axis=(2, 3, 4))
    assert np.all(costs <= euclidean * (1 + 1e-5) + 1e-5)


def test_an_image_is_at_no_distance_from_itself(make, images):
    measure = make()
    fits = measure.align(images, measure.bank(images))
    energies = (images**2).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(np.diag(fits.costs), 0, atol=1e-6 * energies.max())


def test_a_warm_start_never_raises_the_cost(make, images, centroids):
    measure = make()
    bank = measure.bank(centroids)
    for reach in (0.0, 0.05, 0.5):
        start = some_warps(measure, 12, 3, reach)
        before = costs_at(measure, images, bank, start)
        after = measure.align(images, bank, start=WarmStart(start))
        assert np.all(after.costs <= before * (1 + 1e-6))
        assert np.median(after.costs / before) < 1
        np.testing.assert_allclose(
            costs_at(measure, images, bank, after.deltas), after.costs, rtol=1e-5
        )


def test_the_cost_belongs_to_the_warp_that_is_returned(make, images, centroids):
    measure = make()
    bank = measure.bank(centroids)
    fits = measure.align(images, bank)
    np.testing.assert_allclose(costs_at(measure, images, bank, fits.deltas), fits.costs, rtol=1e-5)


def test_results_do_not_depend_on_company_order_batches_or_threads(make, images, centroids):
    # Bit for bit: a result that depends on the number of cores cannot be reproduced elsewhere.
    measure = make()
    bank = measure.bank(centroids)
    together = measure.align(images, bank)
    order = np.random.default_rng(0).permutation(12)
    shuffled = measure.align(images[order], bank)
    alone = measure.align(images[3:4], bank)
    one_centroid = measure.align(images, measure.bank(centroids[1:2]))
    one_centroid = one_centroid._replace(centroids=one_centroid.centroids + 1)
    for all_of_it, some, single, column in zip(
        together, shuffled, alone, one_centroid, strict=True
    ):
        np.testing.assert_array_equal(some, all_of_it[order])
        np.testing.assert_array_equal(single[0], all_of_it[3])
        np.testing.assert_array_equal(column[:, 0], all_of_it[:, 1])
    for pixels in (1, 3000):
        measure.batch_pixels = pixels
        for n_jobs in (1, 2, 3):
            for expected, found in zip(
                together, align_images(measure, images, bank, n_jobs=n_jobs), strict=True
            ):
                np.testing.assert_array_equal(found, expected)


def test_pruning_marks_pairs_and_leaves_the_others_as_they_are(make, images, centroids):
    measure = make()
    bank = measure.bank(centroids)
    whole, pruned = measure.align(images, bank), measure.align(images, bank, prune=1.5)
    gone = pruned.status == Status.PRUNED
    assert 0 < gone.sum() < gone.size
    assert not gone.all(axis=1).any()  # the best pair of an image is always kept
    for kept, expected in zip(pruned, whole, strict=True):
        np.testing.assert_array_equal(kept[~gone], expected[~gone])
    assert not (whole.status == Status.PRUNED).any()
    np.testing.assert_allclose(
        costs_at(measure, images, bank, pruned.deltas), pruned.costs, rtol=1e-5
    )


def test_pruning_of_a_warm_start_judges_by_the_costs_at_the_start_and_keeps_what_it_is_told(
    make, images, centroids
):
    measure = make()
    bank = measure.bank(centroids)
    start = some_warps(measure, 12, 3, 0.02)
    before = costs_at(measure, images, bank, start)
    keep = before.argmax(axis=1)
    whole = measure.align(images, bank, start=WarmStart(start))
    pruned = measure.align(images, bank, start=WarmStart(start, keep=keep), prune=1.2)
    told = np.arange(12), keep
    hopeless = before > 1.2001 * before.min(axis=1, keepdims=True)
    hopeless[told] = False
    assert hopeless.any()
    assert (pruned.status[hopeless] == Status.PRUNED).all()
    np.testing.assert_array_equal(pruned.deltas[hopeless], start[hopeless])
    np.testing.assert_allclose(pruned.costs[hopeless], before[hopeless], rtol=1e-6)
    assert (pruned.status[told] != Status.PRUNED).all()
    kept = pruned.status != Status.PRUNED
    np.testing.assert_array_equal(pruned.costs[kept], whole.costs[kept])


def test_a_pair_that_is_given_up_during_a_descent_would_not_have_won(images, centroids):
    measure = build_measure((28, 28), solver=QuasiNewton())
    before, bank = measure.bank(0.9 * centroids + 0.1 * centroids[::-1]), measure.bank(centroids)
    start = measure.align(images, before).deltas
    whole = measure.align(images, bank, start=WarmStart(start))
    # nothing is hopeless at first
    raced = measure.align(images, bank, start=WarmStart(start), prune=100.0)
    lost = raced.status == Status.PRUNED
    assert 0 < lost.sum() < lost.size
    best = whole.costs.min(axis=1, keepdims=True)
    assert (whole.costs > best)[lost].all()
    np.testing.assert_array_equal(raced.costs[~lost], whole.costs[~lost])
    np.testing.assert_allclose(
        costs_at(measure, images, bank, raced.deltas), raced.costs, rtol=1e-5
    )


def test_pairs_that_were_hopeless_by_far_keep_cost_and_warp_and_change_nothing_else(
    make, images, centroids
):
    measure = make()
    bank = measure.bank(centroids)
    start = some_warps(measure, 12, 3, 0.02)
    known = costs_at(measure, images, bank, start)
    known[:, 0] = 1.5 * known.min(axis=1)  # at the limit that the best pair draws: 1.2 squared
    known[:4, 0] = known[:4].min(axis=1)
    forgotten = known > 1.2**2 * known.min(axis=1, keepdims=True)
    assert 0 < forgotten.sum() < forgotten.size
    whole = measure.align(images, bank, start=WarmStart(start), prune=1.2)
    fits = measure.align(images, bank, start=WarmStart(start, costs=known), prune=1.2)
    assert (fits.status[forgotten] == Status.PRUNED).all()
    np.testing.assert_allclose(fits.costs[forgotten], known[forgotten], rtol=1e-6)
    np.testing.assert_array_equal(fits.deltas[forgotten], start[forgotten])
    both = (fits.status != Status.PRUNED) & (whole.status != Status.PRUNED)
    assert both.any()
    np.testing.assert_array_equal(fits.costs[both], whole.costs[both])


def test_a_bank_made_for_warm_starts_gives_the_same_warm_starts(make, images, centroids):
    measure = make()
    start = some_warps(measure, 12, 3)
    slim, whole = (measure.bank(centroids, warm=warm) for warm in (True, False))
    assert len(slim.compared) < len(whole.compared)
    for found, expected in zip(
        measure.align(images, slim, start=WarmStart(start)),
        measure.align(images, whole, start=WarmStart(start)),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(1, 50), (3, 30), (5, 40), (4, 4), (3, 3), (1, 1), (31, 17)])
def test_pictures_of_any_shape_are_aligned(make, shape):
    rng = np.random.default_rng(0)
    images = rng.random((3, 2, *shape)).astype(np.float32)
    measure = make(shape)
    fits = measure.align(images, measure.bank(images))
    euclidean = ((images[:, None] - images) ** 2).sum(axis=(2, 3, 4))
    assert np.all(fits.costs <= euclidean * (1 + 1e-5) + 1e-5)
    if not measure.warp.grid.live_axes:
        np.testing.assert_allclose(fits.costs, euclidean, rtol=1e-5)


@pytest.mark.parametrize("border", ["zero", "edge"])
def test_black_and_constant_images_are_aligned(make, images, border):
    pictures = np.stack(
        [np.zeros((1, 28, 28)), np.full((1, 28, 28), 1e-25), np.ones((1, 28, 28)), images[0]]
    )
    pictures = pictures.astype(np.float32)
    measure = make(border=border)
    fits = measure.align(pictures, measure.bank(pictures))
    euclidean = ((pictures[:, None] - pictures) ** 2).sum(axis=(2, 3, 4))
    assert np.all(np.isfinite(fits.costs))
    assert np.all(fits.costs <= euclidean * (1 + 1e-5) + 1e-5)
    np.testing.assert_allclose(fits.costs[0], fits.costs[1], rtol=1e-6)  # as good as black


class TestStatus:
    def test_an_exact_minimum_is_converged(self, make, images):
        measure = make()
        black = np.zeros((1, 1, 28, 28), np.float32)
        fits = measure.align(black, measure.bank(black))
        assert fits.status[0, 0] == Status.CONVERGED
        assert not fits.deltas.any()

    def test_adam_uses_its_budget(self, images, centroids, make):
        measure = make(solver=Adam(steps=3))
        assert np.all(measure.align(images, measure.bank(centroids)).status == Status.BUDGET)

    def test_quasi_newton_converges_if_it_is_given_time_and_runs_out_of_it_if_not(
        self, images, centroids, make
    ):
        hasty, patient = (
            make(solver=QuasiNewton(evaluations=2)),
            make(solver=QuasiNewton(evaluations=500)),
        )
        assert np.all(hasty.align(images, hasty.bank(centroids)).status == Status.BUDGET)
        ends = patient.align(images, patient.bank(centroids)).status
        assert np.all(np.isin(ends, [Status.CONVERGED, Status.STALLED]))
        assert np.mean(ends == Status.CONVERGED) > 0.5

    def test_a_kink_without_a_way_down_is_stalled_or_converged_and_keeps_its_place(self, make):
        # A single bright pixel onto itself plus a constant: every move loses, the slope at the kink
        # is not zero on either side.
        dot = np.zeros((1, 1, 16, 16), np.float32)
        dot[0, 0, 8, 8] = 1
        target = dot + 0.01
        measure = make((16, 16), solver=QuasiNewton(evaluations=200))
        bank = measure.bank(target)
        still = np.zeros((1, 1, 2, measure.n_basis), np.float32)
        fits = measure.align(dot, bank, start=WarmStart(still))
        assert fits.status[0, 0] in (Status.CONVERGED, Status.STALLED)
        assert fits.costs[0, 0] <= ((dot - target) ** 2).sum() * (1 + 1e-5)


class TestAdam:
    @pytest.fixture
    def small(self):
        """A problem of smooth blobs on 12 x 10 pixels: no kinks that would amplify rounding."""
        measure = build_measure(
            (12, 10), landmarks=3, smoothness=0.01, direction="image-to-centroid", solver="adam"
        )
        points = measure.warp.grid.points()
        centers = np.array([[0.1, -0.2], [-0.2, 0.2], [0.0, 0.0]])
        blobs = np.exp(-((points - centers[:, None]) ** 2).sum(axis=-1) / 0.3)
        pictures = blobs.reshape(3, 1, 12, 10).astype(np.float32)
        return problem_and_pairs(measure, pictures, pictures[::-1])

    @pytest.mark.parametrize("steps", [0, 1, 2, 25])
    @pytest.mark.parametrize("rate", [0.002, 0.02])
    def test_it_takes_the_steps_of_its_plain_version(self, small, rate, steps):
        problem, pairs = small
        n_basis = problem.n_basis
        start = np.random.default_rng(1).normal(scale=0.05, size=(9, 2, n_basis)).astype(np.float32)
        deltas, costs, status = start.copy(), np.empty(9, np.float32), np.empty(9, np.int8)
        solver = Adam(learning_rate=rate)
        stage = Stage(0, False, steps)
        solver.minimize(
            problem, pairs, np.empty((3, 0, 0), np.float32), stage, deltas, costs, status
        )
        for i in range(9):
            best, place = reference.adam(problem, pairs, i, start[i], rate, steps)
            assert costs[i] == pytest.approx(best, rel=1e-4)
            np.testing.assert_allclose(deltas[i], place, atol=1e-5)

    def test_it_returns_the_best_point_it_has_seen_not_the_last(self, small):
        # With a rate this large every step makes it worse: it must give back where it started.
        problem, pairs = small
        deltas, costs, status = (
            np.zeros((9, 2, 9), np.float32),
            np.empty(9, np.float32),
            np.empty(9, np.int8),
        )
        before = evaluate_pairs(problem, pairs, deltas)
        solver = Adam(learning_rate=100.0)
        none, stage = np.empty((3, 0, 0), np.float32), Stage(0, False, 1)
        solver.minimize(problem, pairs, none, stage, deltas, costs, status)
        np.testing.assert_allclose(costs, before, rtol=1e-6)
        assert not deltas.any()

    def test_it_starts_with_the_affine_map_on_low_pass_pictures(self):
        solver = Adam(0.001, steps=7, affine_learning_rate=0.05, affine_steps=9)
        affine, sharp, whole = solver.cold_stages(3)
        assert affine == Stage(1, True, 9)
        assert (sharp.level, sharp.affine, sharp.evaluations, sharp.prune) == (0, False, 0, np.inf)
        assert (whole.level, whole.affine, whole.evaluations) == (0, False, 7)
        assert solver.warm_stages() == (Stage(0, False, 7),)
        assert [solver.rate(stage) for stage in (affine, whole)] == [0.05, 0.001]


class TestQuasiNewton:
    @pytest.mark.parametrize("n_stored", [0, 1, 4, 6, 9])
    def test_the_direction_is_that_of_the_bfgs_matrix(self, n_stored):
        # Only the last `memory` steps count; the two-loop recursion never forms the matrix.
        rng = np.random.default_rng(n_stored)
        n, memory = 10, 6
        root = rng.normal(size=(2, n, n))
        inverse, hessian = (r @ r.T / n + np.eye(n) for r in root)
        past = rng.normal(size=(n_stored, n))
        history = _History.of(n // 2, memory)
        for i, step in enumerate(past):
            history.steps[i % memory], history.changes[i % memory] = step, hessian @ step
            history.weights[i % memory] = 1 / (step @ hessian @ step)
        history.gradient[:] = rng.normal(size=n)
        slope = from_python(_direction)(inverse.astype(np.float32), history, n_stored)
        recent = past[-memory:] if n_stored else past
        matrix = reference.bfgs_inverse(inverse, recent, recent @ hessian)
        expected = -matrix @ history.gradient
        limit = 1e-3 * np.abs(expected).max()
        np.testing.assert_allclose(history.direction, expected, atol=limit)
        assert slope == pytest.approx(expected @ history.gradient, rel=1e-3)

    def test_the_curvature_inverts_the_damped_gauss_newton_matrix_of_the_centroid(self, centroids):
        measure = build_measure((28, 28), landmarks=3, smoothness=0.05)
        problem = measure.bank(centroids).problems[0, False]
        inverses = QuasiNewton().curvature(problem, centroids)
        phi = measure.warp.basis(measure.warp.grid.points())
        for centroid, inverse in zip(centroids[:, 0].astype(float), inverses, strict=True):
            slopes = np.gradient(centroid, 1 / 14)  # per unit of the frame, which is 14 pixels
            jacobian = np.hstack([slope.reshape(-1, 1) * phi for slope in slopes])
            # the smoothness is 0.05, but the model of the objective assumes 0.1 at least
            penalty = 0.1 * (measure.warp.bending + 0.016 * measure.warp.displacement)
            matrix = jacobian.T @ jacobian / (centroid**2).sum() + np.kron(np.eye(2), penalty)
            matrix += 0.03 * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
            np.testing.assert_allclose(2 * matrix @ inverse, np.eye(len(matrix)), atol=1e-4)

    def test_it_goes_from_coarse_to_fine_and_from_affine_to_the_whole_warp(self):
        stages = QuasiNewton(evaluations=15).cold_stages(3)
        assert stages == (
            Stage(2, True, 8),
            Stage(2, False, 20),
            Stage(1, False, 15),
            Stage(0, False, 15),
        )

    def test_more_evaluations_never_end_higher(self, images, centroids, make):
        # The descent is monotone and deterministic: more budget continues the same path.
        start = some_warps(make(), 12, 3, 0.02)
        costs = []
        for evaluations in (1, 3, 8, 20):
            measure = make(solver=QuasiNewton(evaluations=evaluations))
            fits = measure.align(images, measure.bank(centroids), start=WarmStart(start))
            costs.append(fits.costs)
        assert np.all(np.diff(costs, axis=0) <= 1e-6 * costs[0])


def test_solvers_are_found_by_name_and_taken_as_they_are():
    assert isinstance(resolve_solver("adam"), Adam)
    assert isinstance(resolve_solver("quasi-newton"), QuasiNewton)
    mine = Adam(learning_rate=0.05, steps=10)
    assert resolve_solver(mine) is mine
    assert repr(mine) == "Adam(learning_rate=0.05, steps=10)"


@pytest.mark.parametrize("solver", ["newton", "", None, 3, Adam])
def test_an_unknown_solver_is_refused_with_what_there_is(solver):
    with pytest.raises(ValueError, match=r"solver=.*quasi-newton.*adam"):
        resolve_solver(solver)
