"""What a fit shows of its progress."""

from __future__ import annotations

import pytest

from dikmeans import DIKMeans
from dikmeans.cli.fit_progress import FitProgress, describe_phase, describe_step
from dikmeans.kmeans.history import IterationRecord
from dikmeans.kmeans.schedule import Phase, PhaseKind
from dikmeans.monitoring.events import ProgressEvent

SCHEDULE = DIKMeans(3).schedule_for(100, (8, 8))


def event(kind: PhaseKind, *, iteration=2, run=1, n_runs=1, resumed=False, n_images=50):
    phases = [phase.kind for phase in SCHEDULE.phases]
    record = IterationRecord(kind.value, 5.0, n_images, 3, 0.1)
    return ProgressEvent(
        run, n_runs, SCHEDULE, phases.index(kind), iteration, record, resumed, (record,)
    )


@pytest.mark.parametrize("kind", PhaseKind)
def test_every_phase_has_its_own_words(kind):
    texts = {describe_phase(Phase(other, "tps")) for other in PhaseKind if other is not kind}
    assert describe_phase(Phase(kind, "tps")) not in texts


def test_warm_up_phases_differ_by_their_warps():
    texts = [describe_phase(phase) for phase in SCHEDULE.phases if phase.kind is PhaseKind.WARM_UP]
    assert texts == [
        "warming up without warps",
        "warming up with affine maps",
        "warming up with stiff splines",
    ]


def test_a_step_names_run_phase_and_iteration():
    assert describe_step(event(PhaseKind.SEARCH)) == "searching, iteration 2"
    later = event(PhaseKind.SEARCH, run=2, n_runs=5, resumed=True)
    assert describe_step(later) == "run 2 of 5, resumed: searching, iteration 2"
    assert describe_step(event(PhaseKind.SWAPS)) == "moving centroids, trial 2 of at most 10"
    assert describe_step(event(PhaseKind.ASSIGNMENT)) == "assigning all pictures"


def test_a_log_gets_one_line_per_phase_with_the_inertia_per_picture(capsys):
    with FitProgress(SCHEDULE) as progress:
        for iteration in (1, 2, 3):
            progress(event(PhaseKind.SEARCH, iteration=iteration, n_images=50))
        progress(event(PhaseKind.ALL_IMAGES, iteration=1, n_images=100))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" · ")[:2] for line in lines] == [
        ["searching, iteration 1", "inertia 0.1000 per picture"],
        ["fitting all pictures, iteration 1", "inertia 0.0500 per picture"],
    ]


def test_quiet_shows_nothing(capsys):
    with FitProgress(SCHEDULE, quiet=True) as progress:
        progress(event(PhaseKind.SEARCH))
    assert capsys.readouterr().err == ""
