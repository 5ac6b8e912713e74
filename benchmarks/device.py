"""The measure in PyTorch against the compiled loops: time, and how far the costs are apart.

The same images are aligned with the same centroids, from scratch as in `predict` and from a warm
start as in an iteration; then the centroid update. Jobs take turns in one process, medians. The
compiled loops and PyTorch on the processor get one thread each; a CUDA device is measured if there
is one. Costs are compared with those of the compiled loops; so are those that the compiled loops
find for images that differ in the last digit ("shaken"), because a descent in single precision
cannot be repeated more closely than that.

    python -m benchmarks.device [images]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from benchmarks._common import digits, interleaved, print_table
from dikmeans.kmeans.centroid_update import Members, gather_sums
from dikmeans.kmeans.shard import PRUNE_COLD, PRUNE_WARM
from dikmeans.registration import Measure, MeasureSpec, QuasiNewton
from dikmeans.registration.batches import align_images
from dikmeans.registration.measure import WarmStart

N_CENTROIDS, REPEATS = 10, 3


def timings(
    measures: dict[str, Measure], images: np.ndarray, centroids: np.ndarray
) -> Iterator[list[str]]:
    """Seconds of each kind of work, and the ratio to the compiled loops, one row per kind."""
    compiled = measures["compiled"]
    bank, warm = compiled.bank(centroids), compiled.bank(centroids, warm=True)
    found = align_images(compiled, images, bank, prune=PRUNE_COLD, n_jobs=1)
    labels = found.costs.argmin(axis=1)
    start = 0.9 * found.deltas
    members = Members(images, np.ones(len(images)), labels, start[np.arange(len(images)), labels])
    work: dict[str, Callable[[Measure], object]] = {
        "from scratch": lambda a: align_images(a, images, bank, prune=PRUNE_COLD, n_jobs=1),
        "warm start": lambda a: align_images(
            a, images, warm, start=WarmStart(start, keep=labels), prune=PRUNE_WARM, n_jobs=1
        ),
        "sums for the update": lambda a: gather_sums(a, members, centroids, 1),
    }
    for name, job in work.items():
        seconds = interleaved([partial(job, measure) for measure in measures.values()], REPEATS)
        yield [name, *(f"{s:.2f} s ({s / seconds[0]:.2f})" for s in seconds)]


def distances(
    measures: dict[str, Measure], images: np.ndarray, centroids: np.ndarray
) -> Iterator[list[str]]:
    """How far costs are from the compiled ones, one row per measure."""
    costs = {}
    for name, measure in measures.items():
        costs[name] = align_images(measure, images, measure.bank(centroids), n_jobs=1).costs
    noise = np.random.default_rng(0).normal(scale=2e-7, size=images.shape)
    shaken = (images * (1 + noise)).astype(np.float32)
    compiled = measures["compiled"]
    costs["compiled, shaken"] = align_images(
        compiled, shaken, compiled.bank(centroids), n_jobs=1
    ).costs
    expected = costs.pop("compiled")
    own = np.arange(len(images)), expected.argmin(axis=1)
    for name, found in costs.items():
        relative = found / expected - 1
        yield [
            name,
            f"{np.median(np.abs(relative)):.1e}",
            f"{relative.mean():+.2%}",
            f"{np.median(np.abs(relative[own])):.1e}",
            f"{(found.argmin(axis=1) == own[1]).mean():.2%}",
        ]


if __name__ == "__main__":
    torch.set_num_threads(1)
    images, _ = digits(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    centroids, _ = digits(N_CENTROIDS, first=4000)
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    measures = {"compiled": MeasureSpec().build((28, 28))}
    for device in devices:
        spec = MeasureSpec(solver=QuasiNewton(device=device))
        measures[f"torch, {device}"] = spec.build((28, 28))
    print(f"{len(images)} digits of 28 x 28 pixels, {N_CENTROIDS} centroids (times the compiled)\n")
    header = ["work".rjust(12), *(name.rjust(16) for name in measures)]
    print_table(header, timings(measures, images, centroids))
    print()
    header = [
        "costs of".rjust(16),
        "median difference",
        "mean".rjust(7),
        "median, own centroid",
        "same cluster",
    ]
    print_table(header, distances(measures, images, centroids))
