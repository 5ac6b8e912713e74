import numpy as np
import pytest

from dikmeans.datasets import CorruptFileError, MissingDataError, load
from tests.datasets.published import (
    MNIST_FILES,
    idx_bytes,
    write_arabic_tables,
    write_emnist,
    write_idx,
    write_mnist,
    write_zip,
)


@pytest.fixture
def few(digits):
    """Fifty upright digits, five of each class."""
    return digits[0][::100], digits[1][::100]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("split", ["train", "test"])
def test_mnist_is_read_from_the_published_files(tmp_path, few, zipped, split):
    write_mnist(tmp_path, *few, zipped=zipped)
    images = load("mnist", split, tmp_path)
    assert images.images.dtype == np.float32
    np.testing.assert_allclose(images.images * 255, few[0], atol=1e-4)
    assert images.images.max() <= 1
    assert images.labels.dtype == np.int64
    assert (images.labels == few[1]).all()
    assert images.names[:2] == (f"{split}-0", f"{split}-1")


def test_the_class_histogram_of_the_real_digits_survives_the_way_through_the_files(
    tmp_path, digits
):
    write_mnist(tmp_path, *digits)
    assert np.bincount(load("mnist", "test", tmp_path).labels).tolist() == [500] * 10


def test_emnist_is_turned_upright_and_counted_from_a(tmp_path, few):
    write_emnist(tmp_path, "train", *few)
    images = load("emnist-letters", "train", tmp_path)
    np.testing.assert_allclose(images.images * 255, few[0], atol=1e-4)
    assert images.images.flags.c_contiguous
    assert (images.labels == few[1]).all()
    assert images.class_names[0] == "A"
    assert images.card.title == "EMNIST letters"


def test_emnist_is_read_from_the_published_archive_too(tmp_path, few):
    names = [f"gzip/emnist-letters-test-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")]
    contents = (idx_bytes(few[0].transpose(0, 2, 1)), idx_bytes(few[1] + 1))
    write_zip(tmp_path / "emnist" / "gzip.zip", dict(zip(names, contents, strict=True)))
    images = load("emnist-letters", "test", tmp_path)
    np.testing.assert_allclose(images.images * 255, few[0], atol=1e-4)
    with pytest.raises(CorruptFileError, match=r"gzip\.zip has no .*train-images"):
        load("emnist-letters", "train", tmp_path)


def test_the_emnist_draw_is_cut_before_its_last_ten_thousand_and_titled_as_a_draw(tmp_path):
    numbers = (np.arange(10_040) % 26).astype(np.uint8)
    images = np.zeros((10_040, 28, 28), np.uint8)
    images[:, 3, 7] = numbers
    folder = tmp_path / "emnist"
    write_idx(folder, "emnist-letters26-balanced-images-idx3-ubyte", images.transpose(0, 2, 1))
    write_idx(folder, "emnist-letters26-balanced-labels-idx1-ubyte", numbers + 1)
    train, test = (load("emnist-letters", split, tmp_path) for split in ("train", "test"))
    assert (len(train), len(test)) == (40, 10_000)
    assert train.card.title == "EMNIST letters (50k draw)"
    for part in (train, test):
        np.testing.assert_allclose(part.images[:, 3, 7] * 255, part.labels, atol=1e-4)


def test_a_draw_too_small_to_have_a_test_split_is_refused(tmp_path, few):
    folder = tmp_path / "emnist"
    write_idx(folder, "emnist-letters26-balanced-images-idx3-ubyte", few[0])
    write_idx(folder, "emnist-letters26-balanced-labels-idx1-ubyte", few[1] + 1)
    with pytest.raises(CorruptFileError, match="50 images; expected more than the last 10,000"):
        load("emnist-letters", "train", tmp_path)


@pytest.fixture
def letters(few):
    """The digits in frames of 32x32, in place of Arabic letters."""
    return np.pad(few[0], ((0, 0), (2, 2), (2, 2))), few[1]


@pytest.mark.parametrize("split", ["train", "test"])
def test_arabic_tables_are_turned_upright(tmp_path, letters, split):
    write_arabic_tables(tmp_path, split, *letters)
    images = load("arabic-characters", split, tmp_path)
    np.testing.assert_allclose(images.images * 255, letters[0], atol=1e-4)
    assert (images.labels == letters[1]).all()
    assert len(images.class_names) == len(set(images.class_names)) == 28


def test_arabic_idx_files_are_upright_already(tmp_path, letters):
    write_idx(tmp_path / "arabic", "ahcd-train-images-idx3-ubyte", letters[0])
    write_idx(tmp_path / "arabic", "ahcd-train-labels-idx1-ubyte", letters[1] + 1)
    images = load("arabic-characters", "train", tmp_path)
    np.testing.assert_allclose(images.images * 255, letters[0], atol=1e-4)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        ("1,2,3\n", "1\n", r"must have 1024 numbers per line .* got \(1, 3\)"),
        (",".join(["0"] * 1024) + "\n", "1\n2\n", r"got \(1, 1024\) and \(2, 1\)"),
        (
            ",".join(["0"] * 1024) + "\n",
            "29\n",
            r"labels 1\.\.28, .* labels 29\.\.29",
        ),
        (",".join(["0"] * 1023 + ["ink"]) + "\n", "1\n", "not a table of numbers from 0 to 255"),
        (",".join(["0"] * 1023 + ["300"]) + "\n", "1\n", "not a table of numbers from 0 to 255"),
        ("", "", "not a table of numbers from 0 to 255"),
    ],
)
def test_damaged_arabic_tables_are_refused(tmp_path, images, labels, message):
    folder = tmp_path / "arabic"
    folder.mkdir()
    (folder / "csvTestImages 3360x1024.csv").write_text(images)
    (folder / "csvTestLabel 3360x1.csv").write_text(labels)
    with pytest.raises(CorruptFileError, match=message):
        load("arabic-characters", "test", tmp_path)


def test_files_of_another_set_are_noticed(tmp_path, letters, few):
    write_mnist(tmp_path, *letters)
    with pytest.raises(CorruptFileError, match=r"images of 28x28 .* have images of 32x32"):
        load("mnist", "train", tmp_path)
    write_mnist(tmp_path, few[0], few[1] + 1)
    with pytest.raises(CorruptFileError, match=r"labels 0\.\.9, the files have .* labels 1\.\.10"):
        load("mnist", "train", tmp_path)


def test_labels_of_another_file_are_noticed(tmp_path, few):
    write_mnist(tmp_path, *few)
    write_idx(tmp_path / "mnist", MNIST_FILES["train"][1], few[1][:-1])
    with pytest.raises(CorruptFileError, match=r"50 images and .* has 49 labels"):
        load("mnist", "train", tmp_path)


@pytest.mark.parametrize("name", ["mnist", "emnist-letters", "arabic-characters"])
def test_a_missing_set_says_which_files_to_put_where(tmp_path, name):
    with pytest.raises(
        MissingDataError, match=r"the test files\. Get the files from http.*\n  - "
    ) as error:
        load(name, "test", tmp_path, download=False)
    assert "test" in str(error.value).lower() or "t10k" in str(error.value)
    assert "DIKMEANS_DATA" in str(error.value)
