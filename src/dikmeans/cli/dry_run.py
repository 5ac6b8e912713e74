"""``dikmeans fit --dry-run``: how long a fit will take, and how much memory."""

from __future__ import annotations

import numpy as np
import typer

from dikmeans._typing import JSON, FloatArray
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

PICTURES_IN_REPORT = 2000
REPORT_SECONDS_PER_PICTURE = 0.015
"""For map (t-SNE) and original of a picture: measured on 2,000 photographs of 300 pixels."""

UNCERTAINTY = 2.0
"""Factor of the range that is shown; docs/cli.md says how forecasts compare with fits."""


def estimate_fit(model: DIKMeans, images: FloatArray) -> JSON:
    """What a fit of `model` to images (N, rows, columns[, channels]) will take.

    ``seconds`` is the typical duration, expected between ``seconds_from`` and ``seconds_to``;
    ``memory_bytes`` is the most that is needed, with the program itself.
    """
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
    n_shown = min(n_images, PICTURES_IN_REPORT)
    n_prototypes = schedule.prototypes.number_for(schedule.sample_size // model.n_clusters)
    # every picture shown is aligned with every prototype
    alignments = n_shown * model.n_clusters * n_prototypes * times[model.warp].cold
    n_runs = model.n_runs_for(n_images)
    seconds *= n_runs
    return {
        "n_images": n_images,
        "shape": list(shape),
        "n_clusters": model.n_clusters,
        "n_runs": n_runs,
        "seconds": seconds,
        "seconds_from": seconds / UNCERTAINTY,
        "seconds_to": seconds * UNCERTAINTY,
        "report_seconds": alignments + n_shown * REPORT_SECONDS_PER_PICTURE,
        "memory_bytes": memory + PROGRAM_BYTES,
    }


def print_estimate(estimate: JSON) -> None:
    """Print what `estimate_fit` returns."""
    time, low, high = (
        describe_seconds(estimate[name]) for name in ("seconds", "seconds_from", "seconds_to")
    )
    runs = f", {estimate['n_runs']} runs" if estimate["n_runs"] > 1 else ""
    typer.echo(
        f"{estimate['n_images']:,} pictures of {describe_shape(estimate['shape'])}, "
        f"{estimate['n_clusters']} clusters{runs}\n"
        f"  time    about {time} (from {low} to {high})\n"
        f"  report  about {describe_seconds(estimate['report_seconds'])} more\n"
        f"  memory  at most {describe_bytes(estimate['memory_bytes'])}\n"
        "The time is an estimate: alignments of a few of these pictures, timed now, times a "
        "typical number\nof iterations. Nothing was fitted or written."
    )
