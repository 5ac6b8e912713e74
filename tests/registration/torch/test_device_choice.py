"""Which device is meant, and what is said if it cannot be had."""

import subprocess
import sys

import pytest

from dikmeans.registration import QuasiNewton, make_measure
from dikmeans.registration.euclidean_measure import EuclideanMeasure


@pytest.mark.parametrize("name", ["gpu", "mps", "cuda:x", "cuda:-1", "", 3])
def test_an_unknown_device_is_named_with_those_that_are_known(name):
    with pytest.raises(ValueError, match=r"device=.*expected 'cuda'"):
        make_measure((8, 8), device=name)


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cpu' needs PyTorch.*dikmeans\[deep\]"):
        make_measure((8, 8), device="cpu")


def test_a_machine_without_cuda_is_told_so(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"device='cuda': this PyTorch finds no CUDA device"):
        make_measure((8, 8), device="cuda")


def test_a_cuda_device_that_is_not_there_is_told_so(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device='cuda:2': there are 2 CUDA devices"):
        make_measure((8, 8), device="cuda:2")


def test_a_solver_that_has_not_been_written_for_devices_is_refused():
    pytest.importorskip("torch")

    class Mine(QuasiNewton):
        """A user's own."""

    with pytest.raises(ValueError, match=r"Mine.*does not run on device='cpu'.*QuasiNewton, Adam"):
        make_measure((8, 8), device="cpu", solver=Mine())


def test_without_a_warp_there_is_nothing_for_a_device_to_do():
    pytest.importorskip("torch")
    assert isinstance(make_measure((8, 8), warp="none", device="cpu"), EuclideanMeasure)


def test_pytorch_is_not_imported_unless_a_device_is_asked_for():
    program = """
import sys, numpy as np, dikmeans, dikmeans.registration, dikmeans.kmeans, dikmeans.runs
dikmeans.DIKMeans(2, max_iter=1, n_swaps=0).fit(np.random.default_rng(0).random((6, 8, 8)))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
