"""What users of DIKMeans rely on."""

from __future__ import annotations

import io
import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dikmeans import DIKMeans, Search, align
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.run import Run
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.preprocessing import Identity
from dikmeans.registration import Adam, QuasiNewton, Status
from tests.helpers import quick
from tests.reference import clustering_accuracy

WARPS = ("none", "affine", "tps")


@pytest.fixture(scope="module", params=WARPS)
def fitted(request, real_digits):
    X, _ = real_digits
    return quick(warp=request.param).fit(X[:150]), X[:150]


def test_labels_equal_predictions(fitted):
    model, X = fitted
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_the_inertia_is_the_sum_of_the_lowest_costs_and_minus_the_score(fitted):
    model, X = fitted
    lowest = model.transform(X).min(axis=1).sum(dtype=np.float64)
    # transform refines every pair, also those that `predict` gives up: some may then be cheaper
    assert lowest <= model.inertia_ * (1 + 1e-6)
    assert lowest == pytest.approx(model.inertia_, rel=1e-3)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-9)


def test_a_row_has_the_same_result_alone_and_in_any_batch(fitted):
    model, X = fitted
    whole = model.transform(X[:70])
    np.testing.assert_array_equal(model.transform(X[3:4])[0], whole[3])
    np.testing.assert_array_equal(model.transform(X[:70][::-1])[::-1], whole)


def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(fitted):
    model, X = fitted
    other = quick(warp=model.warp, n_jobs=1).fit(X)
    np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.inertia_ == model.inertia_


def test_the_inertia_falls_within_every_phase(fitted):
    model, _ = fitted
    by_phase: dict[str, list[float]] = {}
    for iteration in model.history_.iterations:
        by_phase.setdefault(iteration.phase, []).append(iteration.inertia)
        assert iteration.seconds >= 0
        assert iteration.moved >= 0
    assert model.history_.stopped
    # after a swap that is kept, the inertia is lower than before all swaps
    for inertias in by_phase.values():
        assert (np.diff(inertias) <= 1e-6 * inertias[0]).all()


def test_max_iter_bounds_the_iterations_on_all_images_and_the_search_has_its_own(real_digits):
    X = real_digits[0][:150]
    model = quick(max_iter=1, search__max_iter=3, search__tol=0.0).fit(X)
    counts = Counter(record.phase for record in model.history_.iterations)
    assert model.n_iter_ == counts[PhaseKind.ALL_IMAGES.value] == 1
    assert counts[PhaseKind.SEARCH.value] == 3
    model.set_params(max_iter=7, search__max_iter=1).fit(X)
    counts = Counter(record.phase for record in model.history_.iterations)
    assert 1 < model.n_iter_ == counts[PhaseKind.ALL_IMAGES.value] <= 7
    assert counts[PhaseKind.SEARCH.value] == 1


@pytest.mark.parametrize("sample_size", ["auto", 50])
def test_all_warps_start_from_the_same_centroids(real_digits, sample_size):
    X, _ = real_digits
    starts = [
        quick(warp=warp, random_state=3, search__sample_size=sample_size).fit(X[:100]).init_centers_
        for warp in WARPS
    ]
    np.testing.assert_array_equal(starts[0], starts[1])
    np.testing.assert_array_equal(starts[0], starts[2])


def test_affine_beats_k_means_and_splines_beat_affine_on_real_digits(real_digits):
    X, y = real_digits
    accuracies = {
        w: clustering_accuracy(y, DIKMeans(10, warp=w, random_state=0).fit(X).labels_)
        for w in WARPS
    }
    assert accuracies["none"] + 0.1 < accuracies["affine"]
    assert accuracies["none"] + 0.2 < accuracies["tps"]
    assert accuracies["tps"] > 0.8


def test_images_of_any_layout_give_the_same_clustering(real_digits):
    X, _ = real_digits
    X = X[:80]
    stack = quick().fit(X)
    flat = quick(image_shape=(28, 28)).fit(X.reshape(80, -1))
    channel = quick().fit(X[..., None])
    listed = quick().fit(list(X))
    np.testing.assert_array_equal(flat.labels_, stack.labels_)
    np.testing.assert_array_equal(channel.labels_, stack.labels_)
    np.testing.assert_array_equal(listed.labels_, stack.labels_)
    assert channel.cluster_centers_.shape == (4, 28, 28, 1)
    np.testing.assert_array_equal(flat.predict(X), stack.labels_)


