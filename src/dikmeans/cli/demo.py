"""``dikmeans demo``: three kinds of K-means on real digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli.mistakes import mistakes_explained


def demo(
    images: Annotated[int, typer.Option(min=10, max=5000, help="How many digits.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of everything random.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", dir_okay=False, help="Picture to write.")
    ] = Path("out/demo-centroids.png"),
) -> None:
    """Cluster 5,000 real digits three ways; print a table and write a picture of the centroids."""
    with mistakes_explained():
        from dikmeans.demo import run

        run(images, seed, output)
