"""The events of a fit: one for every iteration, trial and resumption, for everyone who listens."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dikmeans.kmeans import swaps
from dikmeans.kmeans.schedule import PhaseKind
from tests.helpers import quick


@pytest.fixture(name="X", scope="module")
def ninety_digits(tiny_digits):
    return tiny_digits[0][:90]


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(swaps, "TRIAL_ITERATIONS", 1)  # more is left to settle after a swap
    return quick(n_clusters=5, init="random", landmarks=3, search__n_swaps=4, random_state=5)


def test_there_is_one_event_for_every_iteration_with_its_record(model, X):
    events = []
    model.fit(X, progress=events.append)
    records = [event.record for event in events if event.record is not None]
    assert records == model.history_.iterations
    for event in events:
        assert (event.run, event.n_runs, event.resumed) == (1, 1, False)
        assert event.phase is event.schedule.phases[event.phase_index]
        if event.record is not None:
            assert event.record is event.history[-1]
            assert event.record.phase == event.phase.name
            assert not event.is_trial
    assert [len(event.history) for event in events] == np.cumsum(
        [event.record is not None for event in events]
    ).tolist()


def test_trials_of_swaps_have_events_of_their_own(model, X):
    events = []
    model.fit(X, progress=events.append)
    trials = [event for event in events if event.is_trial]
    most = model.schedule_for(len(X), (8, 8)).phase(PhaseKind.SWAPS).max_trials
    assert 1 <= len(trials) <= most
    assert [event.iteration for event in trials] == list(range(1, len(trials) + 1))
    others = [e for e in events if e.record is None and not e.is_trial]
    assert [event.phase.kind for event in others] == [PhaseKind.ASSIGNMENT]
    assert others[0] is events[-1]


def test_runs_are_numbered(model, X):
    events = []
    model.set_params(n_init=3).fit(X, progress=events.append)
    numbers = [event.run for event in events]
    assert sorted(set(numbers)) == [1, 2, 3]
    assert numbers == sorted(numbers)
    assert {event.n_runs for event in events} == {3}
    for run in (1, 2, 3):
        first = next(event for event in events if event.run == run)
        assert len(first.history) == 1


@pytest.mark.parametrize("answer", [None, False, 0])
def test_any_other_answer_than_true_lets_it_go_on(model, X, answer):
    expected = clone(model).fit(X)
    model.fit(X, progress=lambda _: answer)
    np.testing.assert_array_equal(model.prototypes_, expected.prototypes_)


@pytest.mark.parametrize("after", [1, 4, 12])
def test_true_stops_the_fit_and_keeps_what_there_is(model, X, after):
    events = []

    def enough(event):
        events.append(event)
        return len(events) == after

    with pytest.warns(ConvergenceWarning, match="stopped by a callback after"):
        model.fit(X, progress=enough)
    assert len(events) == after
    assert model.history_.stopped == "stopped by a callback"
    assert tuple(model.history_.iterations) == events[-1].history
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_resumed_run_says_what_was_done_before(model, X, tmp_path):
    expected = clone(model).fit(X)
    first = []

    def enough(event):
        first.append(event)
        return len(first) == 6

    with pytest.warns(ConvergenceWarning, match="stopped"):
        model.fit(X, checkpoint=tmp_path / "c", progress=enough)
    second = []
    model.fit(X, checkpoint=tmp_path / "c", progress=second.append)
    resumption, *rest = second
    assert resumption.resumed
    assert resumption.record is None
    assert not resumption.is_trial
    assert resumption.history == first[-1].history
    assert resumption.phase_index == first[-1].phase_index
    assert resumption.iteration == first[-1].iteration
    assert not any(event.resumed for event in rest)
    assert rest[-1].history[: len(resumption.history)] == resumption.history
    np.testing.assert_array_equal(model.prototypes_, expected.prototypes_)


def test_what_a_sink_raises_ends_the_fit_and_leaves_the_model_as_it_was(model, X):
    def broken(event):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.fit(X, progress=broken)
    assert not hasattr(model, "labels_")


def test_a_sink_hears_events_beside_the_line_of_verbose(model, X, capsys):
    events = []
    model.set_params(verbose=1).fit(X, progress=events.append)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == sum(event.record is not None for event in events)
