"""A fit does not depend on where its images lie: streamed, it equals the one in memory."""

from __future__ import annotations

import errno
import resource

import dask.array as da
import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.kmeans.dataset import Dataset
from dikmeans.outofcore import workers
from dikmeans.preprocessing import Identity, SubjectCentering
from dikmeans.preprocessing.base import learning_indices
from tests.outofcore.sharded_fits import (
    AtIteration,
    PowerCut,
    assert_same_fit,
    cut_power,
    in_pieces,
    quick,
)

pytestmark = pytest.mark.usefixtures("small_shards")

MEASURES = [
    {"warp": "none", "n_prototypes": 1},
    {"warp": "affine"},
    {"warp": "tps"},
    {"warp": "tps", "direction": "image-to-centroid", "preprocessing": "unit-norm"},
    {
        "warp": "tps",
        "preprocessing": SubjectCentering(border="edge"),
        "search__deformation_prior": "bending",
    },
    {"warp": "affine", "init": "random", "n_init": 2, "preprocessing": Identity(border="edge")},
]


@pytest.mark.parametrize("parameters", MEASURES, ids=str)
def test_every_measure_gives_the_same_model(pictures, on_disk, scratch, parameters):
    expected = quick(**parameters).fit(pictures)
    mapped = on_disk(pictures)
    model = quick(**parameters).fit(mapped)
    assert_same_fit(model, expected)
    np.testing.assert_array_equal(model.predict(mapped), model.labels_)
    np.testing.assert_array_equal(model.predict(mapped), model.predict(pictures))
    np.testing.assert_array_equal(model.transform(mapped), model.transform(pictures))
    streamed, local = model.assign(mapped), model.assign(pictures)
    for field in ("labels", "prototypes", "costs", "margins"):
        np.testing.assert_array_equal(getattr(streamed, field), getattr(local, field))
    assert streamed.warps is None
    assert local.warps is not None
    np.testing.assert_allclose(model.score(mapped), model.score(pictures), rtol=1e-12)
    one, other = model.align(mapped[100:200]), model.align(pictures[100:200])
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one[3].warped, other[3].warped)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("flat", [False, True])
def test_every_kind_of_array_gives_the_same_model(pictures, on_disk, dtype, flat):
    images = pictures[:120].astype(dtype)
    if flat:
        images = images.reshape(len(images), -1)
    parameters = {"image_shape": (8, 8) if flat else None, "warp": "affine"}
    expected = quick(**parameters).fit(images)
    for X in (
        on_disk(images),
        in_pieces(images),
        da.from_array(images, chunks=(100, *images.shape[1:])),
    ):
        assert_same_fit(quick(**parameters).fit(X), expected)


def test_channels_give_the_same_model(pictures, on_disk):
    images = np.stack([pictures, pictures[:, ::-1], pictures**2], axis=-1)[:120]
    expected = quick(warp="affine").fit(images)
    model = quick(warp="affine").fit(on_disk(images))
    assert_same_fit(model, expected)
    np.testing.assert_array_equal(model.predict(in_pieces(images)), model.labels_)


def test_weights_count_the_same_and_those_of_none_are_never_drawn(pictures, on_disk):
    weights = np.random.default_rng(0).integers(0, 3, len(pictures)).astype(float)
    expected = quick().fit(pictures, sample_weight=weights)
    mapped = on_disk(pictures)
    assert_same_fit(quick().fit(mapped, sample_weight=weights), expected)
    assert expected.score(mapped, sample_weight=weights) == pytest.approx(
        expected.score(pictures, sample_weight=weights), rel=1e-12
    )


def test_without_a_sample_the_search_sees_all_images(pictures, on_disk):
    expected = quick(search__sample_size=1000).fit(pictures)
    assert_same_fit(quick(search__sample_size=1000).fit(on_disk(pictures)), expected)


def test_fit_predict_and_fit_transform_take_an_array_on_disk(pictures, on_disk):
    mapped = on_disk(pictures)
    np.testing.assert_array_equal(quick().fit_predict(mapped), quick().fit_predict(pictures))
    np.testing.assert_array_equal(
        quick(warp="none").fit_transform(mapped), quick(warp="none").fit(mapped).transform(pictures)
    )


@pytest.mark.parametrize("preprocessing", [None, "unit-norm"])
def test_empty_clusters_are_revived_by_the_same_images(pictures, on_disk, preprocessing):
    far = np.eye(8, dtype=np.float32)[None] * 100  # no image is like it
    init = np.concatenate([pictures[:2], far, far[:, ::-1]])
    parameters = {
        "init": init,
        "warp": "none",
        "direction": "image-to-centroid",
        "preprocessing": preprocessing,
        "max_iter": 2,
    }
    expected = quick(**parameters).fit(pictures)
    assert len(np.unique(expected.labels_)) == 4
    assert_same_fit(quick(**parameters).fit(on_disk(pictures)), expected)


def test_the_number_of_threads_does_not_show(pictures, on_disk):
    mapped = on_disk(pictures)
    one, other = quick(n_jobs=1).fit(mapped), quick(n_jobs=3).fit(mapped)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.inertia_ == other.inertia_


def interrupt_the_second(method):
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return method(*args, **kwargs)

    return interrupted


def test_ctrl_c_keeps_the_best_model_so_far(pictures, on_disk, monkeypatch, scratch):
    mapped = on_disk(pictures)
    move_centroids = Dataset.move_centroids
    interrupted = interrupt_the_second(move_centroids)

    def move(dataset, *args):
        return (move_centroids if dataset.workers.in_memory else interrupted)(dataset, *args)

    monkeypatch.setattr(Dataset, "move_centroids", move)
    with pytest.warns(UserWarning, match="interrupted after"):
        model = quick().fit(mapped)
    assert model.history_.iterations[-1].phase == "all images"
    assert model.history_.stopped == "interrupted"
    np.testing.assert_array_equal(model.labels_, model.predict(mapped))
    assert not list(scratch.iterdir())


