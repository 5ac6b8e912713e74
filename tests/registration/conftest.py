"""One fixture over solvers, warps and directions: a law of the measure holds for all of them."""

from __future__ import annotations

from itertools import product

import pytest

from tests.helpers import build_measure

SOLVERS = ["quasi-newton", "adam"]
WARPS = ["affine", "tps"]
DIRECTIONS = ["image-to-centroid", "centroid-to-image"]
MEASURES = list(product(SOLVERS, WARPS, DIRECTIONS))


@pytest.fixture(params=MEASURES, ids=["-".join(measure) for measure in MEASURES])
def measure(request) -> dict[str, str]:
    """Keyword arguments that name a measure."""
    return dict(zip(("solver", "warp", "direction"), request.param, strict=True))


@pytest.fixture
def make(measure):
    """Builds that measure, for any shape and with further options."""
    return lambda shape=(28, 28), **options: build_measure(shape, **(measure | options))
