import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dikmeans.datasets import CorruptFileError
from dikmeans.datasets.files.idx import read_idx, read_idx_pair
from tests.datasets.published import idx_bytes, write_idx

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@given(arrays.arrays(np.uint8, arrays.array_shapes(min_dims=1, max_dims=3)), st.booleans())
def test_what_is_written_is_read_back_zipped_or_not(array, zipped):
    content = gzip.compress(idx_bytes(array)) if zipped else idx_bytes(array)
    np.testing.assert_array_equal(read_idx(content, array.ndim), array)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_is_read_whatever_its_name_says(tmp_path, zipped):
    path = write_idx(tmp_path, "images", IMAGES, zipped)
    misnamed = path.rename(tmp_path / "misnamed.bin")
    np.testing.assert_array_equal(read_idx(misnamed, 3), IMAGES)


def test_a_label_file_in_place_of_an_image_file_is_refused_with_both_magic_numbers():
    with pytest.raises(CorruptFileError, match=r"must start with 00000803, got 00000801"):
        read_idx(idx_bytes(np.zeros(3)), 3)


def test_an_empty_file_is_refused():
    with pytest.raises(CorruptFileError, match="got an empty file"):
        read_idx(b"", 3)


@pytest.mark.parametrize("kept", [5, 10])
def test_a_file_cut_within_its_header_is_refused(kept):
    with pytest.raises(CorruptFileError, match="ends within its header"):
        read_idx(idx_bytes(IMAGES)[:kept], 3)


def test_a_file_cut_short_is_refused_and_named(tmp_path):
    path = write_idx(tmp_path, "cut", IMAGES, zipped=False)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=r"cut is cut short.*24 bytes.*it has 23"):
        read_idx(path, 3)


def test_bytes_behind_the_array_are_refused():
    with pytest.raises(CorruptFileError, match="longer than the 24 bytes"):
        read_idx(idx_bytes(IMAGES) + b"x", 3)


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path = write_idx(tmp_path, "damaged", IMAGES)
    content = path.read_bytes()
    for damaged in (content[:-6], content[:12] + b"\xff\xff\xff" + content[15:]):
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match="damaged gzip"):
            read_idx(path, 3)


def test_a_header_that_claims_too_much_is_refused_before_memory_is_reserved():
    claim = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)
    with pytest.raises(CorruptFileError, match="claims to hold"):
        read_idx(claim, 3)


def test_images_and_labels_that_do_not_count_the_same_are_refused(tmp_path):
    images = write_idx(tmp_path, "images", IMAGES)
    labels = write_idx(tmp_path, "labels", np.zeros(3))
    with pytest.raises(CorruptFileError, match=r"2 images and .* has 3 labels"):
        read_idx_pair(images, labels)
