"""How the time of a fit grows with images, clusters, landmarks and pixels.

Every point is a fit of a fixed number of Lloyd iterations from random images (no curriculum, no swaps, all
images), once with affine maps (AI) and once with splines (DI). Seconds depend on the machine and on what
else it does: compare points of one measurement, not of two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dikmeans.kmeans import DIKMeans

WARPS = {"AI K-means": "affine", "DI K-means": "tps"}
N_ITERATIONS = 3


@dataclass(frozen=True)
class GrowthAxis:
    """Something that can grow.

    Attributes
    ----------
    name : str
    label : str
        For the axis of a plot.
    power : int
        1, or 2 for the side of a square.
    """

    name: str
    label: str
    power: int = 1

    def amounts(self, values: Sequence[int]) -> np.ndarray:
        """How much there is of it at each value: 16 landmarks for a grid of side 4."""
        return np.array(values) ** self.power

    def tick_labels(self, values: Sequence[int]) -> list[str]:
        """Values as they are written at an axis."""
        return [f"{value:,}" if self.power == 1 else f"{value}²" for value in values]


AXES = {
    axis.name: axis
    for axis in (
        GrowthAxis("images", "images N"),
        GrowthAxis("clusters", "clusters K"),
        GrowthAxis("landmarks", "landmarks", 2),
        GrowthAxis("side", "pixels", 2),
    )
}


@dataclass(frozen=True, eq=False)
class Growth:
    """Seconds along one axis.

    Attributes
    ----------
    axis : GrowthAxis
    values : tuple of int
    seconds : mapping of str to array
        For AI and DI K-means.
    """

    axis: GrowthAxis
    values: tuple[int, ...]
    seconds: Mapping[str, np.ndarray]

    @property
    def amounts(self) -> np.ndarray:
        """How much there is at each value."""
        return self.axis.amounts(self.values)

    def power(self, name: str) -> float:
        """The slope of log seconds against log amount, by least squares: 1 is linear."""
        if len(self.values) < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.amounts), np.log(self.seconds[name]), 1)[0])

    def local_powers(self, name: str) -> np.ndarray:
        """The slope between each point and the one before."""
        return np.diff(np.log(self.seconds[name])) / np.diff(np.log(self.amounts))


def measure_growth(
    axis: str,
    values: Sequence[int],
    pictures: Callable[[int, int], np.ndarray],
    base: Mapping[str, int],
    *,
    n_jobs: int | None = -1,
    step: Callable[[str], Any] = lambda text: None,
) -> Growth:
    """Time fits along one axis, everything else as in `base`.

    Parameters
    ----------
    axis : {"images", "clusters", "landmarks", "side"}
    values : sequence of int
    pictures : callable (n, side) -> array of shape (n, rows, columns)
        The images to cluster.
    base : mapping
        Values for all four axes.
    n_jobs : int or None
        Threads.
    step : callable, optional
        Hears what is being measured.

    Returns
    -------
    Growth
    """
    _compile(pictures(20, base["side"])[:20], n_jobs)
    seconds: dict[str, list[float]] = {name: [] for name in WARPS}
    for value in values:
        point = {**base, axis: value}
        images = pictures(point["images"], point["side"])
        for name, warp in WARPS.items():
            step(f"{name}, {AXES[axis].label} {value:,}")
            seconds[name].append(
                fit_seconds(warp, images, point["clusters"], point["landmarks"], n_jobs=n_jobs)
            )
    return Growth(AXES[axis], tuple(values), {name: np.array(list_) for name, list_ in seconds.items()})


def fit_seconds(
    warp: str, images: np.ndarray, clusters: int, landmarks: int, *, n_jobs: int | None = -1
) -> float:
    """Seconds of a few Lloyd iterations on all the images."""
    model = DIKMeans(
        clusters,
        warp=warp,
        landmarks=landmarks,
        n_prototypes=1,
        init="random",
        curriculum=False,
        n_swaps=0,
        search_size=len(images),
        max_iter=N_ITERATIONS,
        tol=0.0,
        random_state=0,
        n_jobs=n_jobs,
    )
    begin = time.perf_counter()
    model.fit(images)
    return time.perf_counter() - begin


def _compile(images: np.ndarray, n_jobs: int | None) -> None:
    """Let numba work before the clock runs."""
    for warp in WARPS.values():
        fit_seconds(warp, images, 2, 3, n_jobs=n_jobs)
