"""``labels.csv``: a line an image with its file, cluster, cost, and margin to the second choice.

Names may hold anything a file system allows (commas, quotes, line breaks, bytes that are no UTF-8) and come
back as they were: strings are always quoted, odd bytes are kept by Python's "surrogateescape".
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dikmeans.kmeans.assignment import Assignments

HEADER = ("file", "cluster", "cost", "margin")
_DIGITS = 6
_UNKNOWN = ""


class LabelRow(NamedTuple):
    """What is known of one image.

    Attributes
    ----------
    file : str
        Name within the input.
    cluster : int
    cost : float
        Of the alignment with its centroid.
    margin : float
        How much more the second choice costs; NaN if there is one cluster only.
    """

    file: str
    cluster: int
    cost: float
    margin: float


def label_rows(names: Sequence[str], assignments: Assignments) -> list[LabelRow]:
    """Rows of a csv from what a model says of images."""
    return [
        LabelRow(name, int(cluster), _rounded(cost), _rounded(margin))
        for name, cluster, cost, margin in zip(names, *assignments, strict=True)
    ]


def rows_as_csv(rows: Iterable[LabelRow]) -> bytes:
    """Rows as the content of a csv file.

    Examples
    --------
    >>> print(rows_as_csv([LabelRow("a, b.png", 3, 0.25, 0.5)]).decode())
    file,cluster,cost,margin
    "a, b.png",3,0.25,0.5
    <BLANKLINE>
    """
    text = io.StringIO(newline="")
    text.write(",".join(HEADER) + "\n")
    # Quoted in any case: Python 3.11 would leave a lone carriage return bare, and then not read it.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for row in rows:
        margin = _UNKNOWN if math.isnan(row.margin) else row.margin
        writer.writerow((row.file, row.cluster, row.cost, margin))
    return text.getvalue().encode("utf-8", "surrogateescape")


def rows_from_csv(content: bytes) -> list[LabelRow]:
    """The inverse of `rows_as_csv`; ValueError for anything else."""
    text = content.decode("utf-8", "surrogateescape")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if not lines or tuple(lines[0]) != HEADER:
        raise ValueError(f"its first line is not {','.join(HEADER)}")
    rows = []
    for number, line in enumerate(lines[1:], start=1):
        try:
            file, cluster, cost, margin = line
            rows.append(
                LabelRow(
                    file,
                    int(cluster),
                    float(cost),
                    math.nan if margin == _UNKNOWN else float(margin),
                )
            )
        except ValueError as error:
            raise ValueError(f"row {number} is {','.join(line)[:80]!r}") from error
    return rows


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
