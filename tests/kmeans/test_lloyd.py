"""Lloyd's algorithm on real digits: it only ever goes down, revives what dies, and is reproducible."""

from itertools import pairwise

import numpy as np
import pytest

from dikmeans.registration import Status, bulk, make_measure
from dikmeans.registration.warped_measure import Fits
from dikmeans.monitoring.history import History, Iteration
from dikmeans.kmeans.lloyd import lloyd, revive_empty
from dikmeans.kmeans.task import Clustering, Task
from dikmeans.images import scale_to_unit_norm

MEASURES = [
    ("none", "image-to-centroid"),
    ("affine", "image-to-centroid"),
    ("affine", "centroid-to-image"),
    ("tps", "image-to-centroid"),
    ("tps", "centroid-to-image"),
]


@pytest.fixture(scope="module")
def images(digits_by_class):
    """Forty real digits of four classes, (40, 1, 28, 28), class by class."""
    return digits_by_class[[0, 1, 4, 7], :10].reshape(40, 1, 28, 28)


@pytest.fixture(params=MEASURES, ids=["-".join(measure) for measure in MEASURES])
def task_of(request, images):
    """A task under that measure, with any further options of the measure and of the task."""
    warp, direction = request.param

    def make(*, border="zero", unit_norm=False, weights=None, n_jobs=1, pictures=images, **measure):
        measure = make_measure(
            pictures.shape[2:], warp=warp, direction=direction, border=border, **measure
        )
        pictures = scale_to_unit_norm(pictures) if unit_norm else pictures
        weights = np.ones(len(pictures)) if weights is None else weights
        return Task(pictures.astype(measure.dtype), weights, measure, unit_norm, n_jobs)

    return make


def run(task, chosen=(0, 1, 11, 25), max_iter=6, tol=0.0):
    """Lloyd from the images numbered `chosen`; the final state, the reason, and all states."""
    states = [task.assign(task.images[list(chosen)])]
    end, reason = lloyd(
        task, states[0], max_iter=max_iter, tol=tol, report=lambda state, *_: states.append(state)
    )
    return end, reason, states


def distortion_from_scratch(task, clustering):
    """From the definition: every image, warped as its parameters say, against its centroid."""
    labels = clustering.labels
    own = np.arange(len(labels)), labels
    deltas = clustering.fits.deltas[own]
    if task.measure.direction == "image-to-centroid":
        warped = task.measure.render(task.images, np.arange(len(labels)), deltas)
        difference = warped - clustering.centroids[labels]
    else:
        difference = task.measure.render(clustering.centroids, labels, deltas) - task.images
    squares = (difference.astype(float) ** 2).sum(axis=(1, 2, 3))
    energies = (task.images.astype(float) ** 2).sum(axis=(1, 2, 3))
    return task.weights @ (squares + energies * task.measure.penalty(deltas, labels))


@pytest.mark.parametrize("unit_norm", [False, True])
@pytest.mark.parametrize("border", ["zero", "edge"])
def test_the_distortion_never_rises(task_of, border, unit_norm):
    weights = np.random.default_rng(0).uniform(0.2, 2, 40)
    _, _, states = run(task_of(border=border, unit_norm=unit_norm, weights=weights))
    distortions = [state.distortion for state in states]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(distortions))
    assert distortions[-1] < 0.9 * distortions[0]


@pytest.mark.parametrize("smoothness", [0.0, 2.0])
def test_the_distortion_never_rises_whether_the_warp_is_free_or_stiff(task_of, smoothness):
    _, _, states = run(task_of(smoothness=smoothness))
    assert all(b.distortion <= a.distortion * (1 + 1e-6) for a, b in pairwise(states))


def test_the_distortion_is_what_images_warps_and_centroids_say(task_of):
    weights = np.random.default_rng(1).uniform(0.2, 2, 40)
    task = task_of(weights=weights)
    end, _, _ = run(task, max_iter=3)
    assert end.distortion == pytest.approx(distortion_from_scratch(task, end), rel=1e-5)
    np.testing.assert_array_equal(end.labels, end.fits.costs.argmin(axis=1))
    assert end.distortion == pytest.approx(weights @ end.own_costs)


