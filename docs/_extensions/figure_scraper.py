"""Figures of gallery examples that were not made with pyplot, as those of `dikmeans.plot`.

Shown are the figures that a block of code leaves: in a variable, or as its last expression.
"""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

LAST_EXPRESSION = "___"  # sphinx-gallery's name for its value
SHOWN = "shown in the gallery"  # a mark: variables live on through the blocks of an example
DPI = 130


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the new figures of a block, and return the lines that show them."""
    left = [pyplot.figure(number) for number in pyplot.get_fignums()]
    left += [
        value
        for name, value in block_vars["example_globals"].items()
        if isinstance(value, Figure) and (name == LAST_EXPRESSION or not name.startswith("_"))
    ]
    paths = []
    for figure in dict.fromkeys(left):
        if figure.get_gid() != SHOWN:
            figure.set_gid(SHOWN)
            paths.append(next(block_vars["image_path_iterator"]))
            figure.savefig(paths[-1], dpi=DPI, bbox_inches="tight", facecolor="white")
    pyplot.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])
