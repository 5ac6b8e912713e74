"""Pictures and pairs for the comparison of a device with the compiled loops."""

from __future__ import annotations

from itertools import product

import pytest

DIRECTIONS, BORDERS = ["image-to-centroid", "centroid-to-image"], ["zero", "edge"]
MEASURES = [
    *product(["affine", "tps"], DIRECTIONS, BORDERS, ["fixed"]),
    *product(["tps"], DIRECTIONS, BORDERS, ["affine"]),
]


@pytest.fixture(params=MEASURES, ids=["-".join(measure) for measure in MEASURES])
def measure(request) -> dict[str, str]:
    """Keyword arguments that name a measure."""
    return dict(zip(("warp", "direction", "border", "intensity"), request.param, strict=True))


@pytest.fixture
def few_slots(monkeypatch):
    """Little room on the device: pairs have to wait for one another."""
    from dikmeans.registration.torch import sampling

    monkeypatch.setitem(sampling.NUMBERS_AT_ONCE, "cpu", 2**14)


@pytest.fixture(scope="module")
def images(digits_by_class):
    """Twenty real digits (20, 1, 28, 28), of all classes."""
    return digits_by_class[:, :2].reshape(-1, 1, 28, 28)


@pytest.fixture(scope="module")
def centroids(digits_by_class):
    """Three other digits."""
    return digits_by_class[[1, 4, 7], 10][:, None]
