"""Tables of comma-separated values with a header line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from dikmeans.datasets.errors import CorruptFileError


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the number of each line and its entries by column, None where the line is too short.

    A CorruptFileError if the file is not a table with at least these columns.
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
