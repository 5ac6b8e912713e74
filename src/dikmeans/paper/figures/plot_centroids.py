"""Centroids of several models and data sets: one row per model, one block per data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dikmeans.plot.centroid_rows import Rows, draw_rows
from dikmeans.plot.style import blank_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@use_style
def centroid_overview(
    sets: Mapping[str, Rows], *, max_shown: int = 10, n_columns: int = 2, cell: float = 0.4
) -> Figure:
    """Draw the rows of several data sets in one figure, one block per set.

    Parameters
    ----------
    sets : mapping of str to rows
        Title of each block and its rows, as for `centroid_rows`.
    max_shown : int
        Centroids shown of each set, at most; the title says if there are more.
    n_columns : int
        Blocks side by side.
    cell : float
        Size of an image in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    n_blocks = math.ceil(len(sets) / n_columns)
    n_rows = max(len(rows) for rows in sets.values())
    longest = max(len(images) for rows in sets.values() for images in rows.values())
    n_shown = min(max_shown, longest)
    figure: Figure = blank_figure(
        n_columns * (cell * n_shown + 1.0), n_blocks * (cell * n_rows + 0.4)
    )
    blocks = figure.subfigures(n_blocks, min(n_columns, len(sets)), squeeze=False).ravel()
    for block, (title, rows) in zip(blocks, sets.items(), strict=False):
        n_all = max(len(images) for images in rows.values())
        # As many columns in each block, used or not: images of all sets have the same size.
        draw_rows(block, {name: images[:max_shown] for name, images in rows.items()}, n_shown)
        suffix = f" ({max_shown} of {n_all})" if max_shown < n_all else ""
        block.suptitle(title + suffix, fontsize=10)
    return figure