def test_the_scale_of_the_pixels_does_not_matter(real_digits):
    X, _ = real_digits
    for preprocessing in ("unit-norm", None):
        small = quick(preprocessing=preprocessing).fit(X[:80])
        # a power of two: exact in floating point
        large = quick(preprocessing=preprocessing).fit(X[:80] * 256)
        np.testing.assert_array_equal(small.labels_, large.labels_)
        np.testing.assert_allclose(
            large.transform(X[:80] * 256),
            small.transform(X[:80]) * (1 if preprocessing else 256**2),
            rtol=1e-5,
        )


def test_color_pictures_are_clustered_by_shape_and_color():
    rng = np.random.default_rng(0)
    X = np.zeros((60, 16, 20, 3))
    for i in range(60):
        row, column = rng.integers(2, 6, 2)
        is_ring, channel = i % 2, 0 if i % 4 < 2 else 2
        X[i, row : row + 9, column : column + 9, channel] = 1
        if is_ring:
            X[i, row + 2 : row + 7, column + 2 : column + 7, channel] = 0
    kinds = (np.arange(60) % 2) + 2 * (np.arange(60) % 4 < 2)
    model = DIKMeans(4, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (4, 16, 20, 3)
    assert clustering_accuracy(kinds, model.labels_) == 1.0


def test_signals_without_image_shape_are_pictures_of_one_row():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 60)

    def bump(place):
        return np.exp(-(((t - place) / 0.05) ** 2))

    places = rng.uniform(0.35, 0.5, 40)
    # one bump or two: no warp makes one of the other
    X = np.array([bump(p) + (i % 2) * bump(p + 0.2) for i, p in enumerate(places)])
    model = DIKMeans(2, random_state=0).fit(X)
    assert model.image_shape_ == (1, 60)
    assert model.cluster_centers_.shape == (2, 1, 60)
    assert clustering_accuracy(np.arange(40) % 2, model.labels_) == 1.0
    as_rows = DIKMeans(2, random_state=0).fit(X[:, None])
    np.testing.assert_array_equal(as_rows.labels_, model.labels_)
    np.testing.assert_array_equal(as_rows.cluster_centers_, model.cluster_centers_)


