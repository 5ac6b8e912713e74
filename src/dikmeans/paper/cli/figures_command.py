"""``dikmeans reproduce figures``: the paper's figures, made again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli.errors import FAILURE, INTERRUPTED, errors_explained
from dikmeans.paper.cli.shared_options import DataHome, DataNames, Download


class FileFormat(StrEnum):
    """File formats of figures."""

    PNG = "png"
    PDF = "pdf"
    SVG = "svg"


def figures(
    data: DataNames = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="transformations, time, accuracy-distortion, centroids, embedding or "
            "centroids-overview; repeatable. Default: all.",
        ),
    ] = None,
    train_size: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Use a random part of at most so many training images."
        ),
    ] = 600,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of all fits and random choices.")
    ] = 0,
    output: Annotated[
        Path,
        typer.Option(
            file_okay=False, metavar="FOLDER", help="Folder for the figures and figures.json."
        ),
    ] = Path("reproduction/figures"),
    formats: Annotated[
        list[FileFormat],
        typer.Option(
            "--format", metavar="png|pdf|svg", help="File format; repeatable.", show_default="png"
        ),
    ] = [FileFormat.PNG],  # noqa: B006 -- typer needs a list, and nobody changes it
    dpi: Annotated[
        int, typer.Option(min=30, max=1200, metavar="N", help="Dots per inch of a PNG.")
    ] = 110,
    results: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            metavar="FILE",
            help="File of finished runs for accuracy-distortion. Default: a grid of runs is made.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make figures anew even if they exist.")
    ] = False,
    data_home: DataHome = None,
    download: Download = True,
) -> None:
    """Reproduce the paper's figures: transformations, time, accuracy, centroids, t-SNE.

    Every finished figure is kept at once, with what made it in figures.json; the same command
    continues where it stopped.
    """
    with errors_explained():
        from dikmeans.paper.cli.terminal_progress import TerminalProgress
        from dikmeans.paper.figures.figure_folder import FigureFolder
        from dikmeans.paper.figures.figure_inputs import FigureInputs
        from dikmeans.paper.figures.make_figures import make_figures
        from dikmeans.paper.figures.paper_figures import plan_figures
        from dikmeans.paper.protocol.data_tasks import get_tasks
        from dikmeans.plot.style import require_matplotlib

        require_matplotlib()
        planned = plan_figures(get_tasks(data or []), only or [], results)
        folder = FigureFolder(output, [file_format.value for file_format in formats], dpi)
        with TerminalProgress("figures") as progress:
            inputs = FigureInputs(train_size, seed, data_home, download, progress)
            try:
                failed = make_figures(planned, inputs, folder, again=again)
            except KeyboardInterrupt:
                progress.print(
                    f"Stopped. {progress.n_finished} figures made now are in {output}; "
                    "the same command continues."
                )
                raise typer.Exit(INTERRUPTED) from None
            progress.print(f"Figures, and figures.json on what made them: {output}.")
    raise typer.Exit(FAILURE if failed else 0)
