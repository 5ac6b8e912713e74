"""Compiled loops: the same from the cache as compiled anew, and without reference counts."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from dikmeans.registration.sampling import NO_REFCOUNTS

# affine maps and splines with a prior for each centroid: loops of odd lengths, which vector units
# treat in more than one way
ALIGN = """
import hashlib
import numpy as np
from sklearn.datasets import load_digits
from dikmeans.registration import MeasureSpec
from dikmeans.images import scale_to_unit_norm

images = scale_to_unit_norm(load_digits().images[:40, None].astype(np.float32))
roots = np.random.default_rng(0).normal(size=(3, 32, 32)) / 10
measure = MeasureSpec().build((8, 8), precision=roots @ roots.transpose(0, 2, 1))
fits = measure.align(images, measure.bank(images[:3]))
print(hashlib.sha256(b"".join(array.tobytes() for array in fits)).hexdigest())
"""
# as a numba that has dropped the option
WITHOUT_OPTION = """
from numba.core.cpu import CPUTargetOptions
from numba.core.options import DefaultOptions
for owner in (*CPUTargetOptions.__mro__, DefaultOptions):
    if "_nrt" in vars(owner):
        del owner._nrt
assert not hasattr(CPUTargetOptions, "_nrt")
"""
NOT_CACHED = {**NO_REFCOUNTS, "cache": False}


def add_rows(array, out):
    for i in range(array.shape[0]):
        row = array[i] if array[i, 0] > 0 else out
        out[0] += row[0]


def add_copies(array, out):
    out[:] += array[0].copy()


def test_references_are_counted_unless_numba_is_told_not_to():
    counts = []
    for options in ({}, NOT_CACHED):
        compiled, out = njit(**options)(add_rows), np.zeros(2)
        compiled(np.ones((3, 2)), out)
        assert out.tolist() == [3, 0]
        counts.append("".join(compiled.inspect_llvm().values()).count("NRT_"))
    assert counts[0] > 0  # else the test sees nothing
    assert counts[1] == 0


def test_a_loop_without_reference_counts_must_not_create_arrays():
    njit(add_copies)(np.ones((3, 2)), np.zeros(2))
    with pytest.raises((NumbaError, RuntimeError), match="NRT"):
        njit(**NOT_CACHED)(add_copies)(np.ones((3, 2)), np.zeros(2))


def result_of(program, cache):
    """What a program prints, in a process of its own with that folder for compiled loops."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_compiled_anew_and_from_the_cache_are_the_same(tmp_path):
    results = [result_of(ALIGN, tmp_path) for _ in range(2)]
    assert any(tmp_path.rglob("*.nbc"))
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_numba_that_has_dropped_the_option_computes_the_same(tmp_path):
    with_option = result_of(ALIGN, tmp_path / "with")
    assert with_option == result_of(WITHOUT_OPTION + ALIGN, tmp_path / "without")
