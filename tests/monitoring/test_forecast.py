"""Forecasts: the work of a schedule, the countdown during a fit, and the memory it needs."""

from __future__ import annotations

import tracemalloc
from itertools import groupby

import pytest

from dikmeans import DIKMeans, Search
from dikmeans.kmeans.history import IterationRecord
from dikmeans.kmeans.prototypes import ONE_PROTOTYPE
from dikmeans.kmeans.schedule import Phase, PhaseKind, Schedule
from dikmeans.monitoring.events import ProgressEvent
from dikmeans.monitoring.forecast import (
    TYPICAL_COLD_TO_WARM,
    TYPICAL_ITERATIONS,
    Countdown,
    forecast_seconds,
    n_pictures_to_time,
    time_pairs,
    workloads,
)
from dikmeans.monitoring.memory import estimate_memory, fits_bytes
from dikmeans.preprocessing import UnitNorm
from dikmeans.registration.descent import MAX_CANDIDATES
from tests.helpers import quick


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"warp": "affine"},
        {"warp": "none"},
        {"search__warm_up": False},
        {"search__n_swaps": 0, "search__sample_size": 60},
        {"search__n_swaps": 0, "search__deformation_prior": "bending"},
        {"init": "random", "n_prototypes": 1},
    ],
    ids=str,
)
def test_a_fit_goes_through_the_phases_that_were_announced(real_digits, parameters):
    X = real_digits[0][:120]
    model = quick(n_clusters=3, **parameters)
    announced = model.schedule_for(len(X), X.shape[1:])
    events = []
    model.fit(X, progress=events.append)
    assert all(event.schedule == announced for event in events)
    visited = [index for index, _ in groupby(event.phase_index for event in events)]
    # swaps may have no promising trial; prototypes are divided between two events
    silent = {
        i
        for i, phase in enumerate(announced.phases)
        if phase.kind is PhaseKind.PROTOTYPES
        or (phase.kind is PhaseKind.SWAPS and i not in visited)
    }
    assert visited == [i for i in range(len(announced.phases)) if i not in silent]
    names = {phase.name for phase in announced.phases}
    assert {record.phase for record in model.history_.iterations} <= names


def test_a_sample_is_searched_and_everything_is_fitted():
    schedule = DIKMeans(5, search=Search(sample_size=200)).schedule_for(1000, (28, 28))
    by_kind = {load.phase.kind: load for load in workloads(schedule)}
    assert by_kind[PhaseKind.SEARCH].cold == by_kind[PhaseKind.SEARCH].warm == 200 * 5
    assert by_kind[PhaseKind.ALL_IMAGES].cold == by_kind[PhaseKind.ALL_IMAGES].warm == 1000 * 5
    assert by_kind[PhaseKind.ALL_IMAGES].iterations == TYPICAL_ITERATIONS[PhaseKind.ALL_IMAGES]
    # 200 images of 5 clusters: 40 each, one prototype for every 25
    assert by_kind[PhaseKind.ASSIGNMENT].cold == 1000 * 5
    assert by_kind[PhaseKind.PROTOTYPES].cold == 200 * 5
    many = DIKMeans(5, search=Search(sample_size=1000)).schedule_for(1000, (28, 28))
    loads = {load.phase.kind: load for load in workloads(many)}
    assert loads[PhaseKind.ASSIGNMENT].cold == 4 * 1000 * 5


def test_no_phase_is_expected_to_take_more_iterations_than_it_may():
    schedule = quick(max_iter=2, search__max_iter=1).schedule_for(500, (28, 28))
    for load in workloads(schedule):
        if load.phase.kind is PhaseKind.ALL_IMAGES:
            assert load.iterations == 2
        elif load.phase.max_iter and load.phase.kind is not PhaseKind.SWAPS:
            assert load.iterations == 1


def test_what_a_pair_takes_is_measured_for_every_warp_of_the_fit(real_digits):
    model = DIKMeans(3)
    schedule = model.schedule_for(80, (28, 28))
    n = n_pictures_to_time(80, (28, 28), 3)
    pictures = real_digits[0][:n, None]
    spec = model.measure_for(UnitNorm().fit(real_digits[0][:80]))
    times = time_pairs(pictures, (28, 28), spec, schedule, 1)
    assert set(times) == {"none", "affine", "tps"}
    assert all(unit.cold > 0 and unit.warm > 0 for unit in times.values())
    assert times["none"].cold < times["tps"].cold
    assert forecast_seconds(workloads(schedule), times) > 0
    assert not hasattr(model, "prototypes_")


class FakeClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# 10 images in the sample, 20 in all, 10 clusters: 100 and 200 pairs
SCHEDULE = Schedule(
    n_clusters=10,
    n_images=20,
    sample_size=10,
    phases=(
        Phase(PhaseKind.SEARCH, "tps", max_iter=3),
        Phase(PhaseKind.ALL_IMAGES, "tps", max_iter=2, on_sample=False),
        Phase(PhaseKind.ASSIGNMENT, "tps", on_sample=False),
    ),
    prototypes=ONE_PROTOTYPE,
    max_division_iter=3,
)


def an_event(phase_index, iteration, seconds=5.0, *, run=1, n_runs=1, resumed=False, history=()):
    """An iteration that took some seconds, or a resumption."""
    record = IterationRecord(SCHEDULE.phases[phase_index].name, 1.0, 10, 0, seconds)
    return ProgressEvent(
        run=run,
        n_runs=n_runs,
        schedule=SCHEDULE,
        phase_index=phase_index,
        iteration=iteration,
        record=None if resumed else record,
        resumed=resumed,
        history=history or (record,) * iteration,
    )


def test_a_countdown_knows_nothing_before_it_has_seen_something_and_then_adds_up():
    clock = FakeClock()
    countdown = Countdown(SCHEDULE, clock)
    assert countdown.seconds_left() is None
    clock.now = 15.0  # ten seconds cold, five the first iteration: 0.1 and 0.05 a pair
    countdown(an_event(0, 1))
    # two more iterations; then 200 cold, twice 200 warm; then 200 cold
    assert countdown.seconds_left() == pytest.approx(2 * 5 + (20 + 2 * 10) + 20)
    for number in range(2, 7):  # longer than usual: at least one more is to be expected
        clock.now += 5
        countdown(an_event(0, number))
    assert countdown.seconds_left() == pytest.approx(5 + 40 + 20)


def test_runs_to_come_count_as_long_as_those_that_are_over():
    clock = FakeClock()
    countdown = Countdown(SCHEDULE, clock)
    clock.now = 15.0  # ten seconds cold, five the first iteration
    countdown(an_event(0, 1, n_runs=3))
    clock.now = 40.0
    countdown(an_event(1, 2, 10.0, n_runs=3))  # twice the pairs, twice the seconds
    clock.now = 75.0  # the second run began 15 seconds ago, so the first took 60
    countdown(an_event(0, 1, run=2, n_runs=3))
    rest_of_this_run = 2 * 5 + (20 + 2 * 10) + 20
    assert countdown.seconds_left() == pytest.approx(rest_of_this_run + 60)


def test_a_countdown_that_continues_knows_what_was_done_before():
    clock = FakeClock()
    countdown = Countdown(SCHEDULE, clock)
    done = tuple(an_event(0, 1).record for _ in range(2))
    countdown(an_event(0, 2, run=2, n_runs=2, resumed=True, history=done))
    warm, cold = 0.05, 0.05 * TYPICAL_COLD_TO_WARM
    # one more iteration; then 200 cold, twice 200 warm; then 200 cold
    assert countdown.seconds_left() == pytest.approx(100 * warm + 400 * cold + 400 * warm)
    clock.now = 5.0
    countdown(an_event(0, 3, run=2, n_runs=2))
    clock.now = 50.0  # measured now: 35 seconds cold, ten the first iteration
    countdown(an_event(1, 1, 10.0, run=2, n_runs=2))
    assert countdown.seconds_left() == pytest.approx(10 + 200 * 35 / 200)


@pytest.mark.parametrize("parameters", [{}, {"warp": "none"}, {"sample_size": 100, "landmarks": 6}])
def test_memory_is_known_beforehand_within_a_factor_of_two(real_digits, parameters):
    X = real_digits[0]
    nested = {("search__" * (name == "sample_size")) + name: v for name, v in parameters.items()}
    model = quick(n_clusters=8, search__n_swaps=0, max_iter=1, n_jobs=1, **nested)
    model.fit(X[:20])  # compiled and imported before the count begins
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    expected = estimate_memory(len(X), (28, 28), 8, **parameters)
    measured = peak + X.nbytes
    assert expected / 2 < measured < expected * 2


def test_alignments_are_costs_parameters_status_orientation_and_centroid():
    assert fits_bytes(60_000, 10, 16) == 60_000 * 10 * (8 + 2 * 16 * 4 + 1 + 1 + 4)


def test_the_alignments_of_an_image_do_not_grow_with_hundreds_of_clusters():
    assert fits_bytes(1, 1000, 16) == fits_bytes(1, MAX_CANDIDATES, 16)
