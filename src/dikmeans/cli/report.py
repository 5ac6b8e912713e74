"""``dikmeans report``: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.errors import errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from dikmeans.datasets import ImageSet
    from dikmeans.estimator import DIKMeans


def report(
    run: options.Run,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Page to write. Default: report.html in RUN."
        ),
    ] = None,
    moved_to: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="INPUT", help="Where the pictures are now, if they have moved."
        ),
    ] = None,
    max_pictures: Annotated[
        int, typer.Option(min=1, help="Show at most so many pictures on the page.")
    ] = 2000,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make one HTML page that shows the clusters, and why each picture is where it is."""
    with errors_explained(), warnings_as_notes():
        from dikmeans.runs import open_run

        opened = open_run(run)
        page = make_report(
            opened.model,
            opened.load_images(moved_to),
            output or opened.path / "report.html",
            max_pictures=max_pictures,
            title=title,
            quiet=quiet,
        )
        typer.echo(f"Report: {page}")


def make_report(
    model: DIKMeans,
    images: ImageSet,
    path: Path,
    *,
    max_pictures: int = 2000,
    title: str | None = None,
    quiet: bool = False,
) -> Path:
    """Write the report on the images that the model was fitted to; returns its path."""
    from rich.progress import TimeElapsedColumn

    from dikmeans.cli.console import make_bar
    from dikmeans.report import write_report

    with make_bar(TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("report", total=1.0)

        def show(fraction: float, text: str) -> None:
            bar.update(task, completed=fraction, description=text)

        write_report(
            path,
            model,
            images,
            max_pictures=max_pictures,
            title=title,
            progress=show,
            assignment=model.assignment_,
        )
    return path
