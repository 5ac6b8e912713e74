"""``--dry-run``: how long a fit will take and how much memory, and what that rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import typer

from dikmeans.cli.console import describe_bytes, describe_seconds, describe_shape
from dikmeans.kmeans import DIKMeans
from dikmeans.monitoring.forecast import forecast_seconds, measure_unit_times, steps_of_run
from dikmeans.monitoring.memory import estimate_memory

PROGRAM_BYTES = 280_000_000
"""Resident memory of the program after a fit of eight tiny images: 279 MB, measured on Linux."""

UNCERTAINTY = 2.0
"""Factor of the range that is shown; docs/cli.md has how forecasts did, and where they left it."""


@dataclass(frozen=True)
class Estimate:
    """What a fit will take.

    Attributes
    ----------
    n_images : int
    shape : tuple of int
    n_clusters, n_runs : int
    seconds : float
        Usual duration.
    memory_bytes : int
        At most, the program included.
    """

    n_images: int
    shape: tuple[int, ...]
    n_clusters: int
    n_runs: int
    seconds: float
    memory_bytes: int

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            **asdict(self),
            "shape": list(self.shape),
            "seconds_from": self.seconds / UNCERTAINTY,
            "seconds_to": self.seconds * UNCERTAINTY,
        }


def estimate_fit(model: DIKMeans, images: np.ndarray) -> Estimate:
    """Estimate a fit of `model` to images (N, rows, columns[, channels])."""
    n_images, shape = len(images), images.shape[1:]
    steps = steps_of_run(model, n_images, shape)
    seconds = forecast_seconds(steps, measure_unit_times(model, images, np.random.RandomState(0)))
    assert seconds is not None
    memory = estimate_memory(
        n_images,
        shape,
        model.n_clusters,
        warp=model.warp,
        landmarks=model.landmarks,
        n_prototypes=model.n_prototypes,
        search_size=steps[0].n_images,
    )
    return Estimate(
        n_images,
        shape,
        model.n_clusters,
        model.n_init,
        seconds * model.n_init,
        memory + PROGRAM_BYTES,
    )


def show_estimate(estimate: Estimate) -> None:
    """Print an estimate."""
    low, high = estimate.seconds / UNCERTAINTY, estimate.seconds * UNCERTAINTY
    runs = f", {estimate.n_runs} runs" if estimate.n_runs > 1 else ""
    typer.echo(
        f"{estimate.n_images:,} pictures of {describe_shape(estimate.shape)}, {estimate.n_clusters} "
        f"clusters{runs}\n"
        f"  time    about {describe_seconds(estimate.seconds)} (from {describe_seconds(low)} to "
        f"{describe_seconds(high)})\n"
        f"  memory  at most {describe_bytes(estimate.memory_bytes)}\n"
        "The time is an estimate: alignments of a few of these pictures, timed just now, times a usual "
        "number of\niterations. The memory is computed from what a fit keeps. Nothing was fitted or written."
    )
