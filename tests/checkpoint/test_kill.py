"""Killed at any moment, as often as you like, a fit ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL and no fork")
def test_killed_at_random_moments_a_fit_ends_as_if_it_had_not_been(tmp_path):
    paths = [str(ROOT / "src"), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.checkpoint.killed_fits", str(tmp_path), str(KILLS)],
        capture_output=True,
        text=True,
        check=False,
        # one thread: the program forks
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    fits = [json.loads(line) for line in done.stdout.splitlines()]
    ends = sum((Counter(fit["ends"]) for fit in fits), Counter())
    assert ends["failed"] == 0, done.stderr
    assert ends["done"] == len(fits)
    assert ends["killed from outside"] + ends["killed while writing"] >= KILLS
    assert min(ends["killed from outside"], ends["killed while writing"]) >= KILLS / 4
    assert [fit for fit in fits if not fit["same"]] == []
