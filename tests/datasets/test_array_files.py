"""Array files as pictures: what is read, at which scale, and what is refused."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from dikmeans.datasets import (
    CorruptFileError,
    LabelsFileError,
    MissingDataError,
    TooLargeError,
    UnknownOptionError,
    WorkingSizeWarning,
    load,
)


@pytest.fixture
def bytes_picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 6, 4), np.uint8)


def test_bytes_become_intensities_and_images_are_numbered(tmp_path, bytes_picture):
    np.save(tmp_path / "x.npy", bytes_picture)
    images = load(tmp_path / "x.npy")
    np.testing.assert_allclose(images.images, bytes_picture / 255, rtol=1e-6)
    assert images.images.dtype == np.float32
    assert images.names == ("0", "1", "2", "3", "4")
    assert images.labels is None


@pytest.mark.parametrize(
    ("array", "full"),
    [
        (np.array([0.0, 0.5, 1.0]), 1),
        (np.array([0.0, 100.0, 255.0]), 255),
        (np.array([0, 7, 255], np.int64), 255),
        (np.array([0, 7, 300], np.int32), 65535),
        (np.array([0, 3], np.uint16), 65535),
        (np.array([False, True]), 1),
    ],
)
def test_the_full_scale_follows_from_the_type_or_the_largest_value(tmp_path, array, full):
    np.save(tmp_path / "x.npy", array.reshape(1, 1, -1))
    np.testing.assert_allclose(load(tmp_path / "x.npy").images[0, 0], array / full, rtol=1e-6)


def test_an_npz_brings_labels_and_names(tmp_path, bytes_picture):
    labels, names = np.array(["b", "a", "b", "a", "c"]), np.array(["one", "two", "ü,\n", "4", "5"])
    np.savez(
        tmp_path / "x.npz", images=bytes_picture, labels=labels, names=names, other=np.zeros(3)
    )
    images = load(tmp_path / "x.npz")
    assert images.names == tuple(names)
    assert [images.class_names[label] for label in images.labels] == list(labels)


def test_the_only_array_of_an_npz_needs_no_name(tmp_path, bytes_picture):
    np.savez_compressed(tmp_path / "x.npz", whatever=bytes_picture)
    assert len(load(tmp_path / "x.npz")) == 5


def test_one_channel_is_gray_and_three_are_color(tmp_path):
    np.save(tmp_path / "gray.npy", np.zeros((2, 5, 6, 1)))
    np.save(tmp_path / "color.npy", np.zeros((2, 5, 6, 3)))
    assert load(tmp_path / "gray.npy").shape == (5, 6)
    assert load(tmp_path / "color.npy").shape == (5, 6, 3)


@pytest.mark.parametrize("stretch", [True, False])
def test_pictures_are_resized_and_inverted_like_those_of_a_folder(tmp_path, stretch):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (3, 12, 10), np.uint8)
    np.save(tmp_path / "x.npy", pixels)
    (tmp_path / "folder").mkdir()
    for i, picture in enumerate(pixels):
        Image.fromarray(picture).save(tmp_path / "folder" / f"{i}.png")
    options = {"size": (5, 7), "invert": True, "stretch": stretch}
    arrays, folder = load(tmp_path / "x.npy", **options), load(tmp_path / "folder", **options)
    np.testing.assert_allclose(
        arrays.images, folder.images, atol=1.1 / 255
    )  # files are rounded to bytes


def smooth_pictures(n: int, rows: int, columns: int) -> np.ndarray:
    """Pictures of one broad wave each, which few pixels are enough for."""
    v, u = np.mgrid[0 : np.pi : rows * 1j, 0 : np.pi : columns * 1j]
    return np.stack([255 * np.sin(u + 0.1 * k) ** 2 * np.sin(v) ** 2 for k in range(n)])


@pytest.mark.parametrize("kind", ["x.npy", "folder"])
def test_large_pictures_are_reduced_in_proportion_to_what_their_detail_needs(tmp_path, kind):
    from PIL import Image

    pixels = smooth_pictures(3, 60, 120).astype(np.uint8)
    np.save(tmp_path / "x.npy", pixels)
    (tmp_path / "folder").mkdir()
    for number, picture in enumerate(pixels):
        Image.fromarray(picture).save(tmp_path / "folder" / f"{number}.png")
    with pytest.warns(WorkingSizeWarning, match="of 60x120; they are scaled to 16x32") as caught:
        assert load(tmp_path / kind).shape == (16, 32)
    warning = caught[0].message
    assert warning.path == str(tmp_path / kind)
    assert (warning.sizes, warning.size) == ({(60, 120): 3}, (16, 32))
    assert 0.975 <= warning.detail <= 1
    assert load(tmp_path / kind, size=60).shape == (30, 60)
    assert load(tmp_path / kind, size=(9, 7)).shape == (9, 7)


def test_images_keep_their_size_if_told_to(tmp_path):
    np.save(tmp_path / "x.npy", smooth_pictures(2, 200, 40))
    assert load(tmp_path / "x.npy", size=None).shape == (200, 40)


def test_the_labels_of_an_array_file_can_be_left_out_or_replaced(tmp_path):
    np.savez(tmp_path / "x.npz", images=np.zeros((2, 3, 3)), labels=["b", "a"], names=["p", "q"])
    (tmp_path / "t.csv").write_text("file,label\np,left\nq,right\n")
    assert load(tmp_path / "x.npz").label_source == "labels"
    assert load(tmp_path / "x.npz", labels="none").labels is None
    replaced = load(tmp_path / "x.npz", labels=tmp_path / "t.csv")
    assert (replaced.class_names, replaced.label_source) == (("left", "right"), "labels in t.csv")
    with pytest.raises(LabelsFileError, match="has no folders"):
        load(tmp_path / "x.npz", labels="folders")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((10, 784)), "Flat rows need their shape back"),
        (np.zeros((10, 3, 28, 28)), "Channels come last"),
        (np.zeros(4), r"expected \(N, rows, columns\[, channels\]\)"),
        (np.zeros((0, 4, 4)), "no images"),
        (np.full((2, 3, 3), -1.0), "from -1 to -1; expected images from 0"),
        (np.full((2, 3, 3), 1e6), "expected images from 0 to 1, 255 or 65535"),
        (np.array([[[1.0]], [[np.nan]]]), "not finite in 1 of 2 images; image 1 is the first"),
        (np.array([[["a"]]]), "expected numbers"),
    ],
)
def test_arrays_that_are_not_images_are_refused_with_a_hint(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(CorruptFileError, match=message) as caught:
        load(tmp_path / "x.npy")
    assert caught.value.path == str(tmp_path / "x.npy")
    assert str(caught.value).startswith(caught.value.path)


def test_pickled_objects_are_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    bomb = np.array([[[Bomb()]]], object)
    np.save(tmp_path / "x.npy", bomb, allow_pickle=True)
    np.savez(tmp_path / "x.npz", images=bomb)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(CorruptFileError, match="cannot be read as an array file"):
            load(tmp_path / name)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
@pytest.mark.parametrize("content", [b"", b"nonsense", "half"])
def test_damaged_files_are_named(tmp_path, bytes_picture, name, content):
    if content == "half":
        stream = io.BytesIO()
        (np.save if name == "x.npy" else np.savez)(stream, bytes_picture)
        content = stream.getvalue()[: len(stream.getvalue()) // 2]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorruptFileError, match=name):
        load(tmp_path / name)


def test_an_archive_with_several_arrays_must_say_which_are_the_images(tmp_path, bytes_picture):
    np.savez(tmp_path / "x.npz", a=bytes_picture, b=bytes_picture)
    with pytest.raises(
        CorruptFileError, match="holds the arrays 'a', 'b'; expected images as 'images'"
    ):
        load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", images=bytes_picture, labels=np.zeros(4))
    with pytest.raises(CorruptFileError, match=r"labels of shape \(4,\) beside 5 images"):
        load(tmp_path / "y.npz")


def test_more_than_the_memory_allowed_is_refused_before_it_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("images.npy", bytes(1 << 20))
    np.save(tmp_path / "x.npy", np.zeros((2, 300, 300), np.uint8))
    for name in ("x.npz", "x.npy"):
        with pytest.raises(TooLargeError, match="more than max_bytes=100,000"):
            load(tmp_path / name, max_bytes=100_000)


def test_an_array_file_is_one_split_and_takes_no_options_of_folders(tmp_path, bytes_picture):
    np.save(tmp_path / "x.npy", bytes_picture)
    with pytest.raises(MissingDataError, match="has no split 'test'"):
        load(tmp_path / "x.npy", "test")
    with pytest.raises(UnknownOptionError, match="has no option 'color'; it takes 'size'"):
        load(tmp_path / "x.npy", color=True)
