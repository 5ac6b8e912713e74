import numpy as np
import pytest
from PIL import Image

from dikmeans.datasets import (
    CorruptFileError,
    DataError,
    MissingDataError,
    UnsafeFileError,
    load,
    load_folder,
)
from tests.datasets.published import png, write_files, write_zip


def grey(level, shape=(4, 6)):
    return png(np.full(shape, level, np.uint8))


FLAT = {"img10.png": grey(100), "img2.png": grey(20), "notes.txt": b"not a picture"}
CLASSES = {
    "dog/1.png": grey(10),
    "cat/2.png": grey(2),
    "cat/10.png": grey(3),
    "cat/more/1.png": grey(4),
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
    found = load_folder(write(FLAT))
    assert found.labels is None
    assert found.class_names == ()
    assert found.names == ("img2.png", "img10.png")
    assert levels(found) == [20, 100]
    assert found.shape == (4, 6)
    assert found.images.dtype == np.float32


def test_folders_are_classes(write):
    found = load_folder(write(CLASSES))
    assert found.class_names == ("cat", "dog")
    assert found.names == ("cat/2.png", "cat/10.png", "cat/more/1.png", "dog/1.png")
    assert found.labels.tolist() == [0, 0, 0, 1]
    assert levels(found) == [2, 3, 4, 10]


def test_the_one_door_takes_a_path_too(write):
    path = write(FLAT)
    assert load(path).names == load(str(path)).names == load_folder(path).names


def test_train_and_test_folders_are_splits(write):
    path = write(
        {"train/cat/1.png": grey(1), "train/dog/1.png": grey(2), "test/cat/1.png": grey(3)}
    )
    assert load(path).names == ("cat/1.png", "dog/1.png")
    assert load(path, split="test").names == ("cat/1.png",)
    assert load_folder(path).class_names == ("test", "train")


def test_a_folder_without_splits_has_no_test_part(write):
    with pytest.raises(MissingDataError, match="has no part 'test'"):
        load(write(FLAT), split="test")


def test_mixed_sizes_are_brought_to_the_most_frequent_with_a_warning(write):
    path = write({"a.png": grey(1), "b.png": grey(2), "c.png": grey(3, (9, 9))})
    with pytest.warns(UserWarning, match=r"4x6 \(2\), 9x9 \(1\); all are resized .* 4x6"):
        found = load_folder(path)
    assert found.images.shape == (3, 4, 6)


def test_mixed_sizes_are_refused_by_choice(write):
    path = write({"a.png": grey(1), "b.png": grey(2, (9, 9))})
    with pytest.raises(CorruptFileError, match=r"differ in size.*Pass size="):
        load_folder(path, on_mixed_sizes="error")


def test_a_size_settles_mixed_sizes_without_a_word(write):
    path = write({"a.png": grey(1), "b.png": grey(2, (9, 9))})
    assert load_folder(path, size=(5, 7)).images.shape == (2, 5, 7)


@pytest.mark.parametrize("size", [None, (4, 6)])
def test_unreadable_files_are_named_counted_and_left_out(write, size):
    path = write(FLAT | {"bad.png": b"broken", "cut.png": grey(1)[:50]})
    with pytest.warns(UserWarning, match=r"2 unreadable .*bad\.png.*cut\.png"):
        found = load_folder(path, size=size)
    assert found.names == ("img2.png", "img10.png")
    assert levels(found) == [20, 100]
    assert "2 unreadable" in found.card.processing


def test_unreadable_files_are_refused_by_choice(write):
    with pytest.raises(CorruptFileError, match=r"bad\.png .*on_unreadable='skip'"):
        load_folder(write(FLAT | {"bad.png": b"broken"}), on_unreadable="error")


def test_a_folder_with_nothing_readable_is_an_error(write):
    path = write({"bad.png": b"broken"})
    for size in (None, (4, 4)):
        with (
            pytest.warns(UserWarning, match="1 unreadable"),
            pytest.raises(CorruptFileError, match="None of the 1 picture"),
        ):
            load_folder(path, size=size)


def test_a_folder_without_pictures_is_an_error(write):
    with pytest.raises(MissingDataError, match=r"no pictures in .*1 file\(s\)"):
        load_folder(write({"notes.txt": b""}))


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(MissingDataError, match="no pictures"):
        load(tmp_path)


def test_pictures_beside_class_folders_are_refused(write):
    with pytest.raises(DataError, match=r"such as 'loose\.png'"):
        load_folder(write(CLASSES | {"loose.png": grey(1)}))


def test_a_decompression_bomb_is_refused_and_named_even_when_unreadable_files_are_skipped(
    write, monkeypatch
):
    path = write({"bomb.png": grey(1, (50, 50)), "good.png": grey(1)})
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    for size in (None, (4, 4)):
        with pytest.raises(UnsafeFileError, match=r"bomb\.png has more pixels"):
            load_folder(path, size=size)


def test_an_array_too_large_for_memory_is_refused_before_it_is_made(write):
    with pytest.raises(DataError, match=r"take 192 bytes, more than max_bytes=100"):
        load_folder(write(FLAT), max_bytes=100)
    with pytest.raises(DataError, match="Pass a smaller size"):
        load_folder(write(FLAT), size=(10**6, 10**6))


def test_a_zip_that_climbs_out_is_refused_by_the_one_door(tmp_path):
    path = write_zip(tmp_path / "evil.zip", {"../../evil.png": grey(1)})
    with pytest.raises(UnsafeFileError, match="points outside"):
        load(path)


def test_colour_inversion_and_background_reach_the_pictures(write):
    assert load_folder(write(FLAT), mode="rgb").images.shape == (2, 4, 6, 3)
    assert levels(load_folder(write(FLAT), invert=True)) == [235, 155]


@pytest.mark.parametrize("option", ["on_mixed_sizes", "on_unreadable"])
def test_choices_are_checked(write, option):
    with pytest.raises(ValueError, match=rf"{option} must be one of .*; got 'maybe'"):
        load_folder(write(FLAT), **{option: "maybe"})


def test_many_unreadable_files_are_not_all_named(write):
    path = write({"good.png": grey(1)} | {f"bad{n}.png": b"" for n in range(9)})
    with pytest.warns(UserWarning, match=r"9 unreadable.*bad4\.png.*and 4 more$"):
        load_folder(path)
