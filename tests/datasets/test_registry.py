import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dikmeans.datasets import (
    Card,
    ImageSet,
    UnknownNameError,
    UnknownOptionError,
    dataset_names,
    load,
)
from dikmeans.datasets.files.paths import get_data_home, user_cache
from tests.datasets.published import png, write_files, write_mnist

CARD = Card("dots", "made by hand", "-", "3 images", "none")


def test_the_eight_data_sets_of_the_paper_are_known():
    assert set(dataset_names()) == {
        "mnist",
        "affine-mnist",
        "diffeo-mnist",
        "audio-mnist",
        "emnist-letters",
        "rock-paper-scissors",
        "face-pose",
        "arabic-characters",
    }


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("MNIST", "mnist"),
        ("emnist", "emnist-letters"),
        ("rock-paper-scisors", "rock-paper-scissors"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones_and_the_nearest(typed, meant):
    with pytest.raises(UnknownNameError, match=rf"Did you mean '{meant}'\?.*arabic") as caught:
        load(typed)
    assert (caught.value.name, caught.value.suggestion) == (typed, meant)
    assert caught.value.known == dataset_names()


def test_a_name_like_no_other_gets_no_suggestion():
    with pytest.raises(UnknownNameError, match=r"folder or file 'xyzzy'\. The data sets are mnist"):
        load("xyzzy")
    with pytest.raises(UnknownNameError, match=r"folder or file ''\. The data sets are mnist"):
        load("")


def test_a_split_is_train_or_test(mnist_home):
    with pytest.raises(ValueError, match="split must be one of 'train', 'test'; got 'validation'"):
        load("mnist", "validation", mnist_home)


def test_an_unknown_option_is_answered_with_the_known_ones(mnist_home):
    message = r"'face-pose' has no option 'sise'; it takes 'face_box', 'size'"
    with pytest.raises(UnknownOptionError, match=message) as caught:
        load("face-pose", data_home=mnist_home, sise=(3, 3))
    assert isinstance(caught.value, TypeError)
    assert caught.value.name == "face-pose"
    assert (caught.value.options, caught.value.known) == (("sise",), ("face_box", "size"))
    with pytest.raises(UnknownOptionError, match="it takes none"):
        load("mnist", data_home=mnist_home, size=(3, 3))


def test_a_data_set_is_preferred_to_a_folder_of_that_name(tmp_path, monkeypatch, mnist_home):
    write_files(tmp_path / "mnist", {"a.png": png(np.zeros((2, 2), np.uint8))})
    monkeypatch.chdir(tmp_path)
    assert load("mnist", "test", mnist_home).shape == (28, 28)
    assert load("./mnist").shape == (2, 2)


def test_the_data_home_is_the_argument_then_the_environment_then_the_cache(
    tmp_path, monkeypatch, digits
):
    assert get_data_home() == user_cache()
    monkeypatch.setenv("DIKMEANS_DATA", str(tmp_path))
    assert get_data_home() == tmp_path
    assert get_data_home("~/x") == Path.home() / "x"
    write_mnist(tmp_path, digits[0][:3], digits[1][:3])
    assert len(load("mnist")) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other cache folders")
def test_the_cache_follows_the_xdg_rules(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert user_cache() == Path("/somewhere/dikmeans")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert user_cache() == Path.home() / ".cache" / "dikmeans"


def test_importing_the_package_touches_no_optional_library():
    optional = {"PIL", "soundfile", "pooch", "matplotlib", "torch"}
    code = f"import sys, dikmeans.datasets\nassert not {optional} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_subset_keeps_what_belongs_together():
    dots = ImageSet(
        np.eye(3, dtype=np.float32)[:, None], np.arange(3), tuple("abc"), tuple("xyz"), CARD
    )
    for index in ([2, 0], np.array([2, 0]), slice(2, None, -2)):
        part = dots.subset(index)
        assert part.names == ("z", "x")
        assert part.labels.tolist() == [2, 0]
        assert part.images[0, 0, 2] == 1
    assert dots.subset(dots.labels > 0).names == ("y", "z")
    unlabeled = ImageSet(dots.images, None, (), dots.names, CARD)
    assert unlabeled.subset([1]).labels is None
    assert "unlabeled" in repr(unlabeled)


def test_an_image_set_with_inconsistent_fields_is_refused():
    images = np.zeros((3, 2, 2), np.float32)
    with pytest.raises(
        ValueError, match="names must have one entry for each of the 3 images; got 2"
    ):
        ImageSet(images, None, (), ("a", "b"), CARD)
    with pytest.raises(ValueError, match=r"images must have shape .* got \(3, 4\)"):
        ImageSet(images.reshape(3, 4), None, (), tuple("abc"), CARD)


def test_a_card_prints_a_line_for_each_field():
    assert str(CARD).splitlines()[1] == "source     made by hand"