def test_sample_weights_count(real_digits):
    X, _ = real_digits
    X = X[:60]
    weights = np.where(np.arange(60) < 30, 1.0, 0.0)
    weighted = quick(n_clusters=3, init=X[:3]).fit(X, sample_weight=weights)
    without = quick(n_clusters=3, init=X[:3]).fit(X[:30])
    np.testing.assert_allclose(weighted.cluster_centers_, without.cluster_centers_, atol=1e-6)
    assert weighted.inertia_ == pytest.approx(without.inertia_, rel=1e-6)
    assert weighted.score(X, sample_weight=weights) == pytest.approx(-weighted.inertia_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_every_seeding_gives_distinct_images_of_the_set(real_digits, init):
    X, _ = real_digits
    model = quick(init=init, preprocessing=None).fit(X[:60])
    flat = {picture.tobytes() for picture in X[:60]}
    seeds = [np.ascontiguousarray(c).tobytes() for c in model.init_centers_]
    assert set(seeds) <= flat
    assert len(set(seeds)) == 4


def test_of_several_runs_the_one_with_the_lowest_inertia_is_kept(real_digits, monkeypatch):
    X, _ = real_digits
    settings = {"init": "random", "search__n_swaps": 0, "warp": "affine"}
    many = quick(n_init=4, **settings).fit(X[:100])
    one = quick(n_init=1, **settings).fit(X[:100])
    # runs are compared before their clusters are divided into prototypes
    centroid_inertias, results = [], []
    original_states, original_result = Run.states, Run.result

    def states(run, state, inertia_to_beat):
        for state in original_states(run, state, inertia_to_beat):  # noqa: B020
            yield state
        centroid_inertias.append(state.clustering.inertia)

    def result(run, state, stopped=""):
        results.append(original_result(run, state, stopped))
        return results[-1]

    monkeypatch.setattr(Run, "states", states)
    monkeypatch.setattr(Run, "result", result)
    quick(n_init=4, **settings).fit(X[:100])
    assert len(centroid_inertias) == 4
    assert len(set(centroid_inertias)) > 1
    assert results[-1].centroid_inertia == min(centroid_inertias)
    assert many.inertia_ == results[-1].inertia
    assert one.inertia_ == results[0].inertia


def test_swaps_never_end_at_a_higher_inertia(real_digits):
    X, _ = real_digits
    without = DIKMeans(10, random_state=1, n_prototypes=1, search=Search(n_swaps=0)).fit(X)
    swapped = DIKMeans(10, random_state=1, n_prototypes=1, search=Search(n_swaps=10)).fit(X)
    assert swapped.inertia_ <= without.inertia_ * 1.005


def test_a_large_set_is_searched_on_a_sample_and_fitted_on_all(real_digits):
    X, _ = real_digits
    X = X[:150]
    model = quick(warp="none", search__sample_size=50, max_iter=100).fit(X)
    n_images = {record.phase: record.n_images for record in model.history_.iterations}
    assert n_images.pop(PhaseKind.ALL_IMAGES.value) == 150
    assert set(n_images.values()) == {50}
    # converged on all images: each centroid is the mean of its members among all 150
    assert model.history_.stopped == "no image changed its cluster"
    images = model.preprocessing_.apply(X[:, None])[:, 0].astype(np.float64)
    for k, centroid in enumerate(model.cluster_centers_):
        np.testing.assert_allclose(centroid, images[model.labels_ == k].mean(axis=0), atol=1e-6)
    # with a warp too: no image of the 150 has been left out of the last update
    warped = quick(search__sample_size=50).fit(X)
    weights = np.r_[np.ones(149), 50.0]
    heavier = quick(search__sample_size=50).fit(X, sample_weight=weights)
    assert {record.n_images for record in warped.history_.iterations} == {50, 150}
    assert not np.array_equal(heavier.cluster_centers_, warped.cluster_centers_)


def test_no_cluster_stays_empty(real_digits):
    X, _ = real_digits
    far = np.zeros((28, 28), np.float32)
    far[0, 0] = 1.0  # nothing looks like this
    start = np.stack([X[0], X[1], far, far])
    for warp in WARPS:
        model = quick(warp=warp, init=start, search__n_swaps=0, max_iter=5).fit(X[:60])
        assert len(np.unique(model.labels_)) == 4


def test_as_published_follows_the_paper(real_digits):
    X, _ = real_digits
    model = DIKMeans.as_published(4, landmarks=3, steps=10, max_iter=3, random_state=0)
    assert model.smoothness == 0
    assert model.direction == "image-to-centroid"
    assert (model.solver.learning_rate, model.solver.steps) == (0.001, 10)
    assert (model.solver.affine_learning_rate, model.solver.affine_steps) == (0.005, 100)
    assert not model.solver.warm_starts
    assert (model.search.n_swaps, model.search.warm_up) == (0, False)
    assert (model.init, model.preprocessing, model.n_prototypes) == ("k-means++", "unit-norm", 1)
    model.fit(X[:60])
    norms = np.linalg.norm(model.cluster_centers_.reshape(4, -1), axis=1)
    np.testing.assert_allclose(norms, 1, atol=1e-5)
    assert {iteration.phase for iteration in model.history_.iterations} == {"all images"}


@pytest.mark.parametrize("warp", ["affine", "tps"])
def test_as_published_solves_every_pair_from_scratch_in_every_iteration(tiny_digits, warp):
    # Algorithm 2 written out: each distance by a call of its own, which knows nothing of any other.
    X = tiny_digits[0][:40].astype(float)
    X /= np.linalg.norm(X, axis=(1, 2), keepdims=True)
    options = {"warp": warp, "landmarks": 3, "smoothness": 0.0, "direction": "image-to-centroid"}
    solver = Adam(0.001, 5, affine_steps=10, warm_starts=False)
    centroids = X[:3]
    for _ in range(3):
        fits = [[align(x, mu, solver=solver, **options) for mu in centroids] for x in X]
        labels = np.array([np.argmin([fit.cost for fit in row]) for row in fits])
        warped = np.array([row[k].warped for row, k in zip(fits, labels, strict=True)])
        centroids = np.array([warped[labels == k].mean(axis=0) for k in range(3)])
        centroids /= np.linalg.norm(centroids, axis=(1, 2), keepdims=True)
    model = DIKMeans.as_published(3, warp=warp, landmarks=3, max_iter=3, init=X[:3], solver=solver)
    model.set_params(search__tol=0.0).fit(X)
    assert model.n_iter_ == 3
    np.testing.assert_allclose(model.cluster_centers_, centroids, atol=1e-4)
    warm = clone(model).set_params(solver__warm_starts=True).fit(X)
    assert np.abs(warm.cluster_centers_ - centroids).max() > 0.01


def test_as_published_runs_without_a_low_pass_filter(tiny_digits):
    X = tiny_digits[0][:14]
    options = {"landmarks": 3, "steps": 5, "max_iter": 2, "init": X[:3]}
    plain = DIKMeans.as_published(3, low_pass=0, **options).fit(X)
    smooth = DIKMeans.as_published(3, **options).fit(X)
    assert np.isfinite(plain.inertia_)
    assert plain.inertia_ != smooth.inertia_


def test_as_published_ends_when_no_image_changes_its_cluster(tiny_digits):
    X = tiny_digits[0][:14]
    model = DIKMeans.as_published(3, landmarks=3, steps=5, init=X[:3])
    history = model.set_params(search__tol=0.0).fit(X).history_
    assert history.stopped == "no image changed its cluster"
    assert [record.moved == 0 for record in history.iterations].index(True) == model.n_iter_ - 1


def test_alignments_explain_the_assignment(fitted):
    model, X = fitted
    alignments = model.align(X[:12])
    assert len(alignments) == 12
    np.testing.assert_array_equal(alignments.labels, alignments.costs.argmin(axis=1))
    np.testing.assert_array_equal(alignments.labels, model.predict(X[:12]))
    np.testing.assert_allclose(alignments.cost, model.transform(X[:12]).min(axis=1), rtol=1e-6)
    assert len(alignments.subset(slice(2, 5))) == 3
    one = alignments[5]
    assert one.label == alignments.labels[5]
    np.testing.assert_allclose(one.residual, one.warped - one.target)
    assert (one.residual**2).sum() + one.bending_cost == pytest.approx(one.cost, rel=1e-3)
    assert one.grid.shape == (28, 28, 2)
    assert 0 <= one.folded <= 1
    assert one.status in Status
    assert len(list(alignments)) == 12


def test_ctrl_c_keeps_the_best_model_so_far(real_digits, monkeypatch):
    X, _ = real_digits
    calls = {"n": 0}
    original = Dataset.move_centroids

    def interrupt_later(dataset, measure, clustering):
        calls["n"] += 1
        if calls["n"] == 4:
            raise KeyboardInterrupt
        return original(dataset, measure, clustering)

    monkeypatch.setattr(Dataset, "move_centroids", interrupt_later)
    with pytest.warns(UserWarning, match="interrupted after 3 iterations"):
        model = quick().fit(X[:80])
    assert len(model.history_.iterations) == 3
    assert model.n_iter_ == 0  # it had not come to all images
    assert model.history_.stopped == "interrupted"
    np.testing.assert_array_equal(model.labels_, model.predict(X[:80]))


def test_ctrl_c_before_there_is_anything_to_keep_is_not_swallowed(real_digits, monkeypatch):
    X, _ = real_digits

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Dataset, "assign", interrupt)
    model = quick()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:80])
    assert not hasattr(model, "labels_")


