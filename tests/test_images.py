"""Pictures in and out: every layout users have, and messages that name what is wrong."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from dikmeans.images import (
    FlatPicturesWarning,
    SinglePictureWarning,
    as_pictures,
    check_image_shape,
    flatten,
    from_channels_first,
    refuse_non_finite,
    scale_to_unit_norm,
    stack,
    table_rules,
    to_channels_first,
    warn_if_misread,
)

shapes = st.one_of(
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4)),
)


@given(st.integers(1, 4), shapes)
def test_pictures_come_out_as_they_went_in(n, shape):
    X = np.random.default_rng(0).random((n, *shape))
    pictures, found = as_pictures(X)
    assert found == shape
    assert pictures.shape == (n, shape[2] if len(shape) == 3 else 1, *shape[:2])
    np.testing.assert_array_equal(from_channels_first(pictures, found), X)


@given(st.integers(1, 4), shapes)
def test_flat_rows_with_their_shape_are_the_pictures(n, shape):
    X = np.random.default_rng(1).random((n, *shape))
    from_flat, _ = as_pictures(X.reshape(n, -1), shape)
    from_pictures, _ = as_pictures(X)
    np.testing.assert_array_equal(from_flat, from_pictures)
    assert from_flat.flags.c_contiguous


def test_a_channel_is_where_the_user_put_it():
    X = np.zeros((1, 4, 5, 3))
    X[0, 1, 2, 2] = 7
    pictures, _ = as_pictures(X)
    assert pictures[0, 2, 1, 2] == 7
    assert pictures.sum() == 7


def test_rows_without_a_shape_are_signals():
    pictures, shape = as_pictures(np.zeros((3, 40)))
    assert shape == (1, 40)
    assert pictures.shape == (3, 1, 1, 40)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.uint16, np.float32),
        (np.bool_, np.float32),
        (np.int64, np.float64),
        (np.float16, np.float64),
        (np.float32, np.float32),
        (np.float64, np.float64),
    ],
)
def test_numbers_become_the_smallest_float_that_holds_them(dtype, expected):
    X = np.array([[[0, 1], [1, 0]]]).astype(dtype)
    pictures, _ = as_pictures(X)
    assert pictures.dtype == expected
    np.testing.assert_array_equal(pictures[0, 0], X[0])


def test_the_largest_small_integers_are_kept_exactly():
    X = np.array([[[65535, 65534]]], np.uint16)
    np.testing.assert_array_equal(as_pictures(X)[0].ravel(), [65535, 65534])


def test_float_arrays_are_not_copied_into_another_precision():
    for dtype in (np.float32, np.float64):
        assert table_rules(np.zeros((2, 3), dtype))["dtype"] == [np.float64, np.float32]


def test_the_users_array_is_left_as_it_is():
    X = np.random.default_rng(2).random((2, 4, 5))
    before = X.copy()
    pictures, _ = as_pictures(X)
    scale_to_unit_norm(pictures)
    np.testing.assert_array_equal(X, before)


class TestStack:
    def test_a_list_of_pictures_becomes_an_array(self):
        assert stack([np.zeros((3, 4)), np.ones((3, 4))]).shape == (2, 3, 4)
        assert stack(((1, 2), (3, 4))).shape == (2, 2)

    def test_pictures_in_an_object_array_become_an_array_of_numbers(self):
        X = np.empty(2, object)
        X[:] = [np.zeros((3, 4)), np.ones((3, 4))]
        assert stack(X).shape == (2, 3, 4)
        assert stack(X).dtype == float
        assert as_pictures(X)[0].shape == (2, 1, 3, 4)

    def test_arrays_and_sparse_matrices_stay_what_they_are(self):
        X, table = np.zeros((2, 3)), sparse.csr_array(np.eye(3))
        assert stack(X) is X
        assert stack(table) is table

    def test_pictures_of_different_sizes_are_named(self):
        pictures = [np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((4, 3))]
        with pytest.raises(ValueError, match=r"image 0 is \(3, 4\), image 2 is \(4, 3\)"):
            stack(pictures)
        ragged = np.empty(3, object)
        ragged[:] = pictures
        with pytest.raises(ValueError, match=r"image 0 is \(3, 4\), image 2 is \(4, 3\)"):
            stack(ragged)


class TestRefusals:
    @pytest.mark.parametrize(
        "shape",
        [(28,), (28, 28, 1, 1), (0, 5), (-2, 3), (2.5, 3), "ab", 28, None, ((2, 3),), ("2", "3")],
    )
    def test_what_is_no_shape_is_refused(self, shape):
        with pytest.raises(ValueError, match="image_shape="):
            check_image_shape(shape)

    @pytest.mark.parametrize("shape", [[28, 28], np.array([28, 28, 3]), (28, 28.0)])
    def test_shapes_in_other_clothes_are_accepted(self, shape):
        found = check_image_shape(shape)
        assert found == tuple(shape)
        assert all(isinstance(side, int) for side in found)

    def test_rows_that_do_not_fill_the_shape_are_refused_with_both_numbers(self):
        with pytest.raises(ValueError, match=r"10 features .* needs 12"):
            flatten(np.zeros((2, 10)), (3, 4))

    def test_pictures_of_another_shape_than_expected_are_refused_with_both(self):
        with pytest.raises(ValueError, match=r"\(4, 3\).*image_shape=\(3, 4\)"):
            flatten(np.zeros((2, 4, 3)), (3, 4))

    def test_empty_pictures_and_too_many_dimensions_are_refused(self):
        with pytest.raises(ValueError, match="empty"):
            flatten(np.zeros((2, 0, 3)))
        with pytest.raises(ValueError, match="5 dimensions"):
            flatten(np.zeros((2, 3, 3, 3, 3)))

    def test_no_picture_at_all_and_a_lone_row_are_refused(self):
        with pytest.raises(ValueError, match="0 sample"):
            as_pictures(np.zeros((0, 3, 3)))
        with pytest.raises(ValueError, match="1D array"):
            as_pictures(np.zeros(9))

    def test_complex_pictures_are_refused(self):
        with pytest.raises(ValueError, match="Complex"):
            as_pictures(np.zeros((2, 3, 3), complex))

    def test_words_are_refused(self):
        with pytest.raises(ValueError, match="could not convert string"):
            as_pictures(np.array([["a", "b"]]))

    @pytest.mark.parametrize(
        ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
    )
    def test_the_first_picture_that_is_not_finite_is_named_and_the_others_counted(
        self, value, word
    ):
        table = np.zeros((6, 4))
        table[2, 3] = table[5, 0] = value
        with pytest.raises(
            ValueError, match=rf"Input X contains {word}: image 2 is the first of 2 .* among 6"
        ):
            refuse_non_finite(table)
        with pytest.raises(ValueError, match="Input centroids contains"):
            as_pictures(table, name="centroids")
        refuse_non_finite(np.zeros((6, 4)))


class TestUnitNorm:
    @given(st.integers(0, 1000), st.floats(1e-6, 1e6))
    def test_every_picture_has_norm_one_and_keeps_its_direction(self, seed, scale):
        pictures = scale * np.random.default_rng(seed).normal(size=(3, 2, 4, 5))
        found = scale_to_unit_norm(pictures)
        np.testing.assert_allclose((found**2).sum(axis=(1, 2, 3)), 1, rtol=1e-9)
        norms = np.sqrt((pictures**2).sum(axis=(1, 2, 3), keepdims=True))
        np.testing.assert_allclose(found * norms, pictures, rtol=1e-9)

    def test_a_black_picture_stays_black_and_single_precision_stays_single(self):
        pictures = np.stack([np.zeros((1, 3, 3)), np.ones((1, 3, 3))]).astype(np.float32)
        found = scale_to_unit_norm(pictures)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[0], 0)
        np.testing.assert_allclose(found[1], 1 / 3, rtol=1e-6)


def test_channels_first_of_grey_pictures_is_a_view():
    table = np.zeros((2, 12))
    assert np.shares_memory(to_channels_first(table, (3, 4)), table)


class TestMisreadings:
    """What X probably means, where it is not what it is taken for."""

    @pytest.mark.parametrize(
        ("shape", "kind", "words"),
        [
            ((100, 784), FlatPicturesWarning, r"image_shape=\(28, 28\)"),
            ((100, 3 * 32 * 32), FlatPicturesWarning, r"image_shape=\(32, 32, 3\)"),
            ((28, 28), SinglePictureWarning, r"28 signals of 28 values.* X\[None\]"),
            ((64, 48, 3), SinglePictureWarning, r"64 pictures of 48 x 3 pixels.* X\[None\]"),
        ],
    )
    def test_a_probable_mistake_is_named_with_its_remedy(self, shape, kind, words):
        with pytest.warns(kind, match=words):
            warn_if_misread(shape, stacklevel=1)

    @pytest.mark.parametrize(
        "shape", [(150, 4), (100, 40), (5, 5), (100, 49), (10, 28, 28), (10, 28, 28, 3), (9, 5, 3)]
    )
    def test_what_is_plain_is_not_warned_of(self, shape):
        warn_if_misread(shape, stacklevel=1)  # warnings are errors

    @pytest.mark.parametrize("X", ["photos", Path("photos"), ["a.png", "b.png"]])
    def test_a_path_is_refused_with_what_to_do(self, X):
        with pytest.raises(TypeError, match=r"X is a path, '(photos|a\.png)'.*datasets\.load"):
            as_pictures(X)


def test_fit_and_predict_say_what_is_wrong_with_one_picture_or_a_path():
    X = load_digits().images[:40]
    model = DIKMeans(2, warp="none", random_state=0)
    with pytest.warns(SinglePictureWarning, match="looks like one picture"):
        model.fit(np.kron(X[0], np.ones((2, 2))))
    with pytest.raises(TypeError, match=r"X is a path, 'folder'"):
        model.fit("folder")
    model.fit(X)
    with pytest.raises(ValueError, match=r"X is one picture of shape \(8, 8\).*Pass X\[None\]"):
        model.predict(X[0])
    with pytest.raises(TypeError, match=r"X is a path"):
        model.predict("folder")
    assert model.predict(X[:1]).tolist() == model.labels_[:1].tolist()
