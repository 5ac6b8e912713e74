import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dikmeans.datasets import load
from dikmeans.datasets.pictures.deform import (
    DeformationRange,
    deform,
    random_map,
    smallest_area_change,
)
from dikmeans.datasets.sets.deformed_mnist import AFFINE, DIFFEO

NAMES = ("affine-mnist", "diffeo-mnist")


@pytest.fixture(scope="module", params=NAMES)
def parts(request, mnist_home):
    return [load(request.param, split, mnist_home) for split in ("train", "test")]


def test_a_hundred_of_each_digit_are_made_and_a_third_is_for_testing(parts):
    train, test = parts
    assert np.bincount(train.labels).tolist() == [67] * 10
    assert np.bincount(test.labels).tolist() == [33] * 10
    assert train.images.dtype == np.float32
    assert train.shape == (28, 28)


def test_both_parts_come_from_one_digit_a_class_and_share_no_image(parts):
    train, test = parts
    sources = {
        (label, name.split("-deformed-")[0])
        for p in parts
        for label, name in zip(p.labels, p.names, strict=True)
    }
    assert len(sources) == 10
    assert not set(train.names) & set(test.names)
    distinct = np.unique(np.concatenate([p.images.reshape(len(p), -1) for p in parts]), axis=0)
    assert len(distinct) == 1000


def test_the_digits_stay_in_the_frame_and_keep_their_ink(parts):
    for part in parts:
        edge = np.concatenate(
            [
                part.images[:, [0, -1]].reshape(len(part), -1),
                part.images[:, :, [0, -1]].reshape(len(part), -1),
            ],
            axis=1,
        )
        assert edge.max() <= 0.1
        ink = part.images.sum(axis=(1, 2))
        for digit in range(10):
            of_digit = ink[part.labels == digit]
            assert of_digit.max() < 3 * of_digit.min()


def test_the_seed_decides(mnist_home):
    a, b, c = (load("diffeo-mnist", "test", mnist_home, seed=s, per_class=4) for s in (1, 1, 2))
    assert (a.images == b.images).all()
    assert a.names == b.names
    assert a.names != c.names


def test_more_images_a_class_begin_with_the_same_ones(mnist_home):
    few, many = (load("affine-mnist", "train", mnist_home, per_class=n) for n in (3, 9))
    assert (few.images[:2] == many.images[:2]).all()


def test_seven_hundred_and_three_hundred_can_be_had(mnist_home):
    sizes = [len(load("affine-mnist", s, mnist_home, test_fraction=0.3)) for s in ("train", "test")]
    assert sizes == [700, 300]


@pytest.mark.parametrize("options", [{"test_fraction": 0}, {"test_fraction": 1}, {"per_class": 1}])
def test_parts_cannot_be_empty(mnist_home, options):
    with pytest.raises(ValueError, match="expected 0 < test_fraction < 1 and per_class >= 2"):
        load("affine-mnist", "train", mnist_home, **options)


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_a_draw_without_bend_is_affine(seed):
    coordinates = random_map((12, 15), AFFINE, np.random.default_rng(seed))
    for axis in (1, 2):
        np.testing.assert_allclose(np.diff(coordinates, 2, axis=axis), 0, atol=1e-9)


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_strength_zero_is_the_identity(seed):
    coordinates = random_map((12, 15), DIFFEO, np.random.default_rng(seed), strength=0)
    np.testing.assert_allclose(coordinates, np.indices((12, 15)), atol=1e-9)


def test_a_fold_is_seen():
    coordinates = np.indices((6, 6)).astype(float)
    coordinates[0] = np.abs(coordinates[0] - 3)
    assert smallest_area_change(coordinates) <= 0


def test_a_picture_that_fills_its_frame_is_deformed_less_rather_than_for_ever():
    full = np.zeros((8, 8), np.float32)
    full[1:-1, 1:-1] = 1
    wild = DeformationRange(rotation=90, log_scale=0.0, shear=0.5, shift=0.5, bend=0.3)
    deformed = deform(full, wild, np.random.default_rng(0))
    assert deformed.shape == (8, 8)
    assert max(deformed[[0, -1]].max(), deformed[:, [0, -1]].max()) <= 0.1