def test_an_interrupted_refit_does_not_mix_two_models(real_digits, monkeypatch):
    X, _ = real_digits
    model = quick().fit(X[:60])
    before = model.cluster_centers_

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[60:120])
    np.testing.assert_array_equal(model.cluster_centers_, before)
    assert len(model.labels_) == 60


def test_given_centroids_are_used_as_given(real_digits):
    X, _ = real_digits
    model = quick(init=X[:4], search__sample_size=50, search__n_swaps=5, n_init=7).fit(X[:120])
    # no warm-up, no swaps: Lloyd's algorithm, before the prior is learned and after
    assert {iteration.phase for iteration in model.history_.iterations} == {"search", "all images"}
    assert model.n_iter_ <= 4
    np.testing.assert_array_equal(
        model.init_centers_, model.preprocessing_.apply(X[:4, None])[:, 0]
    )


# warps that cost nothing make any image fit few centroids, and those without members are said
@pytest.mark.filterwarnings("ignore:Only . of 5 clusters have members")
@pytest.mark.parametrize("smoothness", [0.0, 0.3])
def test_the_inertia_falls_with_unit_norm_centroids_too(real_digits, smoothness):
    X, _ = real_digits
    model = quick(
        n_clusters=5,
        direction="image-to-centroid",
        smoothness=smoothness,
        max_iter=6,
        search__n_swaps=1,
    ).fit(X[:150])
    phases = [iteration.phase for iteration in model.history_.iterations]
    inertias = model.history_.inertia
    assert all(
        later <= earlier * (1 + 1e-6)
        for earlier, later, this, following in zip(
            inertias, inertias[1:], phases, phases[1:], strict=False
        )
        if this == following
    )
    norms = np.linalg.norm(model.cluster_centers_.reshape(5, -1), axis=1)
    np.testing.assert_allclose(norms, 1, atol=1e-5)


