"""``dikmeans reproduce figures``: the paper's figures, made again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dikmeans.cli.mistakes import FAILURE, INTERRUPTED, mistakes_explained


class Format(StrEnum):
    """Kinds of files that a figure can be written to."""

    PNG = "png"
    PDF = "pdf"
    SVG = "svg"


def figures(
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data set, or folder with train/ and test/; repeatable. Default: the paper's."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="transformations, time, accuracy-distortion, centroids, embedding or centroids-overview; "
            "repeatable. Default: all.",
        ),
    ] = None,
    train_size: Annotated[
        int, typer.Option(min=1, help="Take a random part of at most so many training images.")
    ] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all fits and drawings.")] = 0,
    output: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the figures and figures.json.")
    ] = Path("reproduction/figures"),
    formats: Annotated[
        list[Format], typer.Option("--format", help="File format; repeatable.", show_default="png")
    ] = [Format.PNG],  # noqa: B006 -- typer's way, and nobody changes it
    dpi: Annotated[int, typer.Option(min=30, max=1200, help="Dots per inch of a PNG.")] = 110,
    results: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="File of finished runs for accuracy-distortion. Default: its own grid of runs is made.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Make figures anew even if they are there.")] = False,
    data_home: Annotated[
        Path | None, typer.Option(help="Where the data sets are. Default: $DIKMEANS_DATA, or the cache.")
    ] = None,
    download: Annotated[bool, typer.Option(help="Fetch data that are missing, where possible.")] = True,
) -> None:
    """Make the paper's figures again: transformations, time, accuracy against distortion, centroids, t-SNE.

    Every finished figure is kept at once, with what made it in figures.json; the same command goes on where
    it stopped.
    """
    with mistakes_explained():
        code = _make_figures(
            data or [],
            only or [],
            train_size,
            seed,
            output,
            [format_.value for format_ in formats],
            dpi,
            results,
            again,
            data_home,
            download,
        )
    raise typer.Exit(code)


def _make_figures(
    data_names: list[str],
    kinds: list[str],
    train_size: int,
    seed: int,
    output: Path,
    formats: list[str],
    dpi: int,
    results: Path | None,
    again: bool,
    data_home: Path | None,
    download: bool,
) -> int:
    """Make the figures that are not there; the exit code."""
    from dikmeans.paper.cli.figures_terminal import FiguresOnTerminal
    from dikmeans.paper import get_tasks
    from dikmeans.paper.figures import Gallery, Workshop, make_figures, plan_figures
    from dikmeans.plot.style import require_matplotlib

    require_matplotlib()
    planned = plan_figures(get_tasks(data_names), kinds, results)
    gallery = Gallery(output, formats, dpi)
    failed: list[Any] = []
    with FiguresOnTerminal(gallery) as terminal:
        workshop = Workshop(train_size, seed, data_home, download, terminal.step)
        try:
            failed = make_figures(planned, workshop, gallery, again=again, listener=terminal)
        except KeyboardInterrupt:
            terminal.stopped()
            return INTERRUPTED
        terminal.ended()
    return FAILURE if failed else 0
