"""Accuracy against distortion, with the line that the paper draws through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dikmeans.paper.figures.accuracy_line import fit_accuracy_line
from dikmeans.paper.protocol.run_record import RunRecord
from dikmeans.plot.style import BLUE, GRAY, blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@use_style
def accuracy_against_distortion(
    records: Sequence[RunRecord], *, title: str | None = None, note: str | None = None
) -> Figure:
    """Draw the test accuracy of runs against their training distortion, and the least-squares line.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs on one data set; see `fit_accuracy_line`.
    title : str, optional
        By default the title of the data.
    note : str, optional
        Small text below.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    line = fit_accuracy_line(records)
    figure: Figure = blank_figure(4.6, 3.4 + 0.25 * bool(note))
    axis = figure.subplots()
    axis.scatter(
        line.distortion,
        100 * line.accuracy,
        s=26,
        color=GRAY,
        alpha=0.75,
        linewidths=0,
        label="one run",
    )
    ends = np.array([line.distortion.min(), line.distortion.max()])
    label = f"least squares, correlation {line.correlation:+.2f}"
    axis.plot(ends, 100 * (line.slope * ends + line.intercept), color=BLUE, label=label)
    axis.set_xlabel("training distortion, mean per image")
    axis.set_ylabel("test accuracy (%)")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.18 * (high - low))  # room for the legend
    axis.grid(True)
    axis.set_axisbelow(True)
    axis.legend(loc="upper right", ncols=2)
    figure.suptitle(title or records[0].data_title)
    if note:
        figure.supxlabel(note, fontsize=7.5, color=GRAY)
    return figure
