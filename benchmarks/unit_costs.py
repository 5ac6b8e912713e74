"""What one image costs: processor time of each step, bytes on disk and in memory.

From these figures docs/scale.md computes what large sets take. Processor seconds of one thread, not
of the clock, so that other programs on the machine do not count; each is the median of a few
repeats on real digits.

    python -m benchmarks.unit_costs [--images 3000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._common import digits, print_table
from dikmeans.kmeans import shard as on_shard
from dikmeans.kmeans.shard import Shard, read_fits, spill_fits
from dikmeans.monitoring.memory import fits_bytes
from dikmeans.outofcore.workers import prepare_shard
from dikmeans.preprocessing import UnitNorm
from dikmeans.registration import MeasureSpec

SHAPE = (28, 28)


def cpu_seconds(job: Callable[[], object], repeats: int) -> float:
    """Median processor time of a job."""
    job()
    seconds = []
    for _ in range(repeats):
        clock = time.process_time()
        job()
        seconds.append(time.process_time() - clock)
    return float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    n = options.images
    images = digits(n)[0]
    raw = (images / images.max() * 255).astype(np.uint8).reshape(n, *SHAPE)
    shard = Shard(images, np.ones(n))
    print(
        f"{n:,} images of 28 x 28 pixels, 4 x 4 landmarks, one thread; "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    measure = MeasureSpec().build(SHAPE)

    def row(k: int, folder: Path) -> list[str]:
        centroids = images[:k].copy()
        fits = on_shard.assign(shard, measure, centroids, None, 1)
        nearest = on_shard.nearest_fits(fits)
        rule_passes = 3
        moved = centroids + np.float32(0.01) * images[k : 2 * k]

        def store() -> None:
            path = folder / "fits"
            path.unlink(missing_ok=True)
            spill_fits(path, fits)
            read_fits(path)

        jobs: dict[str, Callable[[], object]] = {
            "prepare": lambda: prepare_shard(raw, 0, None, shape=SHAPE, preprocessing=UnitNorm()),
            "cold": lambda: on_shard.assign(shard, measure, centroids, None, 1),
            "warm": lambda: on_shard.assign(shard, measure, moved, fits, 1),
            "pass": lambda: on_shard.gather(
                shard, measure, centroids.astype(float), nearest, np.inf, 1
            ),
            "store": store,
        }
        cost = {name: cpu_seconds(job, options.repeats) / n * 1e6 for name, job in jobs.items()}
        return [
            f"{k}",
            *(f"{cost[name]:.1f}" for name in jobs),
            f"{cost['warm'] + rule_passes * cost['pass']:.0f}",
            f"{cost['cold'] / k:.1f}",
            f"{cost['warm'] / k:.1f}",
            f"{fits_bytes(1, k, measure.n_basis):,}",
        ]

    header = [
        "K",
        "read, preprocess (us)",
        "cold (us)",
        "warm (us)",
        "sums, per pass (us)",
        "alignments to disk and back (us)",
        "iteration (us)",
        "cold / K",
        "warm / K",
        "alignments (bytes)",
    ]
    with tempfile.TemporaryDirectory() as folder:
        print_table(header, (row(k, Path(folder)) for k in (10, 40, 100)))
    n_pixels = int(np.prod(SHAPE))
    print(f"\nimages: {n_pixels} bytes each as uint8, {n_pixels * 4} preprocessed")


if __name__ == "__main__":
    main()
