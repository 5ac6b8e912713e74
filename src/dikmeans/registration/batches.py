"""Alignments of any number of images: in batches, on several threads, into one set of arrays.

Every image is treated on its own, so neither batch size nor number of threads shows in the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.parallel.threads import run_threads
from dikmeans.registration.measure import Bank, Measure, PairFits, WarmStart

# Values of images per call: they fit into the second-level cache, and the call costs little.
BATCH_PIXELS, MAX_BATCH = 50_000, 512


def batches(n_images: int, n_values: int, batch_pixels: int = BATCH_PIXELS) -> list[slice]:
    """Slices of `n_images` images of `n_values` values each, as suit a thread and its cache."""
    return list(slices(n_images, min(MAX_BATCH, batch_pixels // max(1, n_values))))


def slices(n: int, size: int) -> Iterator[slice]:
    """Slices of `n` rows, `size` rows each (at least one)."""
    size = max(1, size)
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def align_images(
    measure: Measure,
    images: FloatArray,
    bank: Bank,
    *,
    start: WarmStart | None = None,
    prune: float = np.inf,
    narrow: bool = False,
    n_jobs: int | None = None,
) -> PairFits:
    """`Measure.align` for many images (n, C, rows, columns)."""

    def align(part: slice) -> PairFits:
        return measure.align(
            images[part],
            bank,
            start=None if start is None else start.rows(part),
            prune=prune,
            narrow=narrow,
        )

    fits = run_threads(align, *batches_for(measure, images, n_jobs))
    return PairFits(*(np.concatenate(arrays) for arrays in zip(*fits, strict=True)))


def cost_matrix(
    measure: Measure,
    images: FloatArray,
    bank: Bank,
    *,
    prune: float = np.inf,
    n_jobs: int | None = None,
) -> FloatArray:
    """Costs alone, shape (n, K); the parameters, many times larger, are dropped at once."""

    def costs(part: slice) -> FloatArray:
        return measure.align(images[part], bank, prune=prune).costs

    return np.concatenate(run_threads(costs, *batches_for(measure, images, n_jobs)))


def batches_for(
    measure: Measure, images: FloatArray, n_jobs: int | None
) -> tuple[list[slice], int | None]:
    """Batches of the images as the measure wants them, and threads to align them on."""
    if measure.max_threads is None:
        return batches(len(images), images[0].size, measure.batch_pixels), n_jobs
    return list(slices(len(images), measure.batch_pixels // images[0].size)), measure.max_threads