def test_ctrl_c_with_nothing_to_keep_leaves_nothing_behind(pictures, on_disk, monkeypatch, scratch):
    mapped = on_disk(pictures)
    monkeypatch.setattr(workers, "spill_fits", interrupt_the_second(workers.spill_fits))
    # given centroids need no search, and without a learned prior the first shards are the first
    # work
    model = quick(init=pictures[:4], search__deformation_prior="bending")
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(mapped)
    assert not hasattr(model, "labels_")
    assert not list(scratch.iterdir())  # although the exception still knows of everything
    assert caught.traceback


class TestBadInput:
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("number", [0, 211])
    def test_bad_values_are_found_before_any_work_and_named(
        self, pictures, on_disk, scratch, value, number
    ):
        bad = pictures.copy()
        bad[number, 3, 3] = value
        for X in (on_disk(bad), in_pieces(bad), da.from_array(bad, chunks=(50, 8, 8))):
            model = DIKMeans(3, max_iter=10**6)
            with pytest.raises(
                ValueError, match=rf"Input X contains (NaN|infinity): image {number} "
            ):
                model.fit(X)
            assert not hasattr(model, "labels_")
        assert not list(scratch.iterdir())

    def test_a_late_image_that_nothing_is_learned_from_is_named_by_its_number(
        self, on_disk, pictures
    ):
        many = np.tile(pictures, (9, 1, 1))
        assert 2110 not in learning_indices(len(many))
        many[2110, 0, 0] = np.nan
        with pytest.raises(
            ValueError, match=r"image 2110 is the first of 1 such images among the 60 looked"
        ):
            quick().fit(on_disk(many))

    def test_bad_values_in_new_images_are_named(self, pictures, on_disk, scratch):
        model = quick(warp="none").fit(pictures)
        bad = pictures.copy()
        bad[199] = np.nan
        for method in (model.predict, model.transform, model.score, model.align):
            for X in (on_disk(bad), in_pieces(bad)):
                with pytest.raises(ValueError, match="image 199 "):
                    method(X)
        assert not list(scratch.iterdir())

    def test_new_images_of_another_size_are_refused(self, pictures, on_disk):
        model = quick(warp="none").fit(on_disk(pictures))
        with pytest.raises(
            ValueError, match=r"images of shape \(7, 8\), but this DIKMeans was fitted"
        ):
            model.predict(on_disk(pictures[:, 1:]))
        with pytest.raises(ValueError, match="X has 63 features"):
            model.predict(in_pieces(pictures.reshape(240, 64)[:, 1:]))

    def test_too_few_images_are_refused(self, pictures, on_disk):
        with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
            quick().fit(on_disk(pictures[:3]))
        with pytest.raises(ValueError, match=r"n_samples=2 with positive sample_weight"):
            quick().fit(on_disk(pictures), sample_weight=np.arange(240) < 2)

    def test_weights_of_another_length_are_refused(self, pictures, on_disk):
        with pytest.raises(ValueError, match="sample_weight"):
            quick().fit(on_disk(pictures), sample_weight=np.ones(239))

    def test_no_images_are_refused(self, pictures):
        with pytest.raises(ValueError, match="0 sample"):
            quick().fit(da.from_array(pictures[:0]))
        with pytest.raises(ValueError, match="0 sample"):
            quick().fit(iter([]))

    def test_an_iterator_of_single_pictures_is_refused(self, pictures):
        with pytest.raises(ValueError, match=r"item 0 has shape \(8, 8\)"):
            quick().fit(iter(pictures))

    def test_something_else_than_numbers_is_refused(self, pictures, on_disk):
        with pytest.raises(ValueError, match="Complex data"):
            quick().fit(on_disk(pictures * 1j))


@pytest.mark.parametrize("as_iterator", [False, True])
def test_a_full_disk_is_said_with_the_folder_and_the_remedy(
    pictures, on_disk, scratch, as_iterator
):
    X = in_pieces(pictures) if as_iterator else on_disk(pictures)
    model = quick(init=pictures[:4])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))  # SIGXFSZ is ignored by Python
    try:
        with pytest.raises(OSError, match=r"TMPDIR") as caught:
            model.fit(X)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert caught.value.errno == errno.EFBIG
    assert str(scratch) in str(caught.value)
    assert not list(scratch.iterdir())


def test_a_missing_scratch_folder_is_said_with_the_remedy(pictures, on_disk, scratch):
    mapped = on_disk(pictures)
    scratch.rmdir()
    with pytest.raises(OSError, match=r"No such file .*TMPDIR"):
        quick(init=pictures[:4]).fit(mapped)


def test_a_fit_that_was_cut_off_goes_on_from_its_checkpoint(pictures, on_disk, scratch, tmp_path):
    mapped, folder = on_disk(pictures), tmp_path / "checkpoint"
    expected = quick(max_iter=3, search__tol=0.0).fit(mapped)
    model = quick(max_iter=3, search__tol=0.0)
    with pytest.raises(PowerCut):
        model.fit(mapped, checkpoint=folder, progress=AtIteration(cut_power))
    assert not list(scratch.iterdir())
    calls = []
    model.fit(mapped, checkpoint=folder, progress=AtIteration(lambda: calls.append(1)))
    assert calls  # there was something left to do
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.history_.inertia == expected.history_.inertia
    with pytest.raises(ValueError, match="other pixels"):
        model.fit(on_disk(pictures[::-1]), checkpoint=folder)
