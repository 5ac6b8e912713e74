"""A process that compiles the loops and one that finds them in the cache compute the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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


@pytest.mark.slow
def test_compiled_anew_and_from_the_cache_are_the_same(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    results = [
        subprocess.run(
            [sys.executable, "-c", ALIGN],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc"))
    assert results[0] == results[1]
