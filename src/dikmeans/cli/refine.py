"""``dikmeans refine``: fit a run again from what a person has corrected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import print_json, printable
from dikmeans.cli.errors import errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from dikmeans.edits import Edit, Flow, RefinedRun
    from dikmeans.estimator import DIKMeans
    from dikmeans.refinement import Resistance

_MAX_LINES = 10


def refine(
    run: options.Run,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="RUN2", help="Folder of the refined run.")
    ],
    edits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Edits: a JSON list, or one per line. Default: edits.jsonl in RUN.",
        ),
    ] = None,
    moved_to: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="INPUT", help="Where the pictures are now, if they have moved."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit RUN again from its edits: names, merges, splits, moved, rejected and pinned pictures.

    It goes on from the corrected clusters and takes seconds. It says how many pictures moved, where
    to, and which edits the pictures speak against. RUN stays as it is.
    """
    with errors_explained(), warnings_as_notes():
        from dikmeans.edits import read_edits
        from dikmeans.edits.refine_run import changes_as_json

        given = None if edits is None else read_edits(edits)
        refined = _refine(run, output, given, moved_to, force, quiet)
        if as_json:
            names = [row.file for row in refined.run.labels]
            changes = changes_as_json(refined.changes, names, refined.run.model)
            print_json({"run": str(refined.run.path.resolve()), **changes})
            return
        _print_changes(refined)
        following = options.command_words("report", str(refined.run.path))
        typer.echo(f"\nNext: {following}")


def _refine(
    run: Path,
    output: Path,
    edits: tuple[Edit, ...] | None,
    moved_to: str | None,
    force: bool,
    quiet: bool,
) -> RefinedRun:
    from rich.progress import TimeElapsedColumn

    from dikmeans.cli.console import make_bar
    from dikmeans.edits import refine_run
    from dikmeans.refinement import MAX_ITERATIONS, Iteration

    with make_bar(TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("refining", total=MAX_ITERATIONS)

        def show(iteration: Iteration) -> None:
            bar.update(
                task,
                completed=iteration.number,
                total=iteration.of,
                description=f"refining · inertia {iteration.inertia:.4g}",
            )

        return refine_run(
            run, output, edits=edits, images_from=moved_to, replace=force, progress=show
        )


def _print_changes(refined: RefinedRun) -> None:
    from dikmeans.cli.summary import print_run

    model, changes = refined.run.model, refined.changes
    print_run(refined.run)
    names = dict(zip(model.cluster_ids_, model.cluster_names_, strict=True))
    n_edited = sum(flow.count for flow in changes.edited)
    typer.echo(
        f"\n{n_edited:,} of {changes.n_images:,} pictures were put elsewhere by the edits; "
        f"{changes.n_moved:,} more moved when the clusters were fitted again."
    )
    _print_lines([_flow_line(flow, names) for flow in changes.moved])
    if changes.resisted:
        typer.echo(f"\n{len(changes.resisted)} decisions that the pictures speak against:")
        files = [row.file for row in refined.run.labels]
        _print_lines([_resistance_line(one, files, model) for one in changes.resisted])


def _print_lines(lines: list[str]) -> None:
    for line in lines[:_MAX_LINES]:
        typer.echo(f"  {line}")
    if len(lines) > _MAX_LINES:
        typer.echo(f"  and {len(lines) - _MAX_LINES} more")


def _flow_line(flow: Flow, names: dict[str, str | None]) -> str:
    source, target = (_shown(end, names) for end in (flow.source, flow.target))
    return f"{flow.count:>5,}  {source} -> {target}"


def _shown(identity: str | None, names: dict[str, str | None]) -> str:
    if identity is None:
        return "no cluster"
    name = names.get(identity)
    return f"{printable(name)} ({identity})" if name else identity


def _resistance_line(one: Resistance, files: list[str], model: DIKMeans) -> str:
    names = dict(zip(model.cluster_ids_, model.cluster_names_, strict=True))
    rather = _shown(model.cluster_ids_[one.rather], names)
    file = printable(files[one.image])
    if one.decided < 0:
        return f"{file} was rejected, but fits {rather} well (cost {one.cost_elsewhere:.3g})"
    decided = _shown(model.cluster_ids_[one.decided], names)
    return (
        f"{file} was put in {decided} (cost {one.cost:.3g}), but fits {rather} far better "
        f"({one.cost_elsewhere:.3g})"
    )
