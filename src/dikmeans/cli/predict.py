"""``dikmeans predict``: assign new pictures to the clusters of a run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import describe_shape, print_bytes, say
from dikmeans.cli.errors import UsageError, errors_explained, warnings_as_notes

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
    """Assign the pictures in INPUT, or one picture file, to the clusters of RUN.

    The result is a CSV. Its columns are file, cluster, prototype, cost, and margin to the
    second-best cluster. INPUT may be a single file; all are read as those of the run were (size,
    color, ...).
    """
    with errors_explained(), warnings_as_notes():
        from dikmeans.io.atomic import atomic_write
        from dikmeans.runs import label_rows, open_run, rows_as_csv

        opened = open_run(run)
        model, shape = opened.model, opened.model.image_shape_
        images = opened.source.like(source, split, shape).load()
        made_from = opened.info["input"]["kind"]
        if images.kind != made_from:
            raise UsageError(
                f"{run} was made from {made_from}s; {source} has {images.kind}s, which cannot be "
                "compared with them."
            )
        if images.shape != shape:
            raise UsageError(
                f"The {images.kind}s in {source} have the shape {describe_shape(images.shape)}, "
                f"those of {run} {describe_shape(shape)}."
            )
        if not quiet:
            plural = "" if len(images) == 1 else "s"
            compared = f"compared at {describe_shape(shape)} as in the run"
            say(f"{len(images):,} {images.kind}{plural}, {compared}.")
        rows = label_rows(images.names, model.assign(images.images), model.prototype_clusters_)
        content = _as_json(rows) if as_json else rows_as_csv(rows)
        if output is None:
            print_bytes(content)
            return
        with atomic_write(output.expanduser()) as stream:
            stream.write(content)


def _as_json(rows: list[LabelRow]) -> bytes:
    records = [
        {**row._asdict(), "margin": None if math.isnan(row.margin) else row.margin} for row in rows
    ]
    return (json.dumps(records, indent=2) + "\n").encode()
