"""A table of comma-separated values with a line of column names, as the compact copies of sets have one."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from dikmeans.datasets.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str | None]]]:
    """The lines of a table, each with its number in the file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    columns : sequence of str
        What it must have; there may be others.

    Yields
    ------
    number : int
        Of the line, to name it in an error.
    line : dict
        The entries by column; None where the line is too short.

    Raises
    ------
    CorruptFileError
        No such table.
    """
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            table = csv.DictReader(stream)
            lacking = [name for name in columns if name not in (table.fieldnames or ())]
            if lacking:
                raise CorruptFileError(
                    f"{path} must have the columns {', '.join(columns)}; it lacks {', '.join(lacking)}."
                )
            for line in table:
                yield table.line_num, line
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path} cannot be read as a table: {error}.") from error
