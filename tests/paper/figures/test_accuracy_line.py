"""The data of the figure "accuracy against distortion"."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.paper.figures.accuracy_line import fit_accuracy_line
from tests.paper.toy_data import invented_run

numbers = st.floats(0, 1).map(lambda value: round(value, 3))


@given(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=20, unique_by=lambda point: point[0])
)
def test_the_line_is_numpys_least_squares_line(points):
    result = fit_accuracy_line(
        [
            invented_run(seed, accuracy, 2000 * distortion)
            for seed, (distortion, accuracy) in enumerate(points)
        ]
    )
    slope, intercept = np.polyfit(result.distortion, result.accuracy, 1)
    np.testing.assert_allclose(
        [result.slope, result.intercept], [slope, intercept], rtol=1e-5, atol=1e-6
    )
    assert -1.0000001 <= result.correlation <= 1.0000001
    assert result.distortion == pytest.approx([distortion for distortion, _ in points])


def test_runs_without_distortion_are_left_out():
    runs = [invented_run(0, 0.9, 1.0), invented_run(1, 0.7, 3.0), invented_run(2, 0.1, None)]
    result = fit_accuracy_line(runs)
    assert len(result.accuracy) == 2
    assert result.correlation == pytest.approx(-1)


def test_what_makes_no_line_is_refused():
    with pytest.raises(ValueError, match="two runs of different distortion"):
        fit_accuracy_line([invented_run(0), invented_run(1)])
    with pytest.raises(ValueError, match="one data set"):
        fit_accuracy_line([invented_run(0), invented_run(1, data="other")])
