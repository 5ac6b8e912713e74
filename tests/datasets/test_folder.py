import numpy as np
import pytest
from PIL import Image

from dikmeans.datasets import (
    AmbiguousLabelsError,
    CorruptFileError,
    MissingDataError,
    MixedSizesError,
    MixedSizesWarning,
    TooLargeError,
    UnreadableFilesWarning,
    UnsafeFileError,
    load,
    load_folder,
)
from tests.datasets.published import png, write_files, write_zip


def gray(level, shape=(4, 6)):
    return png(np.full(shape, level, np.uint8))


FLAT = {"img10.png": gray(100), "img2.png": gray(20), "notes.txt": b"not a picture"}
CLASSES = {
    "dog/1.png": gray(10),
    "cat/2.png": gray(2),
    "cat/10.png": gray(3),
    "cat/more/1.png": gray(4),
}


@pytest.fixture(params=["folder", "zip", "zip of a folder"])
def write(request, tmp_path):
    """Write files as a folder, as a zip, or as a zip with everything in one folder."""

    def write_it(files, name="pictures"):
        if request.param == "folder":
            return write_files(tmp_path / name, files)
        wrapped = {f"{name}/{n}" if "of" in request.param else n: c for n, c in files.items()}
        return write_zip(tmp_path / f"{name}.zip", wrapped)

    return write_it


def levels(image_set):
    return np.rint(image_set.images[:, 0, 0] * 255).astype(int).tolist()


def test_a_flat_folder_is_an_unlabelled_set_in_natural_order(write):
    images = load_folder(write(FLAT))
    assert images.labels is None
    assert images.class_names == ()
    assert images.names == ("img2.png", "img10.png")
    assert levels(images) == [20, 100]
    assert images.shape == (4, 6)
    assert images.images.dtype == np.float32


def test_folders_are_classes(write):
    images = load_folder(write(CLASSES))
    assert images.class_names == ("cat", "dog")
    assert images.names == ("cat/2.png", "cat/10.png", "cat/more/1.png", "dog/1.png")
    assert images.labels.tolist() == [0, 0, 0, 1]
    assert levels(images) == [2, 3, 4, 10]


def test_load_takes_a_path_too(write):
    path = write(FLAT)
    assert load(path).names == load(str(path)).names == load_folder(path).names


def test_train_and_test_folders_are_splits(write):
    path = write(
        {"train/cat/1.png": gray(1), "train/dog/1.png": gray(2), "test/cat/1.png": gray(3)}
    )
    assert load(path).names == ("cat/1.png", "dog/1.png")
    assert load(path, split="test").names == ("cat/1.png",)
    assert load_folder(path).class_names == ("test", "train")


def test_a_folder_without_splits_has_no_test_split(write):
    with pytest.raises(MissingDataError, match="has no split 'test'"):
        load(write(FLAT), split="test")


def test_mixed_sizes_are_brought_to_the_most_frequent_with_a_warning(write):
    path = write({"a.png": gray(1), "b.png": gray(2), "c.png": gray(3, (9, 9))})
    with pytest.warns(MixedSizesWarning, match=r"4x6 \(2\), 9x9 \(1\)\. All .* 4x6") as caught:
        images = load_folder(path)
    assert images.images.shape == (3, 4, 6)
    warning = caught[0].message
    assert warning.path == str(path)
    assert warning.sizes == {(4, 6): 2, (9, 9): 1}
    assert warning.size == (4, 6)


def test_mixed_sizes_are_refused_by_choice(write):
    path = write({"a.png": gray(1), "b.png": gray(2, (9, 9))})
    with pytest.raises(MixedSizesError, match=r"different sizes.*Pass size=") as caught:
        load_folder(path, on_mixed_sizes="error")
    assert isinstance(caught.value, ValueError)
    assert caught.value.path == str(path)
    assert caught.value.sizes == {(4, 6): 1, (9, 9): 1}