@pytest.mark.parametrize("unit_norm", [False, True])
def test_moving_the_centroids_alone_never_raises_the_distortion(task_of, unit_norm):
    task = task_of(unit_norm=unit_norm)
    start = task.assign(task.images[[0, 1, 11, 25]])
    before = distortion_from_scratch(task, start)
    moved = Clustering(task.move_centroids(start), start.fits, start.weights)
    assert distortion_from_scratch(task, moved) < before * (1 + 1e-6)
    if unit_norm:
        np.testing.assert_allclose(
            (moved.centroids.astype(float) ** 2).sum(axis=(1, 2, 3)), 1, rtol=1e-5
        )


def test_neither_threads_nor_chunks_show_in_the_result(task_of, monkeypatch):
    expected, _, _ = run(task_of(n_jobs=1), max_iter=3)
    for n_jobs in (2, 3):
        found, _, _ = run(task_of(n_jobs=n_jobs), max_iter=3)
        np.testing.assert_array_equal(found.centroids, expected.centroids)
        for a, b in zip(found.fits, expected.fits, strict=True):
            np.testing.assert_array_equal(a, b)
    monkeypatch.setattr(bulk, "CHUNK_PIXELS", 5000)
    found, _, _ = run(task_of(n_jobs=2), max_iter=3)
    np.testing.assert_array_equal(found.labels, expected.labels)
    # products of matrices of another size round differently: without a warp the last digits may
    exact = task_of().measure.exact
    np.testing.assert_allclose(found.centroids, expected.centroids, rtol=1e-12 if exact else 0)


class TestEmptyClusters:
    def empty(self, task):
        """Two clusters on real digits, the third far from everything."""
        centroids = task.images[[0, 11, 25]].copy()
        centroids[2] = 50
        return task.assign(centroids)

    def test_an_empty_cluster_gets_the_image_that_fits_worst(self, task_of):
        task = task_of()
        start = self.empty(task)
        assert 2 not in start.labels
        worst = start.own_costs.argmax()
        revived = revive_empty(task, start)
        np.testing.assert_array_equal(revived.centroids[2], task.images[worst])
        np.testing.assert_array_equal(revived.centroids[:2], start.centroids[:2])
        np.testing.assert_array_equal(revived.fits.costs[:, :2], start.fits.costs[:, :2])
        assert revived.labels[worst] == 2
        assert revived.distortion < start.distortion

    def test_lloyd_ends_without_empty_clusters_and_never_rises(self, task_of):
        task = task_of()
        start = self.empty(task)
        states = [start]
        end, _ = lloyd(
            task, start, max_iter=4, tol=0.0, report=lambda state, *_: states.append(state)
        )
        assert set(end.labels) == {0, 1, 2}
        assert all(b.distortion <= a.distortion * (1 + 1e-6) for a, b in pairwise(states))

    def test_with_unit_norm_the_new_centroid_has_it(self, task_of):
        task = task_of(unit_norm=True)
        start = self.empty(task)
        scaled = Task(3 * task.images, task.weights, task.measure, unit_norm=True)
        revived = revive_empty(scaled, start)
        assert (revived.centroids[2] ** 2).sum() == pytest.approx(1, rel=1e-5)

    def test_an_image_of_no_weight_neither_fills_a_cluster_nor_revives_one(self, task_of):
        weights = np.ones(40)
        task = task_of(weights=weights)
        worst = self.empty(task).own_costs.argsort()[::-1]
        weights[worst[0]] = 0
        revived = revive_empty(task, self.empty(task))
        np.testing.assert_array_equal(revived.centroids[2], task.images[worst[1]])

    def test_full_clusters_are_left_alone(self, task_of):
        task = task_of()
        start = task.assign(task.images[[0, 11, 25]])
        assert revive_empty(task, start) is start

    def test_several_empty_clusters_get_different_images(self, task_of):
        task = task_of()
        centroids = task.images[[0, 11, 25]].copy()
        centroids[1:] = 50
        start = task.assign(centroids)
        revived = revive_empty(task, start)
        worst = start.own_costs.argsort(kind="stable")[::-1][:2]
        np.testing.assert_array_equal(revived.centroids[1:], task.images[worst])


