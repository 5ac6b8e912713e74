"""Accuracy against distortion: does a lower distortion mean a better clustering?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.paper.protocol.run_record import RunRecord


class AccuracyLine(NamedTuple):
    """Points and the least-squares line through them.

    Attributes
    ----------
    distortion : array of shape (N,)
        Training distortion, mean per image, so that training sizes can be compared.
    accuracy : array of shape (N,)
        Test accuracy, fractions.
    slope, intercept : float
        accuracy = slope * distortion + intercept, by ordinary least squares.
    correlation : float
        Pearson's; the paper finds it negative.
    """

    distortion: FloatArray
    accuracy: FloatArray
    slope: float
    intercept: float
    correlation: float


def fit_accuracy_line(records: Sequence[RunRecord]) -> AccuracyLine:
    """Fit the line to runs on one data set.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs of any seeds and settings on one data set. Those without a distortion are left out.

    Raises
    ------
    ValueError
        Several data sets, or too few different points for a line.
    """
    names = {record.data for record in records}
    if len(names) > 1:
        raise ValueError(
            f"Runs on one data set are needed; got {len(names)}: {', '.join(sorted(names))}."
        )
    points = [
        (record.distortion / record.train_size, record.test["accuracy"])
        for record in records
        if record.distortion is not None
    ]
    if len({distortion for distortion, _ in points}) < 2:
        raise ValueError(
            f"A line needs two runs of different distortion; got {len(points)} runs with a "
            "distortion."
        )
    distortion, accuracy = np.array(points).T
    x, y = distortion - distortion.mean(), accuracy - accuracy.mean()
    slope = x @ y / (x @ x)
    return AccuracyLine(
        distortion,
        accuracy,
        slope=float(slope),
        intercept=float(accuracy.mean() - slope * distortion.mean()),
        correlation=float(x @ y / np.sqrt((x @ x) * (y @ y))) if y.any() else 0.0,
    )
