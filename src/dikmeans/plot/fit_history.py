"""How a fit went: the distortion and the moves, phase by phase."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from dikmeans.plot.style import BLUE, GREEN, GREY, VERMILLION, blank_figure, in_house_style

_COLOURS = (BLUE, VERMILLION, GREEN, "#cc79a7", "#e69f00", "#56b4e9")


@in_house_style
def history(model: Any, *, title: str | None = None) -> Any:
    """Distortion after each iteration, and how many images changed their cluster.

    Each phase has a measure of its own: distortions of one phase can be compared, those of two cannot, so
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
    >>> from dikmeans import DIKMeans, show
    >>> figure = show.history(DIKMeans(3, random_state=0).fit(load_digits().images[:60]))
    >>> [axis.get_ylabel() for axis in figure.axes]
    ['distortion', 'images that moved']
    """
    record = model.history_
    figure = blank_figure(6.8, 4.2 + 0.25 * bool(title))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    numbered = list(enumerate(record.iterations, start=1))
    phases = list(dict.fromkeys(iteration.phase for iteration in record.iterations))
    named: set[str] = set()
    for phase, group in groupby(numbered, key=lambda pair: pair[1].phase):
        part = list(group)
        numbers = np.array([number for number, _ in part])
        colour = _COLOURS[phases.index(phase) % len(_COLOURS)]
        above.plot(
            numbers,
            [iteration.distortion for _, iteration in part],
            color=colour,
            marker="o",
            markersize=3,
            label=None if phase in named else phase,
        )
        below.bar(numbers, [iteration.moved for _, iteration in part], color=colour, width=0.8)
        named.add(phase)
    above.set_ylabel("distortion")
    below.set_ylabel("images that moved")
    below.set_xlabel("iteration")
    below.set_xlim(0.2, len(numbered) + 0.8)
    below.yaxis.get_major_locator().set_params(integer=True)
    below.xaxis.get_major_locator().set_params(integer=True)
    for axis in (above, below):
        axis.grid(True, axis="y")
        axis.set_axisbelow(True)
    above.legend(title="phase", loc="upper right")
    if record.stopped:
        above.set_title(f"ended: {record.stopped}", fontsize=8, color=GREY, loc="left")
    if title:
        figure.suptitle(title)
    return figure
