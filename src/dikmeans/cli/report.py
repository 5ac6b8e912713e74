"""``dikmeans report``: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import printable, say
from dikmeans.cli.errors import errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from dikmeans.datasets import ImageSet
    from dikmeans.runs import Originals, RunFolder

MAX_NAMED = 3
"""So many originals that cannot be shown are named."""


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
        int, typer.Option(min=1, metavar="N", help="Show at most so many pictures on the page.")
    ] = 2000,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Heading of the page.")] = None,
    links: Annotated[
        bool, typer.Option("--links", help="Link pictures to their files on this computer.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Make one HTML page that shows the clusters, and why each picture is where it is."""
    with errors_explained(), warnings_as_notes():
        from dikmeans.runs import open_run

        opened = open_run(run)
        images = opened.load_images(moved_to)
        page = make_report(
            opened,
            images,
            opened.find_originals(images, moved_to),
            output or opened.path / "report.html",
            max_pictures=max_pictures,
            title=title,
            links=links,
            quiet=quiet,
        )
        typer.echo(f"Report: {page}")


def make_report(
    run: RunFolder,
    images: ImageSet,
    originals: Originals,
    path: Path,
    *,
    max_pictures: int = 2000,
    title: str | None = None,
    links: bool = False,
    quiet: bool = False,
) -> Path:
    """Write the report on the images of a run; returns its path."""
    from rich.progress import TimeElapsedColumn

    from dikmeans.cli.console import make_bar
    from dikmeans.report import write_report

    with make_bar(TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("report", total=1.0)

        def show(fraction: float, text: str) -> None:
            bar.update(task, completed=fraction, description=text)

        write_report(
            path,
            run.model,
            images,
            originals=originals,
            max_pictures=max_pictures,
            title=title,
            links=links,
            progress=show,
            assignment=run.model.assignment_,
            portraits=run.portraits,
        )
    _name_problems(originals, images)
    return path


def _name_problems(originals: Originals, images: ImageSet) -> None:
    """Say which originals could not be shown, and why."""
    problems = sorted(originals.problems.items())
    if problems:
        named = [f"{printable(images.names[n])} {why}" for n, why in problems[:MAX_NAMED]]
        more = f"; and {len(problems) - MAX_NAMED:,} more" if len(problems) > MAX_NAMED else ""
        say(
            f"note: {len(problems):,} of {len(images):,} originals are not shown, but the small "
            f"pictures that were compared: {'; '.join(named)}{more}. If they have moved, say where "
            "they are with --input."
        )
