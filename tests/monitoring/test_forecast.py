"""Forecasts: the steps a run will take, the countdown during a fit, and the memory it needs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.kmeans import Iteration
from dikmeans.kmeans.assignment import assign_images
from dikmeans.monitoring.forecast import (
    USUAL_COLD_TO_WARM,
    Countdown,
    Step,
    forecast_seconds,
    measure_unit_times,
    steps_of_run,
)
from dikmeans.monitoring.memory import estimate_memory, state_bytes
from dikmeans.monitoring.progress import FitListener, listening


class Names(FitListener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def iteration(self, iteration: Iteration) -> None:
        self.heard.append(iteration.phase)

    def trial(self, number: int, most: int) -> None:
        self.heard.append("swaps")


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"warp": "affine"},
        {"warp": "none"},
        {"curriculum": False},
        {"n_swaps": 0, "search_size": 60},
        {"n_swaps": 0, "stiffness": "uniform"},
    ],
)
def test_a_fit_goes_through_the_steps_that_were_foretold(real_digits, parameters):
    X = real_digits[0][:120]
    model = DIKMeans(3, random_state=0, **parameters)
    listener = Names()
    with listening(model, listener):
        model.fit(X)
    heard = list(
        dict.fromkeys("swaps" if name == "after a swap" else name for name in listener.heard)
    )
    assert [*heard, "last look"] == [step.name for step in steps_of_run(model, len(X), X.shape[1:])]
    assert not hasattr(model, "_fit_listener")


def test_a_sample_is_searched_and_everything_is_fitted():
    steps = steps_of_run(DIKMeans(5, search_size=200), 1000, (28, 28))
    assert {step.n_images for step in steps} == {200, 1000}
    # with the alignments of the sample between the swaps and all images
    assert [step.cold for step in steps if step.n_images == 1000] == [5000 + 2 * 200 * 5, 5000]


def test_what_a_pair_takes_is_measured_for_every_warp_of_the_fit(real_digits):
    model = DIKMeans(3)
    times = measure_unit_times(model, real_digits[0][:80], np.random.RandomState(0))
    assert set(times) == {"none", "affine", "tps"}
    assert all(unit.cold > 0 and unit.warm > 0 for unit in times.values())
    assert times["none"].cold < times["tps"].cold
    assert forecast_seconds(steps_of_run(model, 80, (28, 28)), times) > 0
    assert not hasattr(model, "cluster_centers_")


class FakeClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


STEPS = (
    Step("search", "tps", n_images=10, cold=100, warm=100, usual=3),
    Step("all images", "tps", n_images=20, cold=200, warm=200, usual=2),
    Step("last look", "tps", n_images=20, cold=200, warm=0, usual=0),
)


def test_a_countdown_knows_nothing_before_it_has_seen_something_and_then_adds_up():
    clock = FakeClock()
    countdown = Countdown(STEPS, clock)
    countdown.begin_run(1, 1)
    assert countdown.seconds_left() is None
    clock.now = 15.0  # ten seconds cold, five the first iteration: 0.1 and 0.05 a pair
    countdown.iteration(Iteration("search", 1.0, 0, 5.0))
    # two more iterations; then 200 cold, twice 200 warm; then 200 cold
    assert countdown.seconds_left() == pytest.approx(2 * 5 + (20 + 2 * 10) + 20)
    for _ in range(5):  # longer than usual: at least one more is to be expected
        clock.now += 5
        countdown.iteration(Iteration("search", 1.0, 0, 5.0))
    assert countdown.seconds_left() == pytest.approx(5 + 40 + 20)


def test_runs_to_come_count_as_long_as_those_that_are_over():
    clock = FakeClock()
    countdown = Countdown(STEPS, clock)
    countdown.begin_run(1, 3)
    clock.now = 60.0
    countdown.begin_run(2, 3)
    clock.now = 70.0
    assert countdown.seconds_left() == pytest.approx(50 + 60)


def test_a_countdown_that_goes_on_knows_what_was_done_before():
    clock = FakeClock()
    countdown = Countdown(STEPS, clock)
    countdown.begin_run(2, 2)
    countdown.resume([Iteration("search", 1.0, 0, 5.0), Iteration("search", 1.0, 0, 5.0)])
    assert (countdown.step.name, countdown.done) == ("search", 2)
    warm, cold = 0.05, 0.05 * USUAL_COLD_TO_WARM
    # one more iteration; then 200 cold, twice 200 warm; then 200 cold
    assert countdown.seconds_left() == pytest.approx(100 * warm + 400 * cold + 400 * warm)
    clock.now = 5.0
    countdown.iteration(Iteration("search", 1.0, 0, 5.0))
    assert countdown.done == 3
    clock.now = 50.0  # measured now: 35 seconds cold, ten the first iteration
    countdown.iteration(Iteration("all images", 1.0, 0, 10.0))
    assert countdown.seconds_left() == pytest.approx(10 + 200 * 35 / 200)


@pytest.mark.parametrize("parameters", [{}, {"warp": "none"}, {"search_size": 100, "landmarks": 6}])
def test_memory_is_foretold_within_a_factor_of_two(real_digits, parameters):
    X = real_digits[0]
    model = DIKMeans(8, random_state=0, n_swaps=0, max_iter=1, n_jobs=1, **parameters)
    model.fit(X[:20])  # compiled and imported before the count begins
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    foretold = estimate_memory(len(X), (28, 28), 8, **parameters)
    measured = peak + X.nbytes
    assert foretold / 2 < measured < foretold * 2


def test_the_state_is_costs_parameters_and_status():
    assert state_bytes(60_000, 10, 16) == 60_000 * 10 * (8 + 2 * 16 * 4 + 1)


def test_assignments_are_predictions_with_the_distance_to_the_second_choice(real_digits):
    X = real_digits[0][:60]
    model = DIKMeans(3, warp="none", random_state=0).fit(X)
    labels, costs, margins = assign_images(model, X)
    np.testing.assert_array_equal(labels, model.labels_)
    ordered = np.sort(model.transform(X), axis=1)
    np.testing.assert_allclose(costs, ordered[:, 0], rtol=1e-5)
    np.testing.assert_allclose(margins, ordered[:, 1] - ordered[:, 0], rtol=1e-4, atol=1e-6)