@pytest.mark.parametrize(
    ("direction", "preprocessing", "constrained"),
    [
        ("image-to-centroid", "unit-norm", True),
        ("image-to-centroid", "local-contrast", True),
        ("image-to-centroid", None, False),
        ("centroid-to-image", "unit-norm", False),
    ],
)
@pytest.mark.parametrize("warp", WARPS)
def test_centroids_have_unit_norm_if_unit_norm_images_are_warped_onto_them(
    real_digits, warp, direction, preprocessing, constrained
):
    model = quick(
        intensity="fixed", warp=warp, direction=direction, preprocessing=preprocessing, max_iter=1
    )
    model.fit(real_digits[0][:60])
    norms = np.linalg.norm(model.prototypes_.reshape(len(model.prototypes_), -1), axis=1)
    assert np.allclose(norms, 1, atol=1e-5) == constrained


@pytest.mark.parametrize(("border", "outside"), [("zero", 0.0), ("edge", 1.0)])
def test_the_border_belongs_to_the_preprocessing(border, outside):
    # bright frames around a cross: moved, a picture is dark or bright beyond its edge
    X = np.ones((6, 16, 16), np.float32)
    X[:, 3:13, 7:9] = 0
    X[3:, 7:9, 3:13] = 0
    model = quick(n_clusters=2, preprocessing=Identity(border=border)).fit(X)
    measure = model.measure_for(model.preprocessing_)
    assert measure.border == border
    far = np.full((1, 2, 16), 3.0, np.float32)
    rendered = measure.build((16, 16)).render(X[:1, None], np.zeros(1, int), far)
    np.testing.assert_allclose(rendered, outside, atol=1e-6)


@pytest.mark.parametrize(
    ("warp", "smoothness", "warm_up"),
    [
        ("none", 0.3, []),
        ("affine", 0.3, ["warm-up: none"]),
        ("tps", 0.3, ["warm-up: none", "warm-up: affine", "warm-up: tps, 10 x smoothness"]),
        ("tps", 0.0, ["warm-up: none", "warm-up: affine"]),
    ],
)
def test_the_warm_up_has_the_simpler_warps(real_digits, warp, smoothness, warm_up):
    X, _ = real_digits
    model = quick(
        warp=warp, smoothness=smoothness, search__n_swaps=0, search__deformation_prior="bending"
    ).fit(X[:60])
    phases = list(dict.fromkeys(iteration.phase for iteration in model.history_.iterations))
    assert phases == [*warm_up, "all images"]


def test_verbose_shows_one_line_per_iteration(real_digits, monkeypatch):
    X, _ = real_digits
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    model = quick(verbose=1).fit(X[:40])
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(model.history_.iterations)
    for number, (line, record) in enumerate(
        zip(lines, model.history_.iterations, strict=True), start=1
    ):
        assert f"iteration {number} · {record.phase} · inertia {record.inertia:.6g}" in line


@pytest.mark.filterwarnings("ignore:Only .* clusters have members")
def test_all_zero_and_constant_images_work(real_digits):
    X, _ = real_digits
    X = np.concatenate([X[:30], np.zeros((3, 28, 28)), np.full((3, 28, 28), 0.5)])
    for warp in WARPS:
        for direction in ("image-to-centroid", "centroid-to-image"):
            model = quick(warp=warp, direction=direction).fit(X)
            assert np.isfinite(model.transform(X)).all()
            assert np.isfinite(model.cluster_centers_).all()
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2 clusters have members"):
        blank = quick(n_clusters=2).fit(np.zeros((6, 10, 10)))
    assert blank.inertia_ == 0