def test_a_size_settles_mixed_sizes_without_a_warning(write):
    path = write({"a.png": gray(1), "b.png": gray(2, (9, 9))})
    assert load_folder(path, size=(5, 7)).images.shape == (2, 5, 7)


@pytest.mark.parametrize("size", [None, (4, 6)])
def test_unreadable_files_are_named_counted_and_left_out(write, size):
    path = write(FLAT | {"bad.png": b"broken", "cut.png": gray(1)[:50]})
    with pytest.warns(UnreadableFilesWarning, match=r"2 unreadable .*bad\.png.*cut\.png") as caught:
        images = load_folder(path, size=size)
    assert caught[0].message.path == str(path)
    assert [error.path for error in caught[0].message.errors] == ["bad.png", "cut.png"]
    assert images.names == ("img2.png", "img10.png")
    assert levels(images) == [20, 100]
    assert "2 unreadable" in images.card.processing


def test_unreadable_files_are_refused_by_choice(write):
    with pytest.raises(CorruptFileError, match=r"bad\.png .*on_unreadable='skip'"):
        load_folder(write(FLAT | {"bad.png": b"broken"}), on_unreadable="error")


def test_a_folder_with_nothing_readable_is_an_error(write):
    path = write({"bad.png": b"broken"})
    for size in (None, (4, 4)):
        with (
            pytest.warns(UnreadableFilesWarning, match="1 unreadable"),
            pytest.raises(CorruptFileError, match=r"has 1 picture.*none of which can be read"),
        ):
            load_folder(path, size=size)


def test_a_folder_without_pictures_is_an_error(write):
    with pytest.raises(MissingDataError, match=r"has no pictures: 1 file\(s\)"):
        load_folder(write({"notes.txt": b""}))


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(MissingDataError, match="no pictures"):
        load(tmp_path)


def test_pictures_beside_class_folders_are_refused(write):
    path = write(CLASSES | {"loose.png": gray(1)})
    with pytest.raises(AmbiguousLabelsError, match=r"such as 'loose\.png'") as caught:
        load_folder(path)
    assert (caught.value.path, caught.value.file) == (str(path), "loose.png")


def test_a_decompression_bomb_is_refused_and_named_even_when_unreadable_files_are_skipped(
    write, monkeypatch
):
    path = write({"bomb.png": gray(1, (50, 50)), "good.png": gray(1)})
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    for size in (None, (4, 4)):
        with pytest.raises(UnsafeFileError, match=r"bomb\.png has more pixels"):
            load_folder(path, size=size)


def test_an_array_too_large_for_memory_is_refused_before_it_is_made(write):
    with pytest.raises(TooLargeError, match=r"take 192 bytes, more than max_bytes=100") as caught:
        load_folder(write(FLAT), max_bytes=100)
    assert (caught.value.needed_bytes, caught.value.max_bytes) == (192, 100)
    with pytest.raises(TooLargeError, match="Pass a smaller size"):
        load_folder(write(FLAT), size=(10**6, 10**6))


def test_a_zip_with_names_outside_of_it_is_refused_by_load(tmp_path):
    path = write_zip(tmp_path / "evil.zip", {"../../evil.png": gray(1)})
    with pytest.raises(UnsafeFileError, match="points outside"):
        load(path)


def test_color_and_inversion_reach_the_pictures(write):
    assert load_folder(write(FLAT), color=True).images.shape == (2, 4, 6, 3)
    assert levels(load_folder(write(FLAT), invert=True)) == [235, 155]


@pytest.mark.parametrize("option", ["on_mixed_sizes", "on_unreadable"])
def test_choices_are_checked(write, option):
    with pytest.raises(ValueError, match=rf"{option} must be one of .*; got 'maybe'"):
        load_folder(write(FLAT), **{option: "maybe"})


def test_many_unreadable_files_are_not_all_named(write):
    path = write({"good.png": gray(1)} | {f"bad{n}.png": b"" for n in range(9)})
    with pytest.warns(UnreadableFilesWarning, match=r"9 unreadable.*bad4\.png.*and 4 more$"):
        load_folder(path)
