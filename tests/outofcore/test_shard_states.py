"""Alignments of shards in files, and what tells the images of one fit from those of another."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dikmeans.io.tensor_file import TensorFileError
from dikmeans.kmeans.centroid_update import rule_of
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.outofcore import workers
from tests.helpers import build_measure
from tests.outofcore.sharded_fits import in_pieces, quick

pytestmark = pytest.mark.usefixtures("small_shards")


AFFINE = build_measure((8, 8), warp="affine")


@pytest.fixture
def clustered(pictures, on_disk, scratch):
    with quick()._open(on_disk(pictures), None) as dataset:
        yield dataset, dataset.assign(AFFINE, first_centroids(pictures))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "fits").mkdir()
    return tmp_path / "fits"


def first_centroids(pictures):
    return pictures[:4, None] / np.float32(16)


def labels_of(dataset, clustering):
    """The nearest centroid of each image."""
    fits = dataset.workers.fetch(clustering.fits)
    return np.concatenate([of_shard.costs.argmin(axis=1) for of_shard in fits])


def test_a_clustering_read_again_continues_the_same_way(clustered, folder):
    dataset, clustering = clustered
    names = dataset.write_fits(clustering, folder, 7)
    assert names == sorted(path.name for path in folder.iterdir())
    assert names[0] == "fits-000007-000000.safetensors"
    assert len(names) == 4
    again = dataset.read_clustering(folder, names, clustering.centroids)
    for name in names:
        (folder / name).unlink()  # as a later checkpoint does
    assert again.inertia == clustering.inertia
    np.testing.assert_array_equal(again.sizes, clustering.sizes)
    moved = dataset.move_centroids(AFFINE, clustering)
    np.testing.assert_array_equal(dataset.move_centroids(AFFINE, again), moved)
    one, other = (dataset.assign(AFFINE, moved, start) for start in (again, clustering))
    np.testing.assert_array_equal(labels_of(dataset, one), labels_of(dataset, other))
    assert one.inertia == other.inertia


def test_an_iteration_reads_every_state_once_and_every_image_once_per_pass(clustered, monkeypatch):
    dataset, clustering = clustered
    clustering = dataset.assign(AFFINE, dataset.move_centroids(AFFINE, clustering), clustering)
    reads = Counter()

    def counted(name, function):
        def call(*args):
            reads[name] += 1
            return function(*args)

        return call

    for stored in clustering.fits:
        stored._read = counted("states", stored._read)
    for stored in clustering.nearest_fits:
        stored._read = counted("nearest fits", stored._read)
    load = counted("images", workers.StoredShard.load)
    monkeypatch.setattr(workers.StoredShard, "load", load)
    for step in lloyd(dataset, AFFINE, clustering, max_iter=1, tol=0.0):
        assert step.clustering.inertia < clustering.inertia
    n_passes = rule_of(AFFINE).n_passes
    assert n_passes == 3
    n_shards = len(dataset.shards)
    # the first pass of the update was made together with the alignment before it
    assert reads == {
        "states": n_shards,
        "nearest fits": (n_passes - 1) * n_shards,
        "images": n_passes * n_shards,
    }


def test_sums_gathered_with_the_alignment_move_centroids_as_those_gathered_later(clustered):
    dataset, clustering = clustered
    assert clustering.sums is not None
    later = replace(clustering, sums=None)
    np.testing.assert_array_equal(
        dataset.move_centroids(AFFINE, clustering), dataset.move_centroids(AFFINE, later)
    )
    trimmed = dataset.trimmed(float(np.median(dataset.nearest_costs(clustering))))
    assert trimmed.summarized(clustering).sums is None  # they counted the outliers
    assert dataset.summarized(clustering).sums is clustering.sums


def test_files_outlive_the_fit(pictures, on_disk, folder, scratch):
    model, mapped = quick(), on_disk(pictures)
    with model._open(mapped, None) as dataset:
        clustering = dataset.assign(AFFINE, first_centroids(pictures))
        names, labels = dataset.write_fits(clustering, folder, 1), labels_of(dataset, clustering)
    assert not list(scratch.iterdir())
    with model._open(mapped, None) as dataset:
        again = dataset.read_clustering(folder, names, clustering.centroids)
        np.testing.assert_array_equal(labels_of(dataset, again), labels)


def test_where_files_cannot_be_linked_they_are_copied(clustered, folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    dataset, clustering = clustered
    names = dataset.write_fits(clustering, folder, 1)
    again = dataset.read_clustering(folder, names, clustering.centroids)
    np.testing.assert_array_equal(labels_of(dataset, again), labels_of(dataset, clustering))
    assert all((folder / name).stat().st_nlink == 1 for name in names)


def test_files_that_are_damaged_missing_or_of_other_images_are_refused(clustered, folder):
    dataset, clustering = clustered
    centroids = clustering.centroids
    names = dataset.write_fits(clustering, folder, 7)
    with pytest.raises(TensorFileError, match="3 shards of images, but there are 4"):
        dataset.read_clustering(folder, names[:3], centroids)
    with pytest.raises(TensorFileError, match="alignments of 70 images with 4 centroids"):
        dataset.read_clustering(folder, [names[3], *names[1:]], centroids)
    with pytest.raises(TensorFileError, match="alignments of 70 images with 3 centroids"):
        dataset.read_clustering(folder, names, centroids[:3])
    (folder / names[0]).write_bytes((folder / names[0]).read_bytes()[:-1])
    with pytest.raises(TensorFileError, match=r"damaged"):
        dataset.read_clustering(folder, names, centroids)
    (folder / names[0]).unlink()
    with pytest.raises(FileNotFoundError):
        dataset.read_clustering(folder, names, centroids)


def test_a_fingerprint_tells_images_and_weights_apart(pictures, on_disk):
    def fingerprint(X, weights=None):
        with quick()._open(X, weights) as dataset:
            return json.loads(json.dumps(dataset.fingerprint()))

    mapped = on_disk(pictures)
    mine = fingerprint(mapped)
    assert fingerprint(in_pieces(pictures)) == mine
    assert fingerprint(mapped, np.ones(len(pictures))) == mine
    assert mine["n_images"] == len(pictures)
    other = fingerprint(mapped, np.arange(len(pictures)))
    assert other["pixels"] == mine["pixels"]
    assert other["weights"] != mine["weights"]
    changed = pictures.copy()
    changed[-1, 4, 4] += 1
    assert fingerprint(on_disk(changed))["pixels"] != mine["pixels"]
