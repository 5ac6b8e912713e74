import numpy as np
import pytest
from PIL import Image

from dikmeans.datasets import (
    AmbiguousLabelsError,
    CorruptFileError,
    MissingDataError,
    TooLargeError,
    UnreadableFilesWarning,
    UnsafeFileError,
    WorkingSizeWarning,
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


def test_folders_with_all_pictures_one_level_deep_are_offered_as_labels(write):
    images = load_folder(
        write({"dog/1.png": gray(10), "cat/2.png": gray(2), "cat/10.png": gray(3)})
    )
    assert images.class_names == ("cat", "dog")
    assert images.names == ("cat/2.png", "cat/10.png", "dog/1.png")
    assert images.labels.tolist() == [0, 0, 1]
    assert images.label_source == "folders"
    assert levels(images) == [2, 3, 10]


@pytest.mark.parametrize(
    "more",
    [{"loose.png": gray(1)}, {"cat/more/1.png": gray(4)}],
    ids=["loose files", "deeper folders"],
)
def test_other_trees_have_no_labels_unless_they_are_asked_for(write, more):
    images = load_folder(write({"dog/1.png": gray(10), "cat/2.png": gray(2)} | more))
    assert len(images) == 3
    assert (images.labels, images.class_names, images.label_source) == (None, (), None)


def test_a_single_folder_is_no_label(tmp_path):
    path = write_files(tmp_path / "p", {"batch/1.png": gray(1), "batch/2.png": gray(2)})
    assert load_folder(path).labels is None


def test_the_first_folder_is_the_label_if_asked_for(write):
    images = load_folder(write(CLASSES), labels="folders")
    assert images.class_names == ("cat", "dog")
    assert images.names == ("cat/2.png", "cat/10.png", "cat/more/1.png", "dog/1.png")
    assert images.labels.tolist() == [0, 0, 0, 1]
    assert load_folder(write(CLASSES), labels="none").labels is None


def test_load_takes_a_path_too(write):
    path = write(FLAT)
    assert load(path).names == load(str(path)).names == load_folder(path).names


def test_train_and_test_folders_are_splits(write):
    path = write(
        {"train/cat/1.png": gray(1), "train/dog/1.png": gray(2), "test/cat/1.png": gray(3)}
    )
    assert load(path).names == ("cat/1.png", "dog/1.png")
    assert load(path, split="test").names == ("cat/1.png",)
    assert load_folder(path, labels="folders").class_names == ("test", "train")


def test_a_folder_without_splits_has_no_test_split(write):
    with pytest.raises(MissingDataError, match="has no split 'test'"):
        load(write(FLAT), split="test")


def test_mixed_sizes_are_brought_to_the_median_with_a_warning(write):
    path = write({"a.png": gray(1), "b.png": gray(2), "c.png": gray(3, (9, 9))})
    with pytest.warns(WorkingSizeWarning, match=r"of 4x6 to 9x9; .* to 4x6") as caught:
        images = load_folder(path)
    assert images.images.shape == (3, 4, 6)
    warning = caught[0].message
    assert warning.path == str(path)
    assert warning.sizes == {(4, 6): 2, (9, 9): 1}
    assert warning.size == (4, 6)


def disc(height, width, ground):
    """A dark round spot in the middle of a picture."""
    v, u = np.mgrid[:height, :width]
    far = np.hypot(v - (height - 1) / 2, u - (width - 1) / 2)
    return png(np.where(far < min(height, width) / 3, 0, ground).astype(np.uint8))


def test_shapes_are_kept_and_padded_with_the_ground_of_each_picture(write):
    path = write({"a.png": disc(30, 60, 200), "b.png": disc(60, 30, 100)})
    images = load_folder(path, size=(30, 30)).images
    extents = [(picture < 0.2).any(axis=axis).sum() for picture in images for axis in (0, 1)]
    assert max(extents) - min(extents) <= 2  # round it stays
    for picture, ground in zip(images, (200, 100), strict=True):
        np.testing.assert_allclose(picture[[0, 0, -1, -1], [0, -1, 0, -1]], ground / 255, atol=1e-6)
    stretched = load_folder(path, size=(30, 30), stretch=True).images
    assert (stretched[0] < 0.2).any(axis=1).sum() > 1.5 * (stretched[0] < 0.2).any(axis=0).sum()


def test_a_number_is_the_longer_side_in_the_proportions_of_the_median(write):
    path = write(
        {"a.png": gray(1, (40, 60)), "b.png": gray(2, (42, 60)), "c.png": gray(3, (44, 60))}
    )
    assert load_folder(path, size=30).shape == (21, 30)


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


def test_pictures_beside_folders_cannot_be_labeled_by_them(write):
    path = write(CLASSES | {"loose.png": gray(1)})
    with pytest.raises(AmbiguousLabelsError, match=r"such as 'loose\.png'") as caught:
        load_folder(path, labels="folders")
    assert (caught.value.path, caught.value.file) == (str(path), "loose.png")


def test_one_picture_is_a_set_of_one(tmp_path):
    write_files(tmp_path, {"a.png": gray(7)})
    assert load(tmp_path / "a.png").names == ("a.png",)
    assert levels(load(tmp_path / "a.png")) == [7]


def test_colors_are_kept_where_there_are_any(write):
    colored = np.full((4, 6, 3), (200, 30, 30), np.uint8)
    nearly_gray = np.full((4, 6, 3), (100, 101, 99), np.uint8)
    assert load_folder(write({"a.png": png(colored), "b.png": gray(1)}, "x")).shape == (4, 6, 3)
    assert load_folder(write({"a.png": png(nearly_gray)}, "y")).shape == (4, 6)
    assert load_folder(write({"a.png": png(colored)}, "z"), color=False).shape == (4, 6)


def test_transparency_is_kept_as_the_last_channel(write):
    cutout = np.zeros((8, 8, 4), np.uint8)
    cutout[2:6, 2:6] = (200, 30, 30, 255)
    ink = np.zeros((8, 8, 4), np.uint8)
    ink[2:6, 2:6, 3] = 255
    color = load_folder(write({"a.png": png(cutout), "b.png": gray(9, (8, 8))}, "x"))
    assert color.shape == (8, 8, 4)
    assert color.images[0, :, :, 3].sum() == 16
    assert (color.images[1, :, :, 3] == 1).all()
    assert load_folder(write({"a.png": png(ink)}, "y")).shape == (8, 8, 2)
    assert load_folder(write({"a.png": png(ink)}, "z"), alpha=False, background=1).images.min() == 0
    opaque = cutout.copy()
    opaque[..., 3] = 255
    assert load_folder(write({"a.png": png(opaque)}, "w")).shape == (8, 8, 3)


def test_padding_of_transparent_pictures_is_transparent(write):
    ink = np.zeros((10, 20, 4), np.uint8)
    ink[2:6, 2:6, 3] = 255
    images = load_folder(write({"a.png": png(ink)}), size=(20, 20)).images
    assert images[0, :4, :, -1].max() == 0


def test_the_options_of_a_set_load_others_in_the_same_way(write):
    path = write({"a.png": disc(50, 60, 200), "b.png": disc(60, 40, 100)})
    with pytest.warns(WorkingSizeWarning):
        images = load_folder(path, invert=True)
    again = load_folder(path, **images.options)
    np.testing.assert_array_equal(again.images, images.images)


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


def test_choices_are_checked(write):
    with pytest.raises(ValueError, match=r"on_unreadable must be one of .*; got 'maybe'"):
        load_folder(write(FLAT), on_unreadable="maybe")


def test_many_unreadable_files_are_not_all_named(write):
    path = write({"good.png": gray(1)} | {f"bad{n}.png": b"" for n in range(9)})
    with pytest.warns(UnreadableFilesWarning, match=r"9 unreadable.*bad4\.png.*and 4 more$"):
        load_folder(path)
