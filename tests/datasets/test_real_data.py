"""Every loader on the real files where they are, else on stand-ins written from images at hand.

A known image tells orientation: by its checksum where bytes are stored, by the mean brightness of
its sixteen parts where a decoder may round differently.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from dikmeans.datasets import load
from dikmeans.datasets.sets import mnist
from tests.datasets.published import (
    MNIST_FILES,
    png,
    write_arabic_tables,
    write_emnist,
    write_head_poses,
    write_mnist,
    write_spoken_digits,
    write_zip,
)
from tests.datasets.real_files import REAL_HOME, has_real

if TYPE_CHECKING:
    from pathlib import Path

SPLITS = ("train", "test")


@dataclass(frozen=True)
class Expected:
    """A data home and what must come out of it: class counts and the first image of each split."""

    home: Path
    counts: dict[str, list[int]]
    first: dict[str, object]
    options: dict[str, dict[str, object]] = field(default_factory=dict)

    def load(self, name, split):
        return load(name, split, self.home, download=False, **self.options.get(split, {}))


def checksum(image):
    return hashlib.sha256(np.rint(image * 255).astype(np.uint8).tobytes()).hexdigest()[:16]


def sixteenths(image):
    height, width = image.shape
    return image.reshape(4, height // 4, 4, width // 4).mean(axis=(1, 3))


def percent(*rows):
    return np.array([[int(number) / 100 for number in row.split()] for row in rows])


@pytest.fixture(scope="module")
def photograph():
    return load_sample_image("china.jpg")[:288, :384]


@pytest.fixture(scope="module")
def few(digits):
    return digits[0][::50], digits[1][::50]


@pytest.fixture(scope="module")
def expected_mnist(digits, tmp_path_factory):
    if has_real("mnist"):
        return Expected(
            REAL_HOME,
            {
                "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
                "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
            },
            {"train": "23ceaef5eb61f0e7", "test": "8f6a418c9a639f9e"},
        )
    home = tmp_path_factory.mktemp("mnist")
    write_mnist(home, *digits)
    first = checksum(digits[0][0] / 255)
    return Expected(home, dict.fromkeys(SPLITS, [500] * 10), dict.fromkeys(SPLITS, first))


@pytest.fixture(scope="module")
def expected_emnist(few, tmp_path_factory):
    if has_real("emnist"):
        # fmt: off
        train = [1562, 1573, 1576, 1541, 1590, 1541, 1593, 1555, 1558, 1546, 1557, 1552, 1523,
                 1523, 1544, 1552, 1536, 1579, 1584, 1569, 1576, 1567, 1525, 1509, 1531, 1578]
        # fmt: on
        return Expected(
            REAL_HOME,
            {"train": train, "test": [1940 - count for count in train]},
            {"train": "28d8dd1b35c83930", "test": "53c3c882a95a9103"},
        )
    home = tmp_path_factory.mktemp("emnist")
    for split in SPLITS:
        write_emnist(home, split, *few)
    return Expected(
        home,
        dict.fromkeys(SPLITS, [10] * 10 + [0] * 16),
        dict.fromkeys(SPLITS, checksum(few[0][0] / 255)),
    )


@pytest.fixture(scope="module")
def expected_arabic(few, tmp_path_factory):
    if has_real("arabic"):
        return Expected(
            REAL_HOME,
            {"train": [480] * 28, "test": [120] * 28},
            {"train": "188285fba8481f87", "test": "51d3fceeda2dac0f"},
        )
    home = tmp_path_factory.mktemp("arabic")
    framed = np.pad(few[0], ((0, 0), (2, 2), (2, 2)))
    for split in SPLITS:
        write_arabic_tables(home, split, framed, few[1])
    return Expected(
        home,
        dict.fromkeys(SPLITS, [10] * 10 + [0] * 18),
        dict.fromkeys(SPLITS, checksum(framed[0] / 255)),
    )


@pytest.fixture(scope="module")
def expected_hands(photograph, tmp_path_factory):
    if has_real("rps"):
        return Expected(
            REAL_HOME,
            {"train": [840] * 3, "test": [124] * 3},
            {
                "train": percent("0 1 11 0", "0 11 39 8", "0 8 29 6", "0 0 20 6"),
                "test": percent("1 22 12 2", "6 33 29 5", "2 23 28 5", "2 14 29 3"),
            },
        )
    home = tmp_path_factory.mktemp("rps")
    hand = photograph[:288, :288]
    for archive in ("rps", "rps-test-set"):
        members = {f"{archive}/{g}/1.png": png(hand) for g in ("rock", "paper", "scissors")}
        write_zip(home / "rps" / f"{archive}.zip", members)
    gray = 1 - hand @ [0.299, 0.587, 0.114] / 255
    return Expected(home, dict.fromkeys(SPLITS, [1] * 3), dict.fromkeys(SPLITS, sixteenths(gray)))


@pytest.fixture(scope="module")
def expected_faces(photograph, tmp_path_factory):
    counts = {"train": [21] * 13, "test": [9] * 13}
    options = {"test": {"face_box": True}}
    if has_real("pointing04"):
        first = {
            "train": percent("60 38 66 75", "53 34 59 78", "67 39 55 79", "30 28 22 54"),
            "test": percent("32 32 46 76", "42 47 48 74", "32 44 37 66", "31 32 45 78"),
        }
        return Expected(REAL_HOME, counts, first, options)
    home = tmp_path_factory.mktemp("faces")
    write_head_poses(home, photograph, (150, 120, 100, 80))
    gray = photograph @ [0.299, 0.587, 0.114] / 255
    first = {"train": sixteenths(gray), "test": sixteenths(gray[80:160, 100:200])}
    return Expected(home, counts, first, options)


SETS = {
    "mnist": "expected_mnist",
    "emnist-letters": "expected_emnist",
    "arabic-characters": "expected_arabic",
    "rock-paper-scissors": "expected_hands",
    "face-pose": "expected_faces",
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", SETS)
def test_counts_range_and_orientation_are_right(name, split, request):
    expected = request.getfixturevalue(SETS[name])
    images = expected.load(name, split)
    counts = np.bincount(images.labels, minlength=len(images.class_names))
    assert counts.tolist() == expected.counts[split]
    assert images.images.dtype == np.float32
    assert images.images.min() >= 0
    assert images.images.max() <= 1
    first = expected.first[split]
    if isinstance(first, str):
        assert checksum(images.images[0]) == first
    else:
        np.testing.assert_allclose(sixteenths(images.images[0]), first, atol=0.02)


def test_the_checksums_mnist_is_fetched_by_are_those_of_the_published_files():
    remotes = [remote for split in SPLITS for remote in mnist.FILES.remotes[split]]
    assert [r.name for r in remotes] == [f"{n}.gz" for s in SPLITS for n in MNIST_FILES[s]]
    for remote in remotes:
        algorithm, digest = remote.checksum.split(":")
        assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size
        if has_real("mnist"):
            content = (REAL_HOME / "mnist" / remote.name).read_bytes()
            assert hashlib.new(algorithm, content).hexdigest() == digest


def test_spoken_digits_load_by_speaker_and_sound_alike_within_a_class(tmp_path):
    home, per_digit = REAL_HOME, 50
    if not has_real("audiomnist"):
        home, per_digit = tmp_path, 2
        write_spoken_digits(home, speakers=(1, 41), digits=range(10), repetitions=per_digit)
    train, test = (
        load("audio-mnist", s, home, speakers=[n]) for s, n in (("train", 1), ("test", 41))
    )
    for part in (train, test):
        assert np.bincount(part.labels).tolist() == [per_digit] * 10
        assert part.images.shape == (10 * per_digit, 24, 64)
        # Speech has its power below 2 kHz, which is the lower half of the picture.
        assert part.images[:, 12:].mean() > part.images[:, :12].mean()
    means = np.stack([train.images[train.labels == k].mean(axis=0) for k in range(10)])
    distances = ((test.images[:, None] - means) ** 2).sum(axis=(2, 3))
    # Another voice, by the nearest mean: above chance only if class and picture belong together.
    assert (test.labels == distances.argmin(axis=1)).mean() > 0.5