def _with(X, i, value):
    bad = X.copy()
    bad[i, 3, 4] = value
    return bad


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({}, lambda X: _with(X, 7, np.nan), r"NaN: image 7"),
        ({}, lambda X: _with(X, 9, np.inf), r"infinity: image 9"),
        ({}, lambda X: [X[0], X[1], X[2][:20]], r"image 2 is \(20, 28\)"),
        ({}, lambda X: _with(X, 5, 1e20), r"1e\+20 in image 5"),
        ({"solver": QuasiNewton(memory=0)}, lambda X: X, r"memory"),
        ({"solver": Adam(learning_rate=-1)}, lambda X: X, r"learning_rate"),
        ({"n_clusters": 21}, lambda X: X, r"n_samples=20 should be >= n_clusters=21"),
        ({}, lambda X: X[:0], r"0 sample"),
        ({}, lambda X: np.zeros((5, 0, 4)), r"empty"),
        ({}, lambda X: np.zeros((5, 4, 4, 3, 2)), r"5 dimensions"),
        ({"landmarks": 13}, lambda X: X, r"landmarks=13"),
        ({"landmarks": 1}, lambda X: X, r"landmarks=1: "),
        ({"landmarks": (3, 40)}, lambda X: X, r"columns from 2 to 12"),
        ({"landmarks": 5}, lambda X: X[:, :4, :4], r"landmarks=5: .*on pictures of 4 x 4"),
        ({"landmarks": "many"}, lambda X: X, r"landmarks"),
        ({"smoothness": -1}, lambda X: X, r"smoothness"),
        ({"image_shape": (20, 20)}, lambda X: X, r"image_shape=\(20, 20\)"),
        ({"image_shape": (20, 20)}, lambda X: X.reshape(20, -1), r"784 features"),
        ({"image_shape": (28,)}, lambda X: X, r"image_shape=\(28,\)"),
        ({"init": np.zeros((3, 28, 28))}, lambda X: X, r"init has 3 centroids"),
        ({"init": np.zeros((4, 20, 20))}, lambda X: X, r"init has 4 centroids of shape \(20, 20\)"),
        ({"init": "best"}, lambda X: X, r"init"),
        ({"init": np.full((4, 28, 28), np.nan)}, lambda X: X, r"Input init contains NaN"),
        ({}, lambda X: [], r"empty"),
        ({}, lambda X: X[:, None], r"looks like \(N, channels, rows, columns\)"),
        ({"solver": "newton"}, lambda X: X, r"solver"),
        ({"direction": "both"}, lambda X: X, r"direction"),
        ({"search__n_swaps": -1}, lambda X: X, r"n_swaps=-1"),
        ({"search__tol": -1.0}, lambda X: X, r"tol=-1"),
        ({"search": "thorough"}, lambda X: X, r"search='thorough': expected None or Search"),
        ({"preprocessing": "sharper"}, lambda X: X, r"preprocessing='sharper'.*'whitening'"),
        ({"max_iter": 0}, lambda X: X, r"max_iter=0"),
        ({"n_init": True}, lambda X: X, r"n_init=True: expected .*integer >= 1"),
    ],
)
def test_bad_input_is_refused_by_name(real_digits, parameters, data, message):
    X, _ = real_digits
    with pytest.raises(ValueError, match=message):
        quick().set_params(**parameters).fit(data(X[:20]))


def test_new_images_of_another_size_are_refused(fitted):
    model, _ = fitted
    with pytest.raises(ValueError, match=r"shape \(20, 20\).*fitted on images of shape \(28, 28\)"):
        model.predict(np.zeros((3, 20, 20)))
    with pytest.raises(ValueError, match="features"):
        model.predict(np.zeros((3, 400)))


def test_negative_weights_are_refused(real_digits):
    X, _ = real_digits
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        quick().fit(X[:20], sample_weight=np.r_[-1.0, np.ones(19)])
    with pytest.raises(ValueError, match=r"n_samples=2 with positive sample_weight"):
        quick().fit(X[:20], sample_weight=np.r_[np.ones(2), np.zeros(18)])
