"""Lloyd's algorithm on real digits: the inertia falls, empty clusters revive, runs repeat."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.lloyd import descend, lloyd, revive_empty
from dikmeans.registration import Status
from dikmeans.registration.batches import align_images
from dikmeans.registration.descent import MAX_CANDIDATES
from dikmeans.registration.measure import PairFits
from tests.helpers import build_measure
from tests.kmeans.problem import Problem

MEASURES = [
    ("none", "image-to-centroid", "fixed"),
    ("affine", "image-to-centroid", "fixed"),
    ("affine", "centroid-to-image", "fixed"),
    ("tps", "image-to-centroid", "fixed"),
    ("tps", "centroid-to-image", "fixed"),
    ("none", "image-to-centroid", "affine"),
    ("affine", "centroid-to-image", "affine"),
    ("tps", "image-to-centroid", "affine"),
    ("tps", "centroid-to-image", "affine"),
]


@pytest.fixture(scope="module")
def images(digits_by_class):
    """Forty real digits of four classes, (40, 1, 28, 28), class by class."""
    return digits_by_class[[0, 1, 4, 7], :10].reshape(40, 1, 28, 28)


@pytest.fixture(params=MEASURES, ids=["-".join(measure) for measure in MEASURES])
def problem_of(request, images):
    """Images under that measure, with any further options."""
    warp, direction, intensity = request.param

    def make(*, unit_norm=False, weights=None, n_jobs=1, pictures=images, **words):
        measure = build_measure(
            pictures.shape[2:],
            **{"warp": warp, "direction": direction, "intensity": intensity} | words,
            unit_norm=unit_norm,
        )
        pictures = scale_to_unit_norm(pictures) if unit_norm else pictures
        return Problem.of(pictures, measure, weights, n_jobs)

    return make


def run(problem, chosen=(0, 1, 11, 25), max_iter=6, tol=0.0):
    """Lloyd from the images numbered `chosen`; all clusterings, and why it stopped."""
    start = problem.assign(problem.images[list(chosen)])
    steps = problem.lloyd(start, max_iter=max_iter, tol=tol)
    return [start, *(step.clustering for step in steps)], steps[-1].stopped


@pytest.mark.parametrize("unit_norm", [False, True])
@pytest.mark.parametrize("border", ["zero", "edge"])
def test_the_inertia_never_rises(problem_of, border, unit_norm):
    weights = np.random.default_rng(0).uniform(0.2, 2, 40)
    states, _ = run(problem_of(border=border, unit_norm=unit_norm, weights=weights))
    inertias = [state.inertia for state in states]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(inertias))
    assert inertias[-1] < 0.9 * inertias[0]


@pytest.mark.parametrize("smoothness", [0.0, 2.0])
def test_the_inertia_never_rises_whether_the_warp_is_free_or_stiff(problem_of, smoothness):
    states, _ = run(problem_of(smoothness=smoothness))
    assert all(b.inertia <= a.inertia * (1 + 1e-6) for a, b in pairwise(states))


def test_the_inertia_is_what_images_warps_and_centroids_say(problem_of):
    weights = np.random.default_rng(1).uniform(0.2, 2, 40)
    problem = problem_of(weights=weights)
    (*_, end), _ = run(problem, max_iter=3)
    fit = problem.local(end)
    assert end.inertia == pytest.approx(problem.inertia(end), rel=1e-5)
    np.testing.assert_array_equal(fit.labels, problem.fits(end).costs.argmin(axis=1))
    assert end.inertia == pytest.approx(weights @ fit.nearest_costs)
    np.testing.assert_allclose(end.sizes, np.bincount(fit.labels, weights, minlength=4))


@pytest.mark.parametrize("unit_norm", [False, True])
def test_moving_the_centroids_alone_never_raises_the_inertia(problem_of, unit_norm):
    problem = problem_of(unit_norm=unit_norm)
    start = problem.assign(problem.images[[0, 1, 11, 25]])
    before = problem.inertia(start)
    moved = replace(start, centroids=problem.dataset.move_centroids(problem.measure, start))
    assert problem.inertia(moved) < before * (1 + 1e-6)
    if problem.measure.unit_norm:  # a measure that does not see the norm does not constrain it
        np.testing.assert_allclose(
            (moved.centroids.astype(float) ** 2).sum(axis=(1, 2, 3)), 1, rtol=1e-5
        )


def test_neither_threads_nor_batches_show_in_the_result(problem_of):
    problem = problem_of(n_jobs=1)
    (*_, expected), _ = run(problem, max_iter=3)
    for n_jobs in (2, 3):
        (*_, found), _ = run(problem_of(n_jobs=n_jobs), max_iter=3)
        np.testing.assert_array_equal(found.centroids, expected.centroids)
        for a, b in zip(problem.fits(found), problem.fits(expected), strict=True):
            np.testing.assert_array_equal(a, b)
    in_batches = problem_of(n_jobs=2)
    in_batches.measure.batch_pixels = 5000
    (*_, found), _ = run(in_batches, max_iter=3)
    np.testing.assert_array_equal(in_batches.labels(found), problem.labels(expected))
    # products of matrices of another size round differently: without a warp the last digits may
    rtol = 1e-12 if problem.measure.warp.name == "none" else 0
    np.testing.assert_allclose(found.centroids, expected.centroids, rtol=rtol)


class TestEmptyClusters:
    def empty(self, problem):
        """Two clusters on real digits, the third far from everything."""
        centroids = problem.images[[0, 11, 25]].copy()
        centroids[2] = 50
        return problem.assign(centroids)

    def revive(self, problem, clustering):
        return revive_empty(problem.dataset, problem.measure, clustering)

    def test_an_empty_cluster_gets_the_image_that_fits_worst(self, problem_of):
        problem = problem_of()
        start = self.empty(problem)
        fit = problem.local(start)
        assert 2 not in fit.labels
        worst = fit.nearest_costs.argmax()
        revived = self.revive(problem, start)
        np.testing.assert_array_equal(revived.centroids[2], problem.images[worst])
        np.testing.assert_array_equal(revived.centroids[:2], start.centroids[:2])
        np.testing.assert_array_equal(problem.fits(revived).costs[:, :2], fit.costs[:, :2])
        assert problem.labels(revived)[worst] == 2
        assert revived.inertia < start.inertia

    def test_lloyd_ends_without_empty_clusters_and_never_rises(self, problem_of):
        problem = problem_of()
        start = self.empty(problem)
        states = [start, *(step.clustering for step in problem.lloyd(start, max_iter=4))]
        assert set(problem.labels(states[-1])) == {0, 1, 2}
        assert all(b.inertia <= a.inertia * (1 + 1e-6) for a, b in pairwise(states))

    def test_with_unit_norm_the_new_centroid_has_it(self, problem_of):
        problem = problem_of(unit_norm=True, intensity="fixed")
        start = self.empty(problem)
        scaled = Problem.of(3 * problem.images, problem.measure)
        revived = self.revive(scaled, start)
        assert (revived.centroids[2] ** 2).sum() == pytest.approx(1, rel=1e-5)

    def test_an_image_of_no_weight_neither_fills_a_cluster_nor_revives_one(self, problem_of):
        problem = problem_of()
        worst = problem.local(self.empty(problem)).nearest_costs.argsort()[::-1]
        weights = np.ones(40)
        weights[worst[0]] = 0
        problem = problem_of(weights=weights)
        revived = self.revive(problem, self.empty(problem))
        np.testing.assert_array_equal(revived.centroids[2], problem.images[worst[1]])

    def test_full_clusters_are_left_alone(self, problem_of):
        problem = problem_of()
        start = problem.assign(problem.images[[0, 11, 25]])
        assert self.revive(problem, start) is start

    def test_several_empty_clusters_get_different_images(self, problem_of):
        problem = problem_of()
        centroids = problem.images[[0, 11, 25]].copy()
        centroids[1:] = 50
        start = problem.assign(centroids)
        revived = self.revive(problem, start)
        worst = problem.local(start).nearest_costs.argsort(kind="stable")[::-1][:2]
        np.testing.assert_array_equal(revived.centroids[1:], problem.images[worst])


class TestStopping:
    def test_it_stops_when_the_iterations_are_used_up(self, problem_of):
        states, reason = run(problem_of(), max_iter=1)
        assert reason == "max_iter reached"
        assert len(states) == 2

    def test_no_iteration_gives_back_the_start(self, problem_of):
        problem = problem_of()
        start = problem.assign(problem.images[:2])
        assert descend(problem.dataset, problem.measure, start, max_iter=0, tol=0.0) is start

    @pytest.mark.parametrize("tol", [0.002, 0.02, 0.05])
    @pytest.mark.parametrize("direction", ["image-to-centroid", "centroid-to-image"])
    def test_it_stops_as_soon_as_inertia_or_assignment_have_settled_and_says_which(
        self, images, direction, tol
    ):
        problem = Problem.of(images, build_measure((28, 28), direction=direction))
        states, reason = run(problem, max_iter=60, tol=tol)

        def verdict(before, after):
            fall = (before.inertia - after.inertia) / before.inertia
            moved = np.mean(problem.labels(before) != problem.labels(after))
            if fall <= tol:
                return "the inertia fell by less than tol"
            if moved <= tol and fall <= 10 * tol:
                return "hardly any image changed its cluster"
            return None

        verdicts = [verdict(before, after) for before, after in pairwise(states)]
        assert verdicts == [None] * (len(verdicts) - 1) + [reason]

    def test_without_a_warp_it_stops_when_no_image_moves(self, images):
        problem = Problem.of(images, build_measure((28, 28), warp="none"))
        states, reason = run(problem, max_iter=50)
        before, end = states[-2:]
        labels = problem.labels(end)
        assert reason == "no image changed its cluster"
        np.testing.assert_array_equal(labels, problem.labels(before))
        for k in range(4):
            mean = problem.images[labels == k].mean(axis=0)
            np.testing.assert_allclose(end.centroids[k], mean)

    def test_steps_tell_what_moved_and_how_long_it_took(self, images):
        problem = Problem.of(images, build_measure((28, 28), warp="none"))
        start = problem.assign(problem.images[:3])
        steps = problem.lloyd(start, max_iter=3)
        states = [start, *(step.clustering for step in steps)]
        inertias = [state.inertia for state in states]
        assert inertias == sorted(inertias, reverse=True)
        for (before, after), step in zip(pairwise(states), steps, strict=True):
            moved = (problem.labels(before) != problem.labels(after)).sum()
            assert after.summary.moved == moved
            assert step.seconds >= 0
        assert steps[0].clustering.summary.moved > 0
        assert [bool(step.stopped) for step in steps] == [False, False, True]

    def test_iterations_that_are_done_already_count(self, problem_of):
        problem = problem_of()
        states, _ = run(problem, chosen=(20, 21, 22, 23), max_iter=3)
        rest = list(lloyd(problem.dataset, problem.measure, states[1], max_iter=3, tol=0.0, done=1))
        assert len(rest) == 2
        for step, expected in zip(rest, states[2:], strict=True):
            np.testing.assert_array_equal(step.clustering.centroids, expected.centroids)
        assert rest[-1].stopped == "max_iter reached"


class TestPieces:
    def test_a_warm_assignment_starts_where_the_last_one_ended(self, problem_of):
        problem = problem_of()
        first = problem.assign(problem.images[[0, 11, 25]])
        second = problem.assign(first.centroids, start=first)
        before, after = (problem.local(state).nearest_costs for state in (first, second))
        assert np.all(after <= before * (1 + 1e-6))

    def test_the_centroid_that_was_nearest_is_always_refined(self, images):
        problem = Problem.of(images, build_measure((28, 28)))
        first = problem.assign(images[[0, 11, 25]])
        moved = problem.dataset.move_centroids(problem.measure, first)
        status = problem.fits(problem.assign(moved, start=first)).status
        assert np.all(status[np.arange(40), problem.labels(first)] != Status.PRUNED)
        assert (status == Status.PRUNED).any()

    def test_realign_touches_the_given_columns_only(self, problem_of):
        problem = problem_of()
        first = problem.assign(problem.images[[0, 11, 25]])
        fits = problem.fits(first)
        spoilt_fits = PairFits(*(np.full_like(a, 7) for a in fits))
        spoilt_fits = spoilt_fits._replace(centroids=fits.centroids)
        spoilt = replace(first, fits=(spoilt_fits,))
        renewed = problem.dataset.realign(problem.measure, spoilt, first.centroids, np.array([1]))
        assert np.all(problem.fits(renewed).costs[:, [0, 2]] == 7)
        bank = problem.measure.bank(first.centroids)
        whole = align_images(problem.measure, problem.images, bank)
        np.testing.assert_allclose(
            problem.fits(renewed).costs[:, 1], whole.costs[:, 1], rtol=1e-9, atol=1e-9
        )
        assert np.all(spoilt_fits.costs == 7)


def test_real_digits_are_sorted_better_with_warps_than_without(images):
    # Four classes that differ in shape; a cluster's purity under splines beats plain K-means.
    truth = np.repeat(np.arange(4), 10)

    def purity(warp):
        problem = Problem.of(scale_to_unit_norm(images), build_measure((28, 28), warp=warp))
        (*_, end), _ = run(problem, chosen=(0, 10, 20, 30), max_iter=8)
        labels = problem.labels(end)
        return np.mean([np.bincount(truth[labels == k]).max() for k in set(labels)]) * 4 / 40

    assert purity("tps") >= 0.9
    assert purity("tps") >= purity("none")


class TestManyCentroids:
    """With many centroids an image keeps its candidates only."""

    @pytest.fixture
    def many(self, digits_by_class):
        """A hundred and sixty digits as centroids, eighty others as images."""
        pictures = scale_to_unit_norm(digits_by_class[:, :24].reshape(-1, 1, 28, 28))
        is_image = np.arange(len(pictures)) % 3 == 0
        return Problem.of(pictures[is_image], build_measure((28, 28))), pictures[~is_image].copy()

    def test_candidates_are_few_ascending_and_nearly_always_include_the_nearest(self, many):
        problem, centroids = many
        fits = problem.fits(problem.assign(centroids))
        assert fits.costs.shape == (80, MAX_CANDIDATES)
        assert (np.diff(fits.centroids, axis=1) > 0).all()
        whole = align_images(problem.measure, problem.images, problem.measure.bank(centroids))
        best = whole.costs.min(axis=1)
        assert fits.costs.min(axis=1).sum() <= 1.005 * best.sum()
        assert (fits.labels == whole.labels).mean() >= 0.95

    def test_an_iteration_keeps_the_candidates_and_lowers_the_inertia(self, many):
        problem, centroids = many
        first = problem.assign(centroids)
        following = problem.assign(problem.dataset.move_centroids(problem.measure, first), first)
        before, after = problem.fits(first), problem.fits(following)
        np.testing.assert_array_equal(after.centroids, before.centroids)
        assert following.inertia < first.inertia
        assert following.sizes.sum() == 80

    def test_a_new_centroid_becomes_a_candidate_where_it_is_among_the_cheapest(self, many):
        problem, centroids = many
        first = problem.assign(centroids)
        renewed = centroids.copy()
        renewed[7] = problem.images[3]
        fits = problem.fits(problem.dataset.realign(problem.measure, first, renewed, np.array([7])))
        assert fits.labels[3] == 7
        assert fits.costs.shape == (80, MAX_CANDIDATES)
        assert (np.diff(fits.centroids, axis=1) > 0).all()
        before = problem.fits(first)
        others = np.where(before.centroids == 7, np.inf, before.costs).min(axis=1)
        assert (fits.costs.min(axis=1) <= others).all()
