"""``dikmeans demo``: three kinds of K-means on real digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli.errors import errors_explained


def demo(
    images: Annotated[
        int, typer.Option(min=10, max=5000, metavar="N", help="How many digits.")
    ] = 5000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Of everything random.")
    ] = 0,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", file_okay=False, metavar="FOLDER", help="Folder for what is made."
        ),
    ] = Path("out"),
) -> None:
    """Cluster 5,000 real digits in three ways: a table, the centroids and a report."""
    with errors_explained():
        from dikmeans.demo import run_demo

        run_demo(images, seed, output)
