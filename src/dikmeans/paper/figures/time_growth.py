"""How the time of a fit grows with images, clusters, landmarks and pixels.

Every point is a fit of a fixed number of Lloyd iterations from random images (no warm-up, no swaps,
all images), once with affine maps (AI) and once with splines (DI). Seconds depend on the machine
and its load: compare points of one measurement, not of two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dikmeans._typing import Array, FloatArray, IntArray
from dikmeans.registration.warps import WarpName

WARPS: dict[str, WarpName] = {"AI K-means": "affine", "DI K-means": "tps"}
N_ITERATIONS = 3

AXES = {
    "images": ("images N", 1),
    "clusters": ("clusters K", 1),
    "landmarks": ("landmarks", 2),
    "side": ("pixels", 2),
}
"""What can grow: its label, and 2 if values are the side of a square."""


class TimeGrowth(NamedTuple):
    """Seconds along one axis.

    Attributes
    ----------
    axis : {"images", "clusters", "landmarks", "side"}
    values : tuple of int
    seconds : mapping of str to array
        For AI and DI K-means.
    """

    axis: str
    values: tuple[int, ...]
    seconds: Mapping[str, FloatArray]

    @property
    def label(self) -> str:
        """What grows, for the axis of a plot."""
        return AXES[self.axis][0]

    @property
    def amounts(self) -> IntArray:
        """How much there is at each value: 16 landmarks for a grid of side 4."""
        return np.array(self.values) ** AXES[self.axis][1]

    @property
    def tick_labels(self) -> list[str]:
        """Values as they are written at an axis."""
        return [f"{value}²" if AXES[self.axis][1] == 2 else f"{value:,}" for value in self.values]

    def exponent(self, name: str) -> float:
        """Return the slope of log seconds against log amount, by least squares: 1 is linear."""
        if len(self.values) < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.amounts), np.log(self.seconds[name]), 1)[0])

    def local_exponents(self, name: str) -> FloatArray:
        """Return the slope between each point and the one before."""
        slopes: FloatArray = np.diff(np.log(self.seconds[name])) / np.diff(np.log(self.amounts))
        return slopes


def measure_growth(
    axis: str,
    values: Sequence[int],
    make_images: Callable[[int, int], Array],
    base: Mapping[str, int],
    *,
    n_jobs: int | None = -1,
    step: Callable[[str], Any] = lambda description: None,
) -> TimeGrowth:
    """Time fits along one axis, everything else as in `base`.

    Parameters
    ----------
    axis : {"images", "clusters", "landmarks", "side"}
    values : sequence of int
    make_images : callable (n, side) -> array of shape (n, rows, columns)
    base : mapping
        Values for all four axes.
    n_jobs : int or None
        Threads.
    step : callable, optional
        Gets what is being measured.
    """
    for warp in WARPS.values():  # compiles before the clock runs
        fit_seconds(warp, make_images(20, base["side"])[:20], 2, 3, n_jobs=n_jobs)
    seconds: dict[str, list[float]] = {name: [] for name in WARPS}
    for value in values:
        point = {**base, axis: value}
        images = make_images(point["images"], point["side"])
        for name, warp in WARPS.items():
            step(f"{name}, {AXES[axis][0]} {value:,}")
            seconds[name].append(
                fit_seconds(warp, images, point["clusters"], point["landmarks"], n_jobs=n_jobs)
            )
    return TimeGrowth(
        axis, tuple(values), {name: np.array(times) for name, times in seconds.items()}
    )


def fit_seconds(
    warp: WarpName, images: Array, n_clusters: int, landmarks: int, *, n_jobs: int | None = -1
) -> float:
    """Return the seconds of a few Lloyd iterations on all the images."""
    from dikmeans import DIKMeans, Search

    model = DIKMeans(
        n_clusters,
        warp=warp,
        landmarks=landmarks,
        n_prototypes=1,
        init="random",
        max_iter=N_ITERATIONS,
        search=Search(
            n_swaps=0, sample_size=len(images), warm_up=False, max_iter=N_ITERATIONS, tol=0.0
        ),
        random_state=0,
        n_jobs=n_jobs,
    )
    start = time.perf_counter()
    model.fit(images)
    return time.perf_counter() - start
