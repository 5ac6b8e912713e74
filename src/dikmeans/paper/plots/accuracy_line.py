"""Accuracy against distortion, with the line the paper draws through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans.plot.style import BLUE, GREY, blank_figure, in_house_style

if TYPE_CHECKING:
    from dikmeans.paper import RunRecord


@in_house_style
def accuracy_against_distortion(
    records: Sequence[RunRecord], *, title: str | None = None, note: str | None = None
) -> Any:
    """Test accuracy of runs against their training distortion, and the least-squares line.

    Parameters
    ----------
    records : sequence of RunRecord
        Runs on one data set; see `dikmeans.paper.accuracy_against_distortion`.
    title : str, optional
        By default what the data are.
    note : str, optional
        Small print below.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    from dikmeans.paper import accuracy_against_distortion as points_and_line

    data = points_and_line(records)
    figure = blank_figure(4.6, 3.4 + 0.25 * bool(note))
    axis = figure.subplots()
    axis.scatter(
        data.distortion, 100 * data.accuracy, s=26, color=GREY, alpha=0.75, linewidths=0, label="one run"
    )
    ends = np.array([data.distortion.min(), data.distortion.max()])
    axis.plot(
        ends,
        100 * (data.slope * ends + data.intercept),
        color=BLUE,
        label=f"least squares, correlation {data.correlation:+.2f}",
    )
    axis.set_xlabel("training distortion, mean per image")
    axis.set_ylabel("test accuracy (%)")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.18 * (high - low))  # room for the legend
    axis.grid(True)
    axis.set_axisbelow(True)
    axis.legend(loc="upper right", ncols=2)
    figure.suptitle(title or next(iter(records)).data_title)
    if note:
        figure.supxlabel(note, fontsize=7.5, color=GREY)
    return figure
