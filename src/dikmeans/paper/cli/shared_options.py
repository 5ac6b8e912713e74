"""Options that both commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Data set, or folder with train/ and test/; repeatable. Default: the paper's.",
    ),
]
DataHome = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Where the data sets are. Default: $DIKMEANS_DATA, or the cache."
    ),
]
Download = Annotated[bool, typer.Option(help="Download missing data, where possible.")]
