"""The three figures, and which runs belong to which cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.paper.protocol.table_cells import (
    accuracy_interval,
    label_free_choice,
    summarize,
    table_cells,
)
from dikmeans.paper.protocol.table_models import get_model
from tests.paper.toy_data import BAR_FINDER, invented_run

shares = st.floats(0, 1)
runs = st.lists(st.tuples(shares, st.floats(0, 1e6)), min_size=1, max_size=12).map(
    lambda pairs: [invented_run(seed, *pair) for seed, pair in enumerate(pairs)]
)


def test_best_by_labels_and_label_free_are_different_runs_where_distortion_misleads():
    result = summarize(
        [invented_run(0, 0.9, 5.0), invented_run(1, 0.6, 4.0), invented_run(2, 0.6, 6.0)]
    )
    assert (result.best_by_labels, result.label_free) == (0.9, 0.6)
    assert result.mean == pytest.approx(0.7)
    assert result.sd == pytest.approx(0.03**0.5)  # squares 0.04 + 0.01 + 0.01, over 3 - 1
    assert result.se == pytest.approx(0.1)  # the root of 0.03 over the root of 3
    assert result.n_runs == 3


def test_every_figure_has_its_own_summary():
    result = summarize([invented_run(0, 0.8), invented_run(1, 0.4)], "nmi")
    assert (result.best_by_labels, result.mean) == (0.4, pytest.approx(0.3))


def test_one_run_has_no_spread():
    assert summarize([invented_run()])[-3:-1] == (None, None)


@given(st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_where_a_true_share_would_be_rejected(counts):
    n_right, n = counts
    interval = accuracy_interval(invented_run(accuracy=n_right / n, test_size=n))
    assert 0 <= interval.low <= n_right / n <= interval.high <= 1
    for limit in interval:
        if 1e-9 < limit < 1 - 1e-9:  # 1.96 standard errors, at that limit, from what was seen
            deviation = abs(n_right / n - limit) / (limit * (1 - limit) / n) ** 0.5
            assert deviation == pytest.approx(1.959964, rel=1e-4)


def test_fewer_test_images_make_a_wider_interval():
    few, many = (accuracy_interval(invented_run(test_size=n)) for n in (117, 10_000))
    assert few.low < many.low < many.high < few.high
    assert few.high - few.low == pytest.approx(0.18, abs=0.01)


def test_without_a_distortion_there_is_no_label_free_figure():
    assert summarize([invented_run(0), invented_run(1, distortion=None)]).label_free is None


def test_the_lower_seed_is_chosen_in_a_tie():
    chosen = label_free_choice([invented_run(4, 0.9), invented_run(3, 0.1)])
    assert chosen is not None
    assert chosen.seed == 3


def test_runs_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="differ in the seed alone"):
        summarize([invented_run(0), invented_run(1, train_size=100)])
    with pytest.raises(ValueError, match="no runs"):
        summarize([])


@given(runs, st.randoms())
def test_no_figure_beats_the_best_by_labels_and_order_does_not_matter(records, random):
    result = summarize(records)
    assert result.label_free is not None
    assert result.label_free <= result.best_by_labels
    assert result.mean <= result.best_by_labels + 1e-12
    shuffled = random.sample(records, len(records))
    again = summarize(shuffled)
    assert (again.best_by_labels, again.label_free) == (result.best_by_labels, result.label_free)
    assert again.mean == pytest.approx(result.mean)


def cells_of(records, **request):
    return table_cells(records, [get_task("mnist")], [BAR_FINDER], range(3), **request)


def test_a_cell_takes_the_runs_of_its_seeds_and_training_size():
    records = [
        invented_run(0),
        invented_run(1),
        invented_run(7),
        invented_run(2, train_size=100),
        invented_run(2, train_size=60000),
    ]
    (small,) = cells_of(records, train_size=2000)
    (whole,) = cells_of(records)
    assert [record.seed for record in small.records] == [0, 1]
    assert [record.train_size for record in whole.records] == [60000]


def test_a_set_smaller_than_the_training_size_counts_whole():
    (cell,) = cells_of([invented_run(0, train_size=273, train_available=273)], train_size=2000)
    assert len(cell.records) == 1


def test_runs_with_other_parameters_than_the_model_has_now_are_left_out():
    (cell,) = cells_of([invented_run(0, parameters={"depth": 3})], train_size=2000)
    assert cell.records == ()


def test_different_data_under_one_name_are_reported_apart():
    records = [invented_run(0), invented_run(0, data_title="MNIST (a draw)")]
    assert [cell.title for cell in cells_of(records, train_size=2000)] == [
        "MNIST",
        "MNIST (a draw)",
    ]


def test_the_paper_stands_beside_full_frames_only():
    models = [get_model("di-k-means")]
    frame, face = table_cells(
        [], [get_task("face-pose"), get_task("face-pose-box")], models, range(10)
    )
    assert (frame.paper, face.paper) == (45.3, None)
