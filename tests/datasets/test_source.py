"""Image sources: saved, read again, and loaded to the same images."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from dikmeans.datasets import Card, ImageSet, ImageSource, WorkingSizeWarning


@pytest.fixture
def numbered(tmp_path) -> str:
    np.save(tmp_path / "x.npy", np.arange(50, dtype=np.uint8).reshape(50, 1, 1))
    return str(tmp_path / "x.npy")


def test_a_source_survives_json_and_finds_the_same_images(numbered):
    source = ImageSource.resolve(numbered, options={"size": (2, 3), "invert": True}, limit=7)
    again = ImageSource.from_json(json.loads(json.dumps(source.to_json())))
    assert again == source
    assert again.load().checksum() == source.load().checksum()


def test_paths_become_absolute_and_names_of_sets_stay(numbered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ImageSource.resolve("x.npy").name == numbered
    (tmp_path / "mnist").mkdir()
    assert ImageSource.resolve("./mnist").name == str(tmp_path / "mnist")
    assert ImageSource.resolve("nowhere").name == "nowhere"
    assert ImageSource.resolve("mnist").is_named_dataset


def test_a_limit_draws_from_everywhere_and_keeps_the_order(numbered):
    names = [int(name) for name in ImageSource.resolve(numbered, limit=20).load().names]
    assert len(names) == 20
    assert names == sorted(set(names))
    assert names[-1] > 30  # not merely the first ones
    assert len(ImageSource.resolve(numbered, limit=99).load()) == 50


def test_another_source_gets_the_options_and_the_shape_of_the_first(numbered, tmp_path):
    folder, shape = tmp_path / "pictures", (28, 30)
    folder.mkdir()
    Image.new("L", (9, 9)).save(folder / "a.png")
    chosen = {"size": shape, "invert": True, "stretch": True, "labels": "folders"}
    source = ImageSource.resolve(str(folder), options=chosen, limit=7)
    like = source.like(str(folder), "test", shape)
    assert like.options == {**chosen, "color": False, "alpha": False, "labels": "none"}
    assert (like.name, like.split, like.limit) == (str(folder), "test", None)
    array = source.like(numbered, "train", shape)  # has its own channels
    assert array.options == {"size": shape, "invert": True, "stretch": True, "labels": "none"}
    hands = ImageSource.resolve("rock-paper-scissors", options={"size": (9, 9), "invert": True})
    assert hands.like("rock-paper-scissors", "test", (9, 9)).options == hands.options
    assert hands.like("mnist", "test", (9, 9)).options == {}
    assert hands.like(str(folder), "train", (9, 9, 3)).options["color"] is True
    assert "invert" not in hands.like(numbered, "train", (9, 9)).options


def test_a_resolved_source_loads_the_same_images_without_choosing_again(tmp_path):
    for number, size in enumerate([(40, 60), (50, 40), (90, 91)]):
        Image.linear_gradient("L").resize(size).save(tmp_path / f"{number}.png")
    source = ImageSource.resolve(str(tmp_path))
    with pytest.warns(WorkingSizeWarning):
        images = source.load()
    again = ImageSource.from_json(json.loads(json.dumps(source.resolved(images).to_json())))
    assert again.load().checksum() == images.checksum()  # without a warning


def test_the_file_of_an_image_can_be_read_by_its_name(tmp_path):
    for folder in ("train", "test"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.wav").write_bytes(folder.encode())
    with ImageSource.resolve(str(tmp_path), "test").files() as read:
        assert read("a.wav") == b"test"


@pytest.mark.parametrize(
    "value", [None, [], {}, {"name": 3, "split": "train", "options": {}, "limit": None}]
)
def test_json_that_is_not_a_source_is_refused(value):
    with pytest.raises(ValueError, match="where the images come from"):
        ImageSource.from_json(value)


def image_set(images) -> ImageSet:
    images = np.asarray(images, np.float32)
    return ImageSet(
        images, None, (), tuple(map(str, range(len(images)))), Card("t", "s", "c", "s", "p")
    )


def test_a_checksum_changes_with_any_pixel_and_with_the_shape():
    images = np.zeros((2, 3, 4))
    changed = images.copy()
    changed[1, 2, 3] = 1e-3
    same, other, reshaped = (
        image_set(x).checksum() for x in (images, changed, images.reshape(2, 4, 3))
    )
    assert same == image_set(images.copy()).checksum()
    assert len({same, other, reshaped}) == 3
