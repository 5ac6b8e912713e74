"""What all figures share: an empty figure, settings, colors for color-blind readers too.

Figures are plain `matplotlib.figure.Figure` objects, not pyplot's: nothing has to be closed, and no
global state changes. ``figure.savefig(path)`` writes one; a notebook displays one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dikmeans.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Okabe and Ito's colors, which differ with every common kind of color blindness.
BLUE, VERMILLION, GREEN, SKY, GRAY = "#0072b2", "#d55e00", "#009e73", "#56b4e9", "#7a7a7a"
INK = "#222222"

CLASS_COLORS = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
"""Ten colors for classes, which differ for color-blind readers too (Petroff, arXiv 2107.02270)."""

CLASS_MARKERS = ("o", "^", "s", "D", "v", "P")
"""If there are more classes than colors, their markers differ."""

RULES = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "figure.titlesize": 11.0,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def require_matplotlib() -> ModuleType:
    """The package matplotlib with its figures; `MissingExtraError` if it is not installed."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "A figure") from error
    package: ModuleType = matplotlib
    return package


def use_style(draw: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function draw with the settings `RULES`; the caller's settings do not change."""

    @functools.wraps(draw)
    def styled(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        with require_matplotlib().rc_context(RULES):
            return draw(*args, **keywords)

    return styled


def blank_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, with constrained layout."""
    figure = require_matplotlib().figure.Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04)
    return figure


def class_style(number: int) -> dict[str, str]:
    """Color and marker of a class, for `Axes.scatter`.

    Examples
    --------
    >>> class_style(3), class_style(13)["marker"]
    ({'color': '#94a4a2', 'marker': 'o'}, '^')
    """
    return {
        "color": CLASS_COLORS[number % len(CLASS_COLORS)],
        "marker": CLASS_MARKERS[number // len(CLASS_COLORS) % len(CLASS_MARKERS)],
    }
