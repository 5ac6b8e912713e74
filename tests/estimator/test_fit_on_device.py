"""`DIKMeans` on a device: the clusters of the compiled fit, and files that forget the device."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

from dikmeans import DIKMeans
from dikmeans.registration import Adam, QuasiNewton
from tests.helpers import quick

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def few_slots(monkeypatch):
    """Room on the device for about as many pairs as there are here."""
    from dikmeans.registration.torch import sampling

    monkeypatch.setitem(sampling.NUMBERS_AT_ONCE, "cpu", 2**15)


@pytest.fixture(scope="module")
def digits(tiny_digits):
    """The digits 0 to 4 (8 x 8 pixels), 30 of each, and a first centroid for each."""
    X, y = tiny_digits
    by_class = np.stack([X[y == c][:31] for c in range(5)]).astype(np.float64)
    return by_class[:, 1:].reshape(-1, 8, 8), by_class[:, 0]


@pytest.mark.parametrize(
    "measure",
    [
        pytest.param({}, id="learned"),
        pytest.param({"warp": "affine"}, id="affine"),
        pytest.param(
            {"search__deformation_prior": "bending"}, id="bending", marks=pytest.mark.slow
        ),
        pytest.param(
            {"direction": "image-to-centroid", "smoothness": 1.0},
            id="image-to-centroid",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_clusters_are_those_of_the_compiled_fit(measure, digits):
    X, first = digits
    compiled, device = (
        quick(n_clusters=5, init=first, solver=QuasiNewton(device=device), **measure).fit(X)
        for device in (None, "cpu")
    )
    # a device refines all pairs side by side, also those that compiled loops give up underway
    assert (device.labels_ == compiled.labels_).mean() >= 0.95
    assert device.inertia_ == pytest.approx(compiled.inertia_, rel=0.03)
    np.testing.assert_array_equal(device.predict(X), device.labels_)
    # and with the same centroids the same decisions
    by_device = clone_fitted(compiled).set_params(solver__device="cpu").predict(X)
    assert (by_device == compiled.labels_).mean() >= 0.98


def clone_fitted(model):
    return pickle.loads(pickle.dumps(model))


def test_warm_up_swaps_and_prototypes_work_on_a_device(digits):
    X, _ = digits
    weights = np.linspace(0.5, 1.5, 60)
    model = quick(
        n_clusters=2,
        search__n_swaps=1,
        max_iter=2,
        n_prototypes=2,
        solver=QuasiNewton(device="cpu"),
    )
    model.fit(X[:60], sample_weight=weights)
    assert set(model.labels_) == {0, 1}
    again = clone(model).fit(X[:60], sample_weight=weights)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    phases = {}
    for iteration in model.history_.iterations:
        phases.setdefault(iteration.phase, []).append(iteration.inertia)
    assert len(phases) > 3
    assert all(np.all(np.diff(fall) <= 1e-6 * fall[0]) for fall in phases.values())


def test_the_published_algorithm_runs_on_a_device(digits):
    X, first = digits
    compiled, device = (
        DIKMeans.as_published(5, landmarks=3, steps=5, max_iter=2, init=first)
        .set_params(solver__device=device)
        .fit(X)
        for device in (None, "cpu")
    )
    # a device refines all pairs side by side, also those that compiled loops give up underway
    assert (device.labels_ == compiled.labels_).mean() >= 0.95
    assert device.inertia_ == pytest.approx(compiled.inertia_, rel=0.01)


def test_without_a_warp_a_device_changes_nothing(digits):
    X, first = digits
    models = [
        DIKMeans(5, warp="none", init=first, solver=QuasiNewton(device=device)).fit(X)
        for device in (None, "cpu")
    ]
    np.testing.assert_array_equal(models[0].cluster_centers_, models[1].cluster_centers_)


def test_a_model_from_a_device_is_read_where_there_is_no_pytorch(digits, tmp_path, monkeypatch):
    X, first = digits
    solver = QuasiNewton(evaluations=12, device="cpu")
    model = quick(n_clusters=5, init=first, max_iter=1, solver=solver).fit(X[:40])
    model.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "torch", None)
    copy = DIKMeans.load(tmp_path / "model")
    assert copy.solver.get_params() == {**solver.get_params(), "device": None}
    assert copy.solver.device is None
    np.testing.assert_array_equal(copy.cluster_centers_, model.cluster_centers_)
    assert (copy.predict(X[:40]) == model.labels_).mean() >= 0.95


@pytest.mark.parametrize("solver", [QuasiNewton, Adam])
def test_a_device_is_a_parameter_of_the_solver_like_others(solver):
    model = DIKMeans(solver=solver(device="cuda:1"))
    assert clone(model).get_params()["solver__device"] == "cuda:1"
    assert "device='cuda:1'" in repr(model)
    assert "device" not in model.get_params(deep=False)


@pytest.mark.parametrize(
    ("device", "message"),
    [("gpu", "device='gpu': expected 'cuda'"), (0, "device=0: expected None or a device")],
)
def test_mistakes_are_said_before_any_work(device, message, digits):
    with pytest.raises(ValueError, match=message):
        DIKMeans(5, solver=QuasiNewton(device=device)).fit(digits[0])
