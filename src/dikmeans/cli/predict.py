"""``dikmeans predict``: assign new pictures to the clusters of a run."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import describe_shape, print_bytes, say
from dikmeans.cli.errors import UsageError, errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from dikmeans._typing import ImageShape
    from dikmeans.datasets import ImageSet, ImageSource
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
    second-best cluster. Pictures are read as those of the run were (size, --invert, --color).
    """
    with errors_explained(), warnings_as_notes():
        from dikmeans.io.atomic import atomic_write
        from dikmeans.runs import label_rows, open_run, rows_as_csv

        opened = open_run(run)
        model, shape = opened.model, opened.model.image_shape_
        images = _load(opened.source, source, split, shape)
        if images.shape != shape:
            raise UsageError(
                f"The pictures in {source} have the shape {describe_shape(images.shape)}, those of "
                f"{run} {describe_shape(shape)}."
            )
        if not quiet:
            number = "1 picture" if len(images) == 1 else f"{len(images):,} pictures"
            say(f"{number}, compared at {describe_shape(shape)} as in the run.")
        rows = label_rows(images.names, model.assign(images.images), model.prototype_clusters_)
        content = _as_json(rows) if as_json else rows_as_csv(rows)
        if output is None:
            print_bytes(content)
            return
        with atomic_write(output.expanduser()) as stream:
            stream.write(content)


def _load(run_source: ImageSource, name: str, split: str, shape: ImageShape) -> ImageSet:
    """The pictures of an input, read as those of the run were; a single file is a set of one."""
    from dikmeans.datasets.pictures.decode import PICTURE_EXTENSIONS
    from dikmeans.runs.originals import SOUND_TYPES

    path = Path(name).expanduser()
    is_single = path.is_file() and path.suffix.lower() in {*PICTURE_EXTENSIONS, *SOUND_TYPES}
    if not is_single:
        return run_source.like(name, split, shape).load()
    # the loader of folders knows all that there is to know about reading files
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(path, Path(folder) / path.name)
        return run_source.like(folder, split, shape).load()


def _as_json(rows: list[LabelRow]) -> bytes:
    records = [
        {**row._asdict(), "margin": None if math.isnan(row.margin) else row.margin} for row in rows
    ]
    return (json.dumps(records, indent=2) + "\n").encode()
