"""What can be read piece by piece, and what is wrong with what cannot."""

from __future__ import annotations

import dask.array as da
import h5py
import numpy as np
import pytest
import zarr

from dikmeans.outofcore.sources import open_source
from tests.outofcore.sharded_fits import in_pieces

NUMBERS = np.array([0, 3, 4, 90, 91, 150, 239])


def as_zarr(images, folder, chunks):
    array = zarr.create_array(
        str(folder / "images.zarr"), shape=images.shape, dtype=images.dtype, chunks=chunks
    )
    array[:] = images
    return array


def as_h5py(images, folder, chunks):
    with h5py.File(folder / "images.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=chunks)
    return h5py.File(folder / "images.h5", "r")["images"]


def as_dask(images, folder, chunks):
    return da.from_array(images, chunks=chunks)


def as_contiguous_h5py(images, folder, chunks):
    return as_h5py(images, folder, None)


@pytest.mark.parametrize("store", [as_zarr, as_h5py, as_contiguous_h5py, as_dask])
@pytest.mark.parametrize("most", [16, 50, 1000])
def test_all_rows_of_a_stored_array_come_once_and_in_order(pictures, tmp_path, store, most):
    source = open_source(store(pictures, tmp_path, (50, 4, 8)))
    parts = source.parts(most)
    assert max(part.stop - part.start for part in parts) <= most
    np.testing.assert_array_equal(np.concatenate([source.read(part) for part in parts]), pictures)
    np.testing.assert_array_equal(source.take(NUMBERS), pictures[NUMBERS])


def test_parts_follow_the_chunks_where_they_can(pictures, tmp_path):
    source = open_source(as_zarr(pictures, tmp_path, (50, 8, 8)))
    assert [part.start for part in source.parts(120)] == [0, 100, 200]


def test_views_of_memory_maps_are_read_as_they_are(pictures, on_disk):
    mapped = on_disk(pictures)
    for view in (mapped[::3], mapped[::-1], mapped[40:90], mapped.reshape(240, 64)):
        source = open_source(view)
        np.testing.assert_array_equal(source.read(slice(5, 9)), np.asarray(view)[5:9])


def test_irregular_and_empty_dask_chunks_are_taken_as_they_come(pictures):
    source = open_source(da.from_array(pictures, chunks=((7, 0, 93, 140, 0), 8, 8)))
    np.testing.assert_array_equal(
        np.concatenate([source.read(part) for part in source.parts(60)]), pictures
    )


@pytest.mark.parametrize("X", [[[1.0]], np.zeros((3, 2, 2)), None, "images"])
def test_what_is_in_memory_is_not_a_source(X):
    assert open_source(X) is None


def test_unknown_chunk_sizes_are_refused_with_the_remedy(pictures):
    array = da.from_array(pictures, chunks=(60, 8, 8))
    unknown = array[da.from_array(np.arange(240) % 2 == 0, chunks=60)]
    with pytest.raises(ValueError, match=r"compute_chunk_sizes"):
        open_source(unknown)
    np.testing.assert_array_equal(
        open_source(unknown.compute_chunk_sizes()).read(slice(2)), pictures[:3:2]
    )


@pytest.mark.parametrize("size", [1, 7, 240])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.bool_])
def test_an_iterator_is_read_once_and_put_aside(pictures, scratch, size, dtype):
    images = pictures.astype(dtype)
    source = open_source(in_pieces(images, size))
    assert source.dtype == dtype
    np.testing.assert_array_equal(source.read(slice(None)), images)
    np.testing.assert_array_equal(source.take(NUMBERS), images[NUMBERS])
    assert list(scratch.iterdir())
    source.close()
    assert not list(scratch.iterdir())


def test_empty_pieces_between_others_do_not_matter(pictures):
    pieces = iter([pictures[:5], pictures[:0], pictures[5:9]])
    np.testing.assert_array_equal(open_source(pieces).read(slice(None)), pictures[:9])


def test_a_forgotten_source_takes_its_file_along(pictures, scratch):
    source = open_source(in_pieces(pictures))
    assert list(scratch.iterdir())
    del source
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([], "0 sample"),
        ([np.zeros((0, 8, 8))], "0 sample"),
        ([np.zeros((2, 8, 8)), np.zeros((2, 8, 9))], r"item 1 has images of shape \(8, 9\)"),
        ([np.zeros((2, 8, 8)), np.zeros((2, 8, 8), np.float32)], r"item 1 .* type float32"),
        ([np.zeros((2, 8, 8)), np.zeros(3)], r"item 1 has shape \(3,\)"),
        ([5], r"item 0 has shape \(\)"),
        ([np.array([None, "a"])], "item 0 holds objects"),
        ([np.zeros((2, 0, 8))], "empty images"),
    ],
)
def test_an_iterator_of_something_else_is_refused_by_item(pieces, message, scratch):
    with pytest.raises(ValueError, match=message):
        open_source(iter(pieces))
    assert not list(scratch.iterdir())


def test_single_pictures_are_not_mistaken_for_flat_rows(pictures):
    with pytest.raises(ValueError, match=r"item 0 has shape \(8, 8\)"):
        open_source(iter(pictures), flat=False)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("own"), OSError("own"), KeyboardInterrupt("own")]
)
def test_what_an_iterator_raises_passes_through_and_nothing_is_left(pictures, scratch, error):
    def failing():
        yield pictures[:9]
        raise error

    with pytest.raises(type(error), match=r"^own$"):
        open_source(failing())
    assert not list(scratch.iterdir())
