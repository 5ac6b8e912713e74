"""``dikmeans export``: originals sorted into one folder per cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import printable, say
from dikmeans.cli.errors import errors_explained, warnings_as_notes

MAX_NAMED = 5


def export(
    run: options.Run,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder to make."),
    ],
    links: Annotated[
        bool, typer.Option("--links", help="Link to the originals in place of copying them.")
    ] = False,
    moved_to: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="INPUT", help="Where the pictures are now, if they have moved."
        ),
    ] = None,
) -> None:
    """Sort the originals of RUN into one folder per cluster, with a table of costs and margins.

    Originals are copied (or linked to), never moved.
    """
    with errors_explained(), warnings_as_notes():
        from dikmeans.runs import export_clusters, open_run

        opened = open_run(run)
        originals = opened.find_originals(opened.load_images(moved_to), moved_to)
        exported = export_clusters(opened, output, originals, links=links)
        if exported.missing:
            named = [f"{printable(name)} {why}" for name, why in exported.missing.items()]
            rest = f"; and {len(named) - MAX_NAMED:,} more" if len(named) > MAX_NAMED else ""
            say(
                f"note: {len(named):,} originals have no copy: {'; '.join(named[:MAX_NAMED])}"
                f"{rest}. If they have moved, say where they are with --input."
            )
        typer.echo(f"{exported.n_files:,} originals in {exported.path}, with labels.csv")
