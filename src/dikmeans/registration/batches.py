"""Alignments of any number of images: in chunks, on several threads, into one set of arrays.

Each image is treated on its own, therefore neither the chunk size nor the number of threads shows in
the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dikmeans.registration.warped_measure import Fits
from dikmeans.parallel.threads import run_threads

# Pixels of images handled at once by a thread: small enough for the second-level cache, large enough
# to make the cost of a Python call vanish.
CHUNK_PIXELS = 50_000


def chunks(n: int, n_pixels: int) -> Iterator[slice]:
    """Slices of a set of `n` images of `n_pixels` each, as suit a thread."""
    return slices(n, min(512, CHUNK_PIXELS // max(1, n_pixels)))


def slices(n: int, size: int) -> Iterator[slice]:
    """Slices of `n` rows, of `size` rows each (one at least)."""
    size = max(1, size)
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def fit_images(
    measure: Any,
    images: np.ndarray,
    bank: Any,
    *,
    start: np.ndarray | None = None,
    keep: np.ndarray | None = None,
    prune: float = np.inf,
    n_jobs: int | None = None,
) -> Fits:
    """`WarpedMeasure.fit` for many images (n, C, rows, columns)."""
    return Fits(*_gather(measure, images, bank, start, keep, prune, n_jobs, slice(None)))


def cost_matrix(
    measure: Any, images: np.ndarray, bank: Any, *, prune: float = np.inf, n_jobs: int | None = None
) -> np.ndarray:
    """The costs alone, shape (n, K); the parameters, many times larger, are let go at once."""
    (costs,) = _gather(measure, images, bank, None, None, prune, n_jobs, slice(1))
    return costs


def _gather(
    measure: Any,
    images: np.ndarray,
    bank: Any,
    start: np.ndarray | None,
    keep: np.ndarray | None,
    prune: float,
    n_jobs: int | None,
    wanted: slice,
) -> list[np.ndarray]:
    """The `wanted` fields of `Fits` for all images."""

    def job(part: slice) -> tuple[np.ndarray, ...]:
        fits = measure.fit(
            images[part],
            bank,
            start=None if start is None else start[part],
            keep=None if keep is None else keep[part],
            prune=prune,
        )
        return fits[wanted]

    if measure.chunk_pixels is None:
        parts = list(chunks(len(images), images[0].size))
    else:  # a device: parallel in itself, and happiest with much at a time
        parts, n_jobs = list(slices(len(images), measure.chunk_pixels // images[0].size)), 1
    results = run_threads(job, parts, n_jobs)
    return [np.concatenate(arrays) for arrays in zip(*results, strict=True)]
