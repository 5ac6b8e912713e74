"""Nothing piles up from fit to fit; `benchmarks/soak.py` is the long version."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks._common import digits
from benchmarks.soak import MIB, SETTINGS, one_round, reading


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc"
)
def test_after_a_warm_up_fits_leave_nothing_behind(tmp_path):
    images = digits(400)[0][:, 0]
    n_rounds = 5 * len(SETTINGS)
    held = np.zeros((n_rounds, 4), int)
    for number in range(-2 * len(SETTINGS), n_rounds):
        one_round(number % n_rounds, images, tmp_path)
        if number >= 0:
            held[number] = reading()
    # the least that is held in a turn of all settings, in the first turn and in the last
    turns = held.reshape(5, len(SETTINGS), 4).min(axis=1)
    resident, objects, threads, files = turns[-1] - turns[0]
    assert resident < 2 * MIB  # 20 fits with their models, pictures and warps are more than that
    assert objects < n_rounds - len(SETTINGS)  # less than one per round
    assert threads == 0
    assert files == 0
