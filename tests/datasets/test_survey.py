"""Padding nobody sees, and the size that pictures need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.datasets import load_digits

from dikmeans.datasets.pictures.padding import fitted_size, pad_with_ground
from dikmeans.datasets.pictures.survey import survey_pictures, working_size
from dikmeans.preprocessing import Background

sides = st.integers(1, 200)


@given(st.tuples(sides, sides), st.tuples(sides, sides))
def test_a_fitted_picture_fills_the_frame_in_one_direction(size, frame):
    fitted = fitted_size(size, frame)
    assert all(1 <= own <= side for own, side in zip(fitted, frame, strict=True))
    assert any(own == side for own, side in zip(fitted, frame, strict=True))
    scale = min(side / own for own, side in zip(size, frame, strict=True))
    assert all(abs(f - max(1, own * scale)) <= 0.5 for f, own in zip(fitted, size, strict=True))


def paper(rows: int, columns: int) -> np.ndarray:
    v, u = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    return (0.7 + 0.2 * v + 0.05 * u).astype(np.float32)


def test_uneven_paper_is_continued_without_an_edge_even_where_ink_touches_it():
    picture = paper(48, 24)
    picture[20:28, :12] = 0.1
    padded = pad_with_ground(picture, (48, 48))
    np.testing.assert_array_equal(padded[:, 12:36], picture)
    # what is added continues the slope of the paper, and nothing of the ink
    np.testing.assert_allclose(padded[:, :12], np.repeat(paper(48, 24)[:, :1], 12, 1), atol=0.08)
    distance = Background().fit_transform(padded[None])[0]
    assert distance[20:28, 14:22].min() > 5 * distance[:, :10].max()


def rgba(gray: np.ndarray) -> np.ndarray:
    return np.stack([gray, gray, gray, np.ones_like(gray)], axis=2).astype(np.float32)


@pytest.mark.parametrize("factor", [8, 16])
def test_enlarged_pictures_need_no_more_pixels_than_before(factor):
    digits = load_digits().images[:20] / 16
    large = [rgba(ndimage.zoom(digit, factor, order=1).clip(0, 1)) for digit in digits]
    survey = survey_pictures(large)
    assert working_size((8 * factor, 8 * factor), survey) == (32, 32)
    assert not survey.color
    assert not survey.alpha


def test_fine_detail_keeps_its_pixels():
    noise = np.random.default_rng(0).random((6, 100, 80))
    assert working_size((100, 80), survey_pictures([rgba(x) for x in noise])) == (100, 80)
    v, u = np.mgrid[:96, :96]
    stripes = 0.5 + 0.5 * np.sin(2 * np.pi * u / 6) + 0 * v
    chosen = working_size((96, 96), survey_pictures([rgba(stripes)]))
    assert chosen[0] > 64  # more than two pixels for each stripe


def test_small_pictures_and_blank_ones_keep_their_size():
    survey = survey_pictures([rgba(np.zeros((20, 30)))])
    assert working_size((20, 30), survey) == (20, 30)
