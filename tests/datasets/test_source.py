"""Sources: written down, read again, and followed to the same images."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dikmeans.datasets import Card, ImageSet, Source


@pytest.fixture
def numbered(tmp_path) -> str:
    np.save(tmp_path / "x.npy", np.arange(50, dtype=np.uint8).reshape(50, 1, 1))
    return str(tmp_path / "x.npy")


def test_a_source_survives_json_and_finds_the_same_images(numbered):
    source = Source.of(numbered, options={"size": (2, 3), "invert": True}, limit=7)
    again = Source.from_json(json.loads(json.dumps(source.to_json())))
    assert again == source
    assert again.load().checksum() == source.load().checksum()


def test_paths_become_absolute_and_names_of_sets_stay(numbered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Source.of("x.npy").name == numbered
    (tmp_path / "mnist").mkdir()
    assert Source.of("./mnist").name == str(tmp_path / "mnist")
    assert Source.of("nowhere").name == "nowhere"
    assert Source.of("mnist").is_named_set


def test_a_limit_draws_from_everywhere_and_keeps_the_order(numbered):
    names = [int(name) for name in Source.of(numbered, limit=20).load().names]
    assert len(names) == 20
    assert names == sorted(set(names))
    assert names[-1] > 30  # not merely the first ones
    assert len(Source.of(numbered, limit=99).load()) == 50


@pytest.mark.parametrize(
    "value", [None, [], {}, {"name": 3, "split": "train", "options": {}, "limit": None}]
)
def test_what_is_no_source_is_refused(value):
    with pytest.raises(ValueError, match="where the images come from"):
        Source.from_json(value)


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


def test_dark_on_white_is_noticed_and_light_on_black_is_not(real_digits):
    X, _ = real_digits
    assert not image_set(X[:50]).has_light_background
    assert image_set(1 - X[:50]).has_light_background
    assert not image_set(np.ones((3, 4, 4))).has_light_background  # nothing there at all
