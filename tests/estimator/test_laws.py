"""Laws of a fit: they hold under every measure, wherever the images lie."""

from __future__ import annotations

from itertools import groupby

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from dikmeans import DIKMeans, estimator
from dikmeans.kmeans.schedule import PhaseKind
from tests.helpers import quick

MEASURES = [
    ("none", "centroid-to-image", "fixed"),
    ("affine", "centroid-to-image", "fixed"),
    ("affine", "image-to-centroid", "fixed"),
    ("tps", "centroid-to-image", "fixed"),
    ("tps", "image-to-centroid", "fixed"),
    ("none", "centroid-to-image", "affine"),
    ("tps", "centroid-to-image", "affine"),
    ("tps", "image-to-centroid", "affine"),
]
PLACES = ["memory", "memory map", "iterator", "dask", "dask cluster"]
N_IMAGES, N_PER_SHARD = 120, 50


@pytest.fixture(scope="module")
def images(tiny_digits):
    return tiny_digits[0][:N_IMAGES]


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one worker process."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module", params=MEASURES, ids=["-".join(m) for m in MEASURES])
def measure(request):
    return dict(zip(("warp", "direction", "intensity"), request.param, strict=True))


@pytest.fixture(scope="module", params=PLACES)
def lay(request, images, tmp_path_factory):
    """Lays images in a place; a function, as an iterator is used up when it has been read."""
    place = request.param
    if place == "dask cluster":
        client = request.getfixturevalue("cluster").get_client()
        with Client(client.scheduler.address, set_as_default=True):
            yield lambda X=images: da.from_array(X, chunks=(N_PER_SHARD, *X.shape[1:]))
        return
    folder = tmp_path_factory.mktemp("images")

    def on_disk(X=images):
        np.save(folder / "images.npy", X)
        return np.load(folder / "images.npy", mmap_mode="r")

    yield {
        "memory": lambda X=images: X,
        "memory map": on_disk,
        "iterator": lambda X=images: (X[i : i + 30] for i in range(0, len(X), 30)),
        "dask": lambda X=images: da.from_array(X, chunks=(N_PER_SHARD, *X.shape[1:])),
    }[place]


@pytest.fixture(scope="module")
def small_shards():
    patch = pytest.MonkeyPatch()
    patch.setattr(estimator, "images_per_shard", lambda *_: N_PER_SHARD)
    yield
    patch.undo()


def a_model(measure):
    settings = {"n_prototypes": 2, "search__sample_size": 80, "max_iter": 3, "n_jobs": 1}
    return quick(**measure, **settings)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).integers(0, 3, N_IMAGES).astype(float)


@pytest.fixture(scope="module")
def events():
    return []


@pytest.fixture(scope="module")
def model(measure, lay, weights, events, small_shards):
    events.clear()
    return a_model(measure).fit(lay(), sample_weight=weights, progress=events.append)


@pytest.fixture(scope="module")
def in_memory(measure, images, weights):
    return a_model(measure).fit(images, sample_weight=weights)


def test_the_place_does_not_show_in_the_model(model, in_memory):
    np.testing.assert_array_equal(model.labels_, in_memory.labels_)
    np.testing.assert_allclose(model.prototypes_, in_memory.prototypes_, atol=1e-5)
    np.testing.assert_array_equal(model.prototype_clusters_, in_memory.prototype_clusters_)
    np.testing.assert_array_equal(model.init_centers_, in_memory.init_centers_)
    assert model.inertia_ == pytest.approx(in_memory.inertia_, rel=1e-6)
    assert model.choices_ == in_memory.choices_
    assert model.n_iter_ == in_memory.n_iter_


def test_labels_are_predictions_wherever_new_images_lie(model, lay, images):
    np.testing.assert_array_equal(model.predict(lay()), model.labels_)
    np.testing.assert_array_equal(model.predict(images), model.labels_)


def test_the_assignment_is_that_of_assign(model, lay):
    again = model.assign(lay())
    for name in ("labels", "prototypes", "costs", "margins"):
        found, expected = getattr(again, name), getattr(model.assignment_, name)
        np.testing.assert_array_equal(found, expected, err_msg=name)
    np.testing.assert_array_equal(model.assignment_.labels, model.labels_)


def test_the_inertia_is_the_weighted_sum_of_costs_and_minus_the_score(model, lay, weights):
    assert model.inertia_ == pytest.approx(weights @ model.assignment_.costs, rel=1e-9)
    assert model.score(lay(), sample_weight=weights) == pytest.approx(-model.inertia_, rel=1e-9)


def test_weights_of_clusters_and_prototypes_are_those_of_their_members(model, weights):
    of_clusters = np.bincount(model.labels_, weights, minlength=4)
    np.testing.assert_allclose(model.cluster_weights_, of_clusters)
    n_prototypes = len(model.prototypes_)
    of_prototypes = np.bincount(model.assignment_.prototypes, weights, minlength=n_prototypes)
    np.testing.assert_allclose(model.prototype_weights_, of_prototypes)


def test_the_inertia_falls_within_every_phase(model):
    for _, records in groupby(model.history_.iterations, key=lambda record: record.phase):
        inertias = [record.inertia for record in records]
        assert np.all(np.diff(inertias) <= 1e-6 * inertias[0])


def test_the_history_is_what_progress_told(model, events):
    assert [e.record for e in events if e.record is not None] == model.history_.iterations
    assert events[-1].phase.kind is PhaseKind.ASSIGNMENT
    final = [r for r in model.history_.iterations if r.phase == PhaseKind.ALL_IMAGES.value]
    assert model.n_iter_ == len(final) <= model.max_iter
    assert {record.n_images for record in final} == {N_IMAGES}


def test_unit_norm_centroids_have_it(model):
    norms = np.linalg.norm(model.prototypes_.reshape(len(model.prototypes_), -1), axis=1)
    constrained = model.direction == "image-to-centroid" and model.intensity == "fixed"
    assert np.allclose(norms, 1, atol=1e-5) == constrained


def test_the_model_is_saved_and_loaded_with_its_assignment(model, lay, tmp_path):
    model.save(tmp_path / "model")
    copy = DIKMeans.load(tmp_path / "model")
    np.testing.assert_array_equal(copy.predict(lay()), model.labels_)
    for name, column in model.assignment_._asdict().items():
        np.testing.assert_array_equal(getattr(copy.assignment_, name), column, err_msg=name)
