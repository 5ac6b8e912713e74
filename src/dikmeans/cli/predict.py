"""``dikmeans predict``: new pictures to the clusters of a run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import describe_shape, print_bytes, say, warnings_as_notes
from dikmeans.cli.mistakes import Mistake, mistakes_explained

if TYPE_CHECKING:
    from dikmeans.runs import LabelRow


def predict(
    run: options.Run,
    source: options.Input,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write. Default: standard output."
        ),
    ] = None,
    split: options.Split = "train",
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say to which cluster each picture in INPUT belongs: file, cluster, cost, margin to the second choice.

    Pictures are read as those of the run were (size, --invert, --colour).
    """
    with mistakes_explained(), warnings_as_notes():
        from dikmeans.io.atomic import atomic_write
        from dikmeans.kmeans.assignment import assign_images
        from dikmeans.runs import label_rows, open_run, rows_as_csv

        opened = open_run(run)
        shape = opened.model.image_shape_
        images = opened.source.like(source, split, shape).load()
        if images.shape != shape:
            raise Mistake(
                f"The pictures in {source} are {describe_shape(images.shape)}, those of {run} "
                f"{describe_shape(shape)}, and they cannot be brought to one shape."
            )
        if not quiet:
            say(f"{len(images):,} pictures, compared at {describe_shape(shape)} as in the run.")
        rows = label_rows(images.names, assign_images(opened.model, images.images))
        content = _as_json(rows) if as_json else rows_as_csv(rows)
        if output is None:
            print_bytes(content)
            return
        with atomic_write(output.expanduser()) as stream:
            stream.write(content)


def _as_json(rows: list[LabelRow]) -> bytes:
    found = [
        {**row._asdict(), "margin": None if math.isnan(row.margin) else row.margin} for row in rows
    ]
    return (json.dumps(found, indent=2) + "\n").encode()
