"""Tables of comma-separated values with a header line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from dikmeans.datasets.errors import CorruptFileError


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the number and the entries of each line of a table.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    columns : sequence of str
        Columns it must have; there may be others.

    Yields
    ------
    number : int
        Line number, to name it in an error.
    line : dict
        The entries by column; None where the line is too short.

    Raises
    ------
    CorruptFileError
        Not such a table.
    """
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            table = csv.DictReader(stream)
            lacking = [name for name in columns if name not in (table.fieldnames or ())]
            if lacking:
                raise CorruptFileError(
                    path,
                    f"must have the columns {', '.join(columns)}; it lacks {', '.join(lacking)}",
                )
            for line in table:
                yield table.line_num, line
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(path, f"cannot be read as a table: {error}") from error
