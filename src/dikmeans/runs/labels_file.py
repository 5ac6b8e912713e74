"""``labels.csv``: one line per image with its file, cluster, prototype, cost and margin.

Names may hold anything a file system allows (commas, quotes, line breaks, bytes that are not UTF-8)
and come back unchanged: strings are always quoted, and other bytes are kept by Python's
"surrogateescape".
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dikmeans._typing import IntArray
from dikmeans.kmeans.shard import Assignment

_DIGITS = 6
_UNKNOWN = ""


class LabelRow(NamedTuple):
    """What is known about one image.

    Attributes
    ----------
    file : str
        Name within the input.
    cluster : int
    prototype : int
        Number of the nearest prototype within the cluster, from 0.
    cost : float
        Cost of the alignment with that prototype.
    margin : float
        How much more the second-best cluster costs; NaN if there is only one cluster.
    """

    file: str
    cluster: int
    prototype: int
    cost: float
    margin: float


HEADER = ",".join(LabelRow._fields)


def prototype_numbers(prototype_clusters: IntArray) -> IntArray:
    """The number of each prototype within its cluster, from the (sorted) clusters of all.

    Examples
    --------
    >>> prototype_numbers(np.array([0, 0, 1])).tolist()
    [0, 1, 0]
    """
    first = np.searchsorted(prototype_clusters, prototype_clusters)
    return np.arange(len(prototype_clusters)) - first


def label_rows(
    names: Sequence[str], assignment: Assignment, prototype_clusters: IntArray
) -> list[LabelRow]:
    """One row per image.

    Parameters
    ----------
    names : sequence of str
        Names of the images.
    assignment : Assignment
        Of the images, in the same order.
    prototype_clusters : int array of shape (M,)
        As in `DIKMeans.prototype_clusters_`.
    """
    columns = (
        names,
        assignment.labels.tolist(),
        prototype_numbers(prototype_clusters)[assignment.prototypes].tolist(),
        map(_round, assignment.costs),
        map(_round, assignment.margins),
    )
    return [LabelRow(*row) for row in zip(*columns, strict=True)]


def rows_as_csv(rows: Iterable[LabelRow]) -> bytes:
    """The content of a CSV file with these rows.

    Examples
    --------
    >>> print(rows_as_csv([LabelRow("a, b.png", 3, 0, 0.25, 0.5)]).decode())
    file,cluster,prototype,cost,margin
    "a, b.png",3,0,0.25,0.5
    <BLANKLINE>
    """
    text = io.StringIO(newline="")
    text.write(HEADER + "\n")
    # Always quoted: Python 3.11 would leave a lone carriage return bare, and then not read it.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for row in rows:
        writer.writerow(row_cells(row))
    return text.getvalue().encode("utf-8", "surrogateescape")


def row_cells(row: LabelRow) -> tuple[str | float, ...]:
    """The cells of a row; a margin that is not known is empty."""
    return (*row[:-1], _UNKNOWN if math.isnan(row.margin) else row.margin)


def rows_from_csv(content: bytes) -> list[LabelRow]:
    """The inverse of `rows_as_csv`; ValueError for anything else."""
    text = content.decode("utf-8", "surrogateescape")
    try:
        header, *lines = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if ",".join(header) != HEADER:
        raise ValueError(f"its first line is not {HEADER}")
    return [_parse(number, line) for number, line in enumerate(lines, start=1)]


def _parse(number: int, line: Sequence[str]) -> LabelRow:
    try:
        file, cluster, prototype, cost, margin = line
        distance = math.nan if margin == _UNKNOWN else float(margin)
        return LabelRow(file, int(cluster), int(prototype), float(cost), distance)
    except ValueError as error:
        raise ValueError(f"row {number} is {','.join(line)[:80]!r}") from error


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
