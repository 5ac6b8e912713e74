"""Centroids as a picture: one row a model, one column a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dikmeans.images import displayable
from dikmeans.show.style import require_pyplot


def centroid_rows(rows: Mapping[str, np.ndarray], *, title: str | None = None, cell: float = 0.8) -> Any:
    """Several sets of pictures, one under the other, as in the paper's centroid figure.

    Parameters
    ----------
    rows : mapping of str to array of shape (K, rows, columns[, channels])
        Name of each row and its pictures; all with the same K.
    title : str, optional
    cell : float
        Size of a picture in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    plt = require_pyplot()
    n_columns = max(len(pictures) for pictures in rows.values())
    figure, axes = plt.subplots(
        len(rows),
        n_columns,
        figsize=(cell * n_columns + 1.2, cell * len(rows) + (0.4 if title else 0.1)),
        squeeze=False,
        layout="constrained",
    )
    for (name, pictures), line in zip(rows.items(), axes, strict=True):
        for axis in line:
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
        for picture, axis in zip(pictures, line, strict=False):
            axis.imshow(displayable(picture), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure
