"""Which device is meant, and what is said if it cannot be had."""

import subprocess
import sys

import pytest

from dikmeans.errors import MissingExtraError
from dikmeans.parameters import InvalidParameterError
from dikmeans.registration import Adam, QuasiNewton
from dikmeans.registration.euclidean_measure import EuclideanMeasure
from tests.helpers import build_measure, quick


def on(device, solver=QuasiNewton):
    """A measure whose solver works on a device."""
    return build_measure((8, 8), solver=solver(device=device))


@pytest.mark.parametrize("solver", [QuasiNewton, Adam])
@pytest.mark.parametrize("name", ["gpu", "mps", "cuda:x", "cuda:-1", ""])
def test_an_unknown_device_is_named_with_those_that_are_known(name, solver):
    with pytest.raises(ValueError, match=r"device=.*expected 'cuda'") as caught:
        on(name, solver)
    assert isinstance(caught.value, InvalidParameterError)
    assert (caught.value.parameter, caught.value.value) == ("device", name)


def test_a_device_that_is_no_text_is_refused_as_any_parameter_is():
    with pytest.raises(ValueError, match=r"device=3: expected None or a device"):
        on(3)


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cpu' needs.*torch.*dikmeans\[deep\]") as caught:
        on("cpu")
    assert isinstance(caught.value, MissingExtraError)
    assert (caught.value.library, caught.value.extra) == ("torch", "deep")


def test_a_machine_without_cuda_is_told_so(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"device='cuda'.*this PyTorch finds no CUDA device"):
        on("cuda")


def test_a_cuda_device_that_is_not_there_is_told_so(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device='cuda:2'.*2 CUDA devices"):
        on("cuda:2")


@pytest.mark.parametrize("solver", [QuasiNewton, Adam])
def test_every_solver_works_on_a_device(solver):
    pytest.importorskip("torch")
    measure = on("cpu", solver)
    assert type(measure).__name__ == "TorchMeasure"
    assert measure.device.type == "cpu"


def test_without_a_warp_there_is_nothing_for_a_device_to_do():
    pytest.importorskip("torch")
    measure = build_measure((8, 8), warp="none", solver=QuasiNewton(device="cpu"))
    assert isinstance(measure, EuclideanMeasure)


def test_a_device_that_cannot_be_had_is_refused_before_a_fit(monkeypatch, real_digits):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError):
        quick(solver=QuasiNewton(device="cpu")).fit(real_digits[0][:20])


def test_pytorch_is_not_imported_unless_a_device_is_asked_for():
    program = """
import sys, numpy as np, dikmeans, dikmeans.registration, dikmeans.kmeans, dikmeans.runs
dikmeans.DIKMeans(2, max_iter=1).fit(np.random.default_rng(0).random((6, 8, 8)))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
