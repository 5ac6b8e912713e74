"""Accuracy against distortion, the paper's figure: does the lower distortion mean the better clustering?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dikmeans.paper.record import RunRecord


@dataclass(frozen=True, eq=False)
class AccuracyAgainstDistortion:
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

    distortion: np.ndarray
    accuracy: np.ndarray
    slope: float
    intercept: float
    correlation: float


def accuracy_against_distortion(records: Sequence[RunRecord]) -> AccuracyAgainstDistortion:
    """The data of the figure, from runs on one data set.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs of any seeds and settings on one data set. Those without a distortion are left out.

    Returns
    -------
    AccuracyAgainstDistortion

    Raises
    ------
    ValueError
        Several data sets, or too few different points for a line.
    """
    names = {record.data for record in records}
    if len(names) > 1:
        raise ValueError(f"Runs on one data set are needed; got {len(names)}: {', '.join(sorted(names))}.")
    points = [
        (record.distortion / record.train_size, record.test["accuracy"])
        for record in records
        if record.distortion is not None
    ]
    if len({distortion for distortion, _ in points}) < 2:
        raise ValueError(
            f"A line needs two runs of different distortion; got {len(points)} runs that have a distortion."
        )
    distortion, accuracy = np.array(points).T
    across, up = distortion - distortion.mean(), accuracy - accuracy.mean()
    slope = across @ up / (across @ across)
    flat = not up.any()
    return AccuracyAgainstDistortion(
        distortion,
        accuracy,
        slope=float(slope),
        intercept=float(accuracy.mean() - slope * distortion.mean()),
        correlation=0.0 if flat else float(across @ up / np.sqrt((across @ across) * (up @ up))),
    )
