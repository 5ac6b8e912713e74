"""The schedule is data: which phases a run has, what each learns, and how long it may take."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import groupby, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans import Search
from dikmeans.kmeans.schedule import (
    AUTO_MIN_SWAPS,
    AUTO_SAMPLE_SIZE,
    RELEARN_ITERATIONS,
    SEARCH_TOL,
    WARM_UP_ITERATIONS,
    WARM_UP_STIFFNESS,
    PhaseKind,
    Prior,
    make_schedule,
)
from tests.helpers import quick

WARPS = ["none", "affine", "tps"]

PARAMETERS = {
    "n_images": st.sampled_from([20, 500, 10_000]),
    "n_clusters": st.sampled_from([1, 2, 10, 30]),
    "warp": st.sampled_from(WARPS),
    "smoothness": st.sampled_from([0.0, 0.3]),
    "n_prototypes": st.sampled_from(["auto", 1, 3]),
    "max_iter": st.sampled_from([1, 7, 100]),
    "given_centroids": st.booleans(),
}
SEARCH = {
    "n_swaps": st.sampled_from(["auto", 0, 1, 5]),
    "sample_size": st.sampled_from(["auto", 50, 20_000]),
    "warm_up": st.booleans(),
    "deformation_prior": st.sampled_from(["learned", "bending"]),
    "max_iter": st.sampled_from([1, 4, 100]),
    "tol": st.sampled_from([0.0, 1e-4, 0.1]),
}


def schedule_of(search=None, **parameters):
    defaults = {
        "n_images": 500,
        "n_clusters": 10,
        "warp": "tps",
        "smoothness": 0.3,
        "n_prototypes": "auto",
        "max_iter": 100,
    }
    return make_schedule(search=Search(**(search or {})), **{**defaults, **parameters})


def kinds(schedule):
    return [phase.kind for phase in schedule.phases]


def test_by_default_there_are_all_phases_in_order():
    assert [phase.name for phase in schedule_of().phases] == [
        "warm-up: none",
        "warm-up: affine",
        "warm-up: tps, 10 x smoothness",
        "search",
        "shared prior",
        "swaps",
        "relearning",
        "all images",
        "prototypes",
        "assignment",
    ]


def test_k_means_has_nothing_to_warm_up_learn_swap_or_divide():
    schedule = schedule_of(warp="none")
    assert kinds(schedule) == [PhaseKind.ALL_IMAGES, PhaseKind.ASSIGNMENT]


@pytest.mark.parametrize("warp", WARPS)
def test_given_centroids_are_neither_warmed_up_nor_swapped(warp):
    schedule = schedule_of(warp=warp, given_centroids=True, n_prototypes=1)
    learns = [PhaseKind.SEARCH] if warp != "none" else []
    assert kinds(schedule) == [*learns, PhaseKind.ALL_IMAGES, PhaseKind.ASSIGNMENT]


@given(parameters=st.fixed_dictionaries(PARAMETERS), search=st.fixed_dictionaries(SEARCH))
def test_laws_of_every_schedule(parameters, search):
    schedule = schedule_of(search, **parameters)
    phases, order = schedule.phases, list(PhaseKind)
    positions = [order.index(phase.kind) for phase in phases]

    # phases come in the order of the enum; only the warm-up has several
    assert positions == sorted(positions)
    for kind, group in groupby(kinds(schedule)):
        assert kind is PhaseKind.WARM_UP or len(list(group)) == 1
    assert [phase.kind for phase in phases if not phase.on_sample] == [
        PhaseKind.ALL_IMAGES,
        PhaseKind.ASSIGNMENT,
    ]
    assert len({phase.name for phase in phases}) == len(phases)

    # max_iter bounds the iterations on all images, that of the search every phase before
    for phase in phases:
        if phase.kind is PhaseKind.ALL_IMAGES:
            assert (phase.max_iter, phase.tol) == (parameters["max_iter"], search["tol"])
        elif phase.kind not in (PhaseKind.PROTOTYPES, PhaseKind.ASSIGNMENT):
            assert 1 <= phase.max_iter <= search["max_iter"]
            assert phase.tol == SEARCH_TOL
    assert schedule.max_division_iter == search["max_iter"]

    # the sample has an image for each cluster, if there are so many, and no more than there are
    assert schedule.sample_size <= parameters["n_images"]
    assert schedule.sample_size >= min(parameters["n_clusters"], parameters["n_images"])
    for phase in phases:
        expected = schedule.sample_size if phase.on_sample else parameters["n_images"]
        assert schedule.n_images_of(phase) == expected
        assert schedule.phase(phase.kind).kind is phase.kind

    # the prior is learned from warps under the bending energy, once for all clusters before swaps,
    # and last of all for each cluster
    learning = [phase for phase in phases if phase.learns is not None]
    can_learn = parameters["warp"] != "none" and parameters["smoothness"] > 0
    if search["deformation_prior"] == "bending" or not can_learn:
        assert learning == []
    else:
        assert learning[-1].learns is Prior.PER_CLUSTER
        has_swaps = schedule.phase(PhaseKind.SWAPS) is not None
        assert [phase.learns for phase in learning[:-1]] == [Prior.SHARED] * has_swaps
        relearning = schedule.phase(PhaseKind.RELEARNING)
        assert (relearning is not None) == has_swaps
        if relearning is not None:
            assert not relearning.learned_prior
            assert relearning.max_iter == min(RELEARN_ITERATIONS, search["max_iter"])

    # swaps need a second cluster, and centroids that were not given
    swaps = schedule.phase(PhaseKind.SWAPS)
    trials = search["n_swaps"]
    if trials == "auto":
        least = max(AUTO_MIN_SWAPS, parameters["n_clusters"])
        trials = 0 if parameters["warp"] == "none" else least
    may_swap = trials > 0 and parameters["n_clusters"] > 1 and not parameters["given_centroids"]
    assert (swaps is not None) == may_swap
    assert swaps is None or swaps.max_trials == trials

    # the warm-up has simpler warps, then the same one made stiffer
    warm_up = [phase for phase in phases if phase.kind is PhaseKind.WARM_UP]
    if not search["warm_up"] or parameters["given_centroids"]:
        assert warm_up == []
    else:
        simpler = WARPS[: WARPS.index(parameters["warp"])]
        stiff = parameters["warp"] == "tps" and parameters["smoothness"] > 0
        assert [phase.warp for phase in warm_up] == simpler + ["tps"] * stiff
        assert [phase.smoothness_factor for phase in warm_up] == [1.0] * len(simpler) + [
            WARM_UP_STIFFNESS
        ] * stiff
        for phase in warm_up:
            assert phase.max_iter == min(WARM_UP_ITERATIONS[phase.warp], search["max_iter"])
    assert all(phase.warp == parameters["warp"] for phase in phases if phase not in warm_up)

    # clusters are divided if they may have several prototypes
    divides = schedule.phase(PhaseKind.PROTOTYPES) is not None
    assert divides == (schedule.prototypes.most > 1)


def test_a_schedule_is_a_value():
    assert schedule_of() == schedule_of()
    assert schedule_of() != schedule_of(max_iter=99)
    with pytest.raises(FrozenInstanceError):
        schedule_of().phases[0].max_iter = 3


def test_the_sample_grows_with_the_clusters():
    sizes = {k: schedule_of(n_images=10**6, n_clusters=k).sample_size for k in (2, 20, 50)}
    assert sizes == {2: AUTO_SAMPLE_SIZE, 20: AUTO_SAMPLE_SIZE, 50: 10_000}


def test_an_estimator_makes_its_schedule_without_a_fit():
    model = quick(n_clusters=7, search__n_swaps="auto")
    schedule = model.schedule_for(300, (28, 28, 3))
    assert (schedule.n_clusters, schedule.n_images) == (7, 300)
    assert schedule.phase(PhaseKind.SWAPS).max_trials == AUTO_MIN_SWAPS
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(ValueError, match="landmarks=9: expected rows from 2 to 8"):
        quick(landmarks=9).schedule_for(300, (8, 8))


@pytest.mark.parametrize(
    ("warp", "search"),
    list(
        product(
            WARPS,
            [
                {},
                {"search__warm_up": False, "search__n_swaps": 0},
                {"search__deformation_prior": "bending", "search__sample_size": 40},
                {"smoothness": 0.0, "n_prototypes": 3},
            ],
        )
    ),
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Only . of 3 clusters have members")
def test_a_fits_history_visits_the_phases_of_its_schedule_in_order(tiny_digits, warp, search):
    X = tiny_digits[0][:90]
    model = quick(n_clusters=3, warp=warp, **search).fit(X)
    schedule = model.schedule_for(len(X), (8, 8))
    visited = [name for name, _ in groupby(record.phase for record in model.history_.iterations)]
    iterated = [
        phase.name
        for phase in schedule.phases
        if phase.kind not in (PhaseKind.PROTOTYPES, PhaseKind.ASSIGNMENT)
        # swaps leave a record only if one was kept
        and (phase.kind is not PhaseKind.SWAPS or phase.name in visited)
    ]
    assert visited == iterated
    sizes = {phase.name: schedule.n_images_of(phase) for phase in schedule.phases}
    assert all(record.n_images == sizes[record.phase] for record in model.history_.iterations)
    for phase in schedule.phases:
        if phase.kind is not PhaseKind.SWAPS and phase.max_iter:
            count = sum(record.phase == phase.name for record in model.history_.iterations)
            assert 1 <= count <= phase.max_iter
