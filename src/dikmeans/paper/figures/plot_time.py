"""How the time of a fit grows, on logarithmic axes: a straight line is a power law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dikmeans.paper.figures.time_growth import TimeGrowth
from dikmeans.plot.style import (
    BLUE,
    GRAY,
    VERMILLION,
    blank_figure,
    require_matplotlib,
    use_style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE_STYLES = (
    {"color": BLUE, "marker": "s", "linestyle": "--"},
    {"color": VERMILLION, "marker": "o", "linestyle": "-"},
)


@use_style
def time_growth(
    growths: Sequence[TimeGrowth], *, title: str | None = None, note: str | None = None
) -> Figure:
    """Draw seconds against what grows, one panel each, both axes logarithmic.

    Parameters
    ----------
    growths : sequence of TimeGrowth
    title : str, optional
    note : str, optional
        Small text below, such as the load of the machine.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The power in the legend is the slope of the least-squares line: 1 is linear.
    """
    height = 2.9 + 0.25 * bool(title) + 0.25 * bool(note)
    figure: Figure = blank_figure(3.3 * len(growths) + 0.2, height)
    ticker = require_matplotlib().ticker
    (axes,) = figure.subplots(1, len(growths), squeeze=False)
    for growth, axis in zip(growths, axes, strict=True):
        for (name, seconds), style in zip(growth.seconds.items(), _LINE_STYLES, strict=True):
            label = f"{name} (power {round(growth.exponent(name), 2) + 0.0:.2f})"  # not -0.00
            axis.loglog(growth.amounts, seconds, label=label, **style)
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.minorticks_off()
        axis.set_xticks(growth.amounts, labels=growth.tick_labels)
        axis.set_xlabel(growth.label)
        axis.grid(True)
        low, high = axis.get_ylim()
        axis.set_ylim(low / 1.3, high * 2.0)  # room for the legend
        axis.yaxis.set_major_formatter(lambda value, position=None: f"{value:g}")
        axis.legend(loc="upper left")
    axes[0].set_ylabel("seconds")
    if title:
        figure.suptitle(title)
    if note:
        figure.supxlabel(note, fontsize=7.5, color=GRAY)
    return figure