class TestStopping:
    def test_it_stops_when_the_iterations_are_used_up(self, task_of):
        _, reason, states = run(task_of(), max_iter=1)
        assert reason == "max_iter reached"
        assert len(states) == 2

    def test_no_iteration_gives_back_the_start(self, task_of):
        task = task_of()
        start = task.assign(task.images[:2])
        end, _ = lloyd(task, start, max_iter=0, tol=0.0)
        assert end is start

    @pytest.mark.parametrize("tol", [0.002, 0.02, 0.05])
    @pytest.mark.parametrize("direction", ["image-to-centroid", "centroid-to-image"])
    def test_it_stops_as_soon_as_distortion_or_assignment_have_settled_and_says_which(
        self, images, direction, tol
    ):
        task = Task(images, np.ones(40), make_measure((28, 28), direction=direction))
        _, reason, states = run(task, max_iter=60, tol=tol)

        def verdict(before, after):
            fall = (before.distortion - after.distortion) / before.distortion
            moved = np.mean(before.labels != after.labels)
            if fall <= tol:
                return "the distortion fell by less than tol"
            if moved <= tol and fall <= 10 * tol:
                return "hardly any image changed its cluster"
            return None

        verdicts = [verdict(before, after) for before, after in pairwise(states)]
        assert verdicts == [None] * (len(verdicts) - 1) + [reason]

    def test_without_a_warp_it_stops_when_no_image_moves(self, images):
        measure = make_measure((28, 28), warp="none")
        task = Task(images.astype(float), np.ones(40), measure)
        end, reason, states = run(task, max_iter=50)
        assert reason == "no image changed its cluster"
        np.testing.assert_array_equal(states[-1].labels, states[-2].labels)
        for k in range(4):
            np.testing.assert_allclose(end.centroids[k], task.images[end.labels == k].mean(axis=0))

    def test_history_lists_what_was_reported(self, images):
        history = History()
        task = Task(images.astype(float), np.ones(40), make_measure((28, 28), warp="none"))
        lloyd(
            task,
            task.assign(task.images[:3]),
            max_iter=3,
            tol=0.0,
            phase="test",
            report=lambda _, line, __: history.iterations.append(line),
        )
        assert all(
            isinstance(line, Iteration) and line.phase == "test" for line in history.iterations
        )
        assert history.distortion == sorted(history.distortion, reverse=True)
        assert history.iterations[0].moved > 0
        assert all(line.seconds >= 0 for line in history.iterations)


class TestPieces:
    def test_a_warm_assignment_starts_where_the_last_one_ended(self, task_of):
        task = task_of()
        first = task.assign(task.images[[0, 11, 25]])
        second = task.assign(first.centroids, start=first)
        assert np.all(second.own_costs <= first.own_costs * (1 + 1e-6))

    def test_the_own_centroid_is_always_refined(self, images):
        measure = make_measure((28, 28))
        task = Task(images, np.ones(40), measure)
        first = task.assign(images[[0, 11, 25]])
        second = task.assign(task.move_centroids(first), start=first)
        assert np.all(second.fits.status[np.arange(40), first.labels] != Status.PRUNED)
        assert (second.fits.status == Status.PRUNED).any()

    def test_reassign_touches_the_given_columns_only(self, task_of):
        task = task_of()
        first = task.assign(task.images[[0, 11, 25]])
        spoilt = Clustering(
            first.centroids, Fits(*(np.full_like(a, 7) for a in first.fits)), first.weights
        )
        renewed = task.reassign(spoilt, first.centroids, np.array([1]))
        assert np.all(renewed.fits.costs[:, [0, 2]] == 7)
        whole = bulk.fit_images(task.measure, task.images, task.measure.bank(first.centroids))
        np.testing.assert_allclose(
            renewed.fits.costs[:, 1], whole.costs[:, 1], rtol=1e-9, atol=1e-9
        )
        assert np.all(spoilt.fits.costs == 7)


def test_real_digits_are_sorted_better_with_warps_than_without(images):
    # Four classes that differ in shape; a cluster's purity under splines beats plain K-means.
    truth = np.repeat(np.arange(4), 10)

    def purity(warp):
        measure = make_measure((28, 28), warp=warp)
        task = Task(
            scale_to_unit_norm(images).astype(measure.dtype), np.ones(40), measure, unit_norm=False
        )
        end, _, _ = run(task, chosen=(0, 10, 20, 30), max_iter=8)
        return (
            np.mean([np.bincount(truth[end.labels == k]).max() for k in set(end.labels)]) * 4 / 40
        )

    assert purity("tps") >= 0.9
    assert purity("tps") >= purity("none")
