"""What one image costs: processor time of each step, bytes on disk and in memory.

Processor seconds of one thread, not of the clock, so that other programs on the machine do not
count; each is the median of a few repeats on real digits. From these figures a second table
computes what large sets take: K = 10, four prototypes per cluster and ten iterations over all
images, which is an assumption. Images are read to be checked, at first, three times per iteration,
and in the end.

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
N_CLUSTERS, N_PROTOTYPES, MANY = 10, 40, 100
N_ITERATIONS, PASSES = 10, 3
LARGE_SETS = {"ten million": 1e7, "a billion": 1e9}


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

    def costs(k: int, folder: Path) -> dict[str, float]:
        """Microseconds of every step for one image."""
        centroids = images[:k].copy()
        fits = on_shard.assign(shard, measure, centroids, None, 1)
        nearest = on_shard.nearest_fits(fits)
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
        return cost | {"iteration": cost["warm"] + PASSES * cost["pass"]}

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
        found = {k: costs(k, Path(folder)) for k in (N_CLUSTERS, N_PROTOTYPES, MANY)}
    print_table(
        header,
        (
            [
                f"{k}",
                *(f"{cost:.1f}" for cost in of_image.values()),
                f"{of_image['cold'] / k:.1f}",
                f"{of_image['warm'] / k:.1f}",
                f"{fits_bytes(1, k, measure.n_basis):,}",
            ]
            for k, of_image in found.items()
        ),
    )
    print()
    few, prototypes = found[N_CLUSTERS], found[N_PROTOTYPES]
    steps = {
        f"aligned from scratch with {N_CLUSTERS} centroids": few["cold"],
        f"{N_ITERATIONS} iterations": N_ITERATIONS * few["iteration"],
        f"aligned from scratch with {N_PROTOTYPES} prototypes": prototypes["cold"],
        "read and scaled": (PASSES * N_ITERATIONS + 3) * few["prepare"],
        "alignments to disk and back": (N_ITERATIONS + 1) * few["store"],
    }
    steps["all of it"] = sum(steps.values())
    sizes = {
        "images on disk, as bytes": int(np.prod(SHAPE)),
        "images preprocessed, in the memory of workers": 4 * int(np.prod(SHAPE)),
        "alignments, of which there are up to three sets": fits_bytes(
            1, N_CLUSTERS, measure.n_basis
        ),
    }
    print_table(
        ["computed", "of one image", *LARGE_SETS],
        [
            *(
                [step, f"{us:.0f} us", *(f"{us * n / 3.6e9:.1f} h" for n in LARGE_SETS.values())]
                for step, us in steps.items()
            ),
            *(
                [what, f"{size:,} B", *(f"{size * n / 1e9:,.0f} GB" for n in LARGE_SETS.values())]
                for what, size in sizes.items()
            ),
        ],
    )


if __name__ == "__main__":
    main()
