"""``dikmeans fit --dry-run``: how long a fit will take, and how much memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import typer

from dikmeans._typing import JSON, FloatArray, ImageShape
from dikmeans.cli.console import describe_bytes, describe_seconds, describe_shape
from dikmeans.estimator import DIKMeans
from dikmeans.images import as_pictures
from dikmeans.monitoring.forecast import (
    forecast_seconds,
    n_pictures_to_time,
    time_pairs,
    workloads,
)
from dikmeans.monitoring.memory import estimate_memory
from dikmeans.preprocessing import resolve_preprocessing
from dikmeans.preprocessing.base import learning_indices

PROGRAM_BYTES = 280_000_000
"""Resident memory of the program after a fit of eight tiny images: 279 MB, measured on Linux."""

UNCERTAINTY = 2.0
"""Factor of the range that is shown; docs/cli.md says how forecasts compare with fits."""


@dataclass(frozen=True)
class Estimate:
    """What a fit will take.

    Attributes
    ----------
    n_images : int
    shape : tuple of int
    n_clusters, n_runs : int
    seconds : float
        Typical duration.
    memory_bytes : int
        At most, with the program itself.
    """

    n_images: int
    shape: ImageShape
    n_clusters: int
    n_runs: int
    seconds: float
    memory_bytes: int

    @property
    def seconds_range(self) -> tuple[float, float]:
        """The range in which the duration is expected."""
        return self.seconds / UNCERTAINTY, self.seconds * UNCERTAINTY

    def as_json(self) -> JSON:
        """The estimate for scripts."""
        low, high = self.seconds_range
        shape = list(self.shape)
        return {**asdict(self), "shape": shape, "seconds_from": low, "seconds_to": high}


def estimate_fit(model: DIKMeans, images: FloatArray) -> Estimate:
    """Estimate what a fit of `model` to images (N, rows, columns[, channels]) will take."""
    n_images, shape = len(images), images.shape[1:]
    schedule = model.schedule_for(n_images, shape)
    to_learn_from, _ = as_pictures(images[learning_indices(n_images)])
    preprocessing, _ = resolve_preprocessing(model.preprocessing, to_learn_from)
    # Drawn at random: folders are sorted by class, and similar pictures are aligned faster.
    order = np.random.default_rng(0).permutation(n_images)
    few, _ = as_pictures(images[order[: n_pictures_to_time(n_images, shape, model.n_clusters)]])
    measure = model.measure_for(preprocessing)
    times = time_pairs(preprocessing.apply(few), shape, measure, schedule, model.n_jobs)
    seconds = forecast_seconds(workloads(schedule), times)
    assert seconds is not None  # all warps of the schedule were timed
    memory = estimate_memory(
        n_images,
        shape,
        model.n_clusters,
        warp=model.warp,
        landmarks=model.landmarks,
        n_prototypes=model.n_prototypes,
        sample_size=schedule.sample_size,
    )
    return Estimate(
        n_images,
        shape,
        model.n_clusters,
        model.n_init,
        seconds * model.n_init,
        memory + PROGRAM_BYTES,
    )


def print_estimate(estimate: Estimate) -> None:
    """Print an estimate."""
    low, high = map(describe_seconds, estimate.seconds_range)
    runs = f", {estimate.n_runs} runs" if estimate.n_runs > 1 else ""
    typer.echo(
        f"{estimate.n_images:,} pictures of {describe_shape(estimate.shape)}, "
        f"{estimate.n_clusters} clusters{runs}\n"
        f"  time    about {describe_seconds(estimate.seconds)} (from {low} to {high})\n"
        f"  memory  at most {describe_bytes(estimate.memory_bytes)}\n"
        "The time is an estimate: alignments of a few of these pictures, timed now, times a "
        "typical number\nof iterations. Nothing was fitted or written."
    )
