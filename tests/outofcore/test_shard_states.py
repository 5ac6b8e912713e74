"""States of shards in files, and what tells the images of one fit from those of another."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pytest
from sharded_fits import in_pieces, quick

from dikmeans.io.tensor_file import TensorFileError

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture
def clustered(pictures, on_disk, scratch):
    model = quick()
    with model._population(on_disk(pictures), None) as population:
        task = population.under(model._measure("affine"), unit_norm=False, n_jobs=1)
        yield population, task, task.assign(pictures[:4, None] / 16)


def test_a_state_read_again_goes_on_the_same_way(clustered, tmp_path):
    population, task, here = clustered
    folder = tmp_path / "state"
    folder.mkdir()
    names = population.write_state(here, folder, 7)
    assert names == sorted(path.name for path in folder.iterdir())
    assert len(names) == 4
    again = population.read_state(folder, names, here.centroids)
    for name in names:
        (folder / name).unlink()  # as a later checkpoint does
    assert again.distortion == here.distortion
    np.testing.assert_array_equal(again.sizes, here.sizes)
    moved = task.move_centroids(here)
    np.testing.assert_array_equal(task.move_centroids(again), moved)
    np.testing.assert_array_equal(task.assign(moved, again).labels, task.assign(moved, here).labels)


def test_a_state_outlives_the_fit(pictures, on_disk, tmp_path, scratch):
    model, mapped, folder = quick(), on_disk(pictures), tmp_path / "state"
    folder.mkdir()
    with model._population(mapped, None) as population:
        task = population.under(model._measure("affine"), unit_norm=False, n_jobs=1)
        here = task.assign(pictures[:4, None] / 16)
        names, labels = population.write_state(here, folder, 1), here.labels
    assert not list(scratch.iterdir())
    with model._population(mapped, None) as population:
        np.testing.assert_array_equal(
            population.read_state(folder, names, here.centroids).labels, labels
        )


def test_where_files_cannot_be_linked_they_are_copied(clustered, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    population, _, here = clustered
    folder = tmp_path / "state"
    folder.mkdir()
    names = population.write_state(here, folder, 1)
    again = population.read_state(folder, names, here.centroids)
    np.testing.assert_array_equal(again.labels, here.labels)
    assert all((folder / name).stat().st_nlink == 1 for name in names)


def test_files_that_are_damaged_missing_or_of_other_images_are_refused(clustered, tmp_path):
    population, _, here = clustered
    folder = tmp_path / "state"
    folder.mkdir()
    names = population.write_state(here, folder, 7)
    with pytest.raises(TensorFileError, match="state of 3 shards of images, but there are 4"):
        population.read_state(folder, names[:3], here.centroids)
    with pytest.raises(TensorFileError, match="alignments of 70 images with 4 centroids"):
        population.read_state(folder, [names[3], *names[1:]], here.centroids)
    with pytest.raises(TensorFileError, match="alignments of 70 images with 3 centroids"):
        population.read_state(folder, names, here.centroids[:3])
    (folder / names[0]).write_bytes((folder / names[0]).read_bytes()[:-1])
    with pytest.raises(TensorFileError, match=r"damaged"):
        population.read_state(folder, names, here.centroids)
    (folder / names[0]).unlink()
    with pytest.raises(FileNotFoundError):
        population.read_state(folder, names, here.centroids)


def test_a_fingerprint_tells_images_and_weights_apart(pictures, on_disk):
    def fingerprint(X, weights=None):
        with quick()._population(X, weights) as population:
            return json.loads(json.dumps(population.fingerprint()))

    mapped = on_disk(pictures)
    mine = fingerprint(mapped)
    assert fingerprint(in_pieces(pictures)) == mine
    assert fingerprint(mapped, np.ones(len(pictures))) == mine
    assert mine["shape"][0] == len(pictures)
    other = fingerprint(mapped, np.arange(len(pictures)))
    assert other["pixels"] == mine["pixels"]
    assert other["weights"] != mine["weights"]
    changed = pictures.copy()
    changed[-1, 4, 4] += 1
    assert fingerprint(on_disk(changed))["pixels"] != mine["pixels"]
