"""``dikmeans report``: a run as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dikmeans.cli import options
from dikmeans.cli.console import make_console, warnings_as_notes
from dikmeans.cli.mistakes import mistakes_explained

if TYPE_CHECKING:
    from dikmeans.datasets import ImageSet
    from dikmeans.runs import RunFolder


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
        int, typer.Option(min=1, help="At most so many pictures on the page.")
    ] = 2000,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a page that shows the clusters, and why each picture is where it is. It needs no network."""
    with mistakes_explained(), warnings_as_notes():
        from dikmeans.runs import open_run

        opened = open_run(run)
        images = opened.load_images(moved_to)
        make_report(
            opened,
            images,
            output or run / "report.html",
            max_pictures=max_pictures,
            title=title,
            quiet=quiet,
        )


def make_report(
    run: RunFolder,
    images: ImageSet,
    path: Path,
    *,
    max_pictures: int = 2000,
    title: str | None = None,
    quiet: bool = False,
    announce: bool = True,
) -> None:
    """Write the page, with a bar on a terminal; `announce` says where it is on standard output."""
    from dikmeans.report import write_report

    console = make_console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    ) as bar:
        task = bar.add_task("report", total=1.0)

        def show(fraction: float, text: str) -> None:
            bar.update(task, completed=fraction, description=text)

        write_report(path, run.model, images, max_pictures=max_pictures, title=title, progress=show)
    if announce:
        typer.echo(f"Report: {path}")
