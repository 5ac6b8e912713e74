"""How the time of a fit grows, drawn so that straight lines mean powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dikmeans.plot.style import BLUE, GREY, VERMILLION, blank_figure, in_house_style, require_matplotlib

if TYPE_CHECKING:
    from dikmeans.paper import Growth

_LOOKS = ((BLUE, "s", "--"), (VERMILLION, "o", "-"))


@in_house_style
def time_growth(growths: Sequence[Growth], *, title: str | None = None, note: str | None = None) -> Any:
    """Seconds against what grows, one panel each, both axes logarithmic.

    Parameters
    ----------
    growths : sequence of Growth
        As measured by `dikmeans.paper.measure_growth`.
    title : str, optional
    note : str, optional
        Small print below, such as what the machine was doing meanwhile.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The slope that the legend names is the power of the least-squares line: 1 is linear.
    """
    figure = blank_figure(3.3 * len(growths) + 0.2, 2.9 + 0.25 * bool(title) + 0.25 * bool(note))
    ticker = require_matplotlib().ticker
    (axes,) = figure.subplots(1, len(growths), squeeze=False)
    for growth, axis in zip(growths, axes, strict=True):
        for (name, seconds), (colour, marker, line) in zip(growth.seconds.items(), _LOOKS, strict=True):
            label = f"{name} (power {round(growth.power(name), 2) + 0.0:.2f})"  # not -0.00
            axis.loglog(growth.amounts, seconds, color=colour, marker=marker, linestyle=line, label=label)
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.minorticks_off()
        axis.set_xticks(growth.amounts, labels=growth.axis.tick_labels(growth.values))
        axis.set_xlabel(growth.axis.label)
        axis.grid(True)
        low, high = axis.get_ylim()
        axis.set_ylim(low / 1.3, high * 2.0)  # room for the legend
        axis.yaxis.set_major_formatter(_plain_seconds)
        axis.legend(loc="upper left")
    axes[0].set_ylabel("seconds")
    if title:
        figure.suptitle(title)
    if note:
        figure.supxlabel(note, fontsize=7.5, color=GREY)
    return figure


def _plain_seconds(value: float, position: int | None = None) -> str:
    return f"{value:g}"
