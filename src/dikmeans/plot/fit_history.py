"""The course of a fit as a figure: inertia and moved images, phase by phase."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from dikmeans.plot.style import BLUE, GRAY, GREEN, SKY, VERMILLION, blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dikmeans.estimator import DIKMeans

PHASE_COLORS = (BLUE, VERMILLION, GREEN, "#cc79a7", "#e69f00", SKY)


@use_style
def history(model: DIKMeans, *, title: str | None = None) -> Figure:
    """Draw the inertia per image after each iteration, and how many images changed their cluster.

    Each phase has its own measure: inertias can be compared within a phase, not between phases, so
    the line is broken between them.

    Parameters
    ----------
    model : DIKMeans
        Fitted.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans, plot
    >>> figure = plot.history(DIKMeans(3, random_state=0).fit(load_digits().images[:60]))
    >>> [axis.get_ylabel() for axis in figure.axes]
    ['inertia per image', 'images that moved']
    """
    records = model.history_.iterations
    figure = blank_figure(6.8, 4.2 + 0.25 * bool(title))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    colors: dict[str, str] = {}
    for phase, group in groupby(enumerate(records, start=1), key=lambda pair: pair[1].phase):
        numbers, part = zip(*group, strict=True)
        label = None if phase in colors else phase
        color = colors.setdefault(phase, PHASE_COLORS[len(colors) % len(PHASE_COLORS)])
        costs = [record.inertia / record.n_images for record in part]
        above.plot(numbers, costs, color=color, marker="o", markersize=3, label=label)
        below.bar(numbers, [record.moved for record in part], color=color, width=0.8)
    above.set_ylabel("inertia per image")
    below.set_ylabel("images that moved")
    below.set_xlabel("iteration")
    below.set_xlim(0.2, len(records) + 0.8)
    below.yaxis.get_major_locator().set_params(integer=True)
    below.xaxis.get_major_locator().set_params(integer=True)
    for axis in (above, below):
        axis.grid(True, axis="y")
        axis.set_axisbelow(True)
    if colors:
        above.legend(title="phase", loc="upper right")
    if model.history_.stopped:
        stopped = f"ended: {model.history_.stopped}"
        above.set_title(stopped, fontsize=8, color=GRAY, loc="left")
    if title:
        figure.suptitle(title)
    return figure
