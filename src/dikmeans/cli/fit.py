"""``dikmeans fit``: cluster pictures and keep the result as a RUN folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dikmeans.cli import options
from dikmeans.cli.checkpoint import Keeper, make_keeper
from dikmeans.cli.console import print_json, say, warnings_as_notes
from dikmeans.cli.mistakes import INTERRUPTED, mistakes_explained, values_explained

if TYPE_CHECKING:
    from dikmeans.datasets import ImageSet, Source
    from dikmeans.kmeans import DIKMeans


def fit(
    source: options.Input,
    clusters: Annotated[
        int,
        typer.Option(
            "--clusters",
            "-k",
            min=1,
            help="How many. No idea? See `dikmeans choose-k`.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="RUN",
            help="Folder to write the run to.",
            rich_help_panel="Output",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace a run that is there already; without --resume, its checkpoint too.",
            rich_help_panel="Output",
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a fit that was stopped or killed; give the same options.",
            rich_help_panel="Output",
        ),
    ] = False,
    no_checkpoint: Annotated[
        bool,
        typer.Option(
            "--no-checkpoint",
            help="Do not keep the fit in RUN.checkpoint while it goes.",
            rich_help_panel="Output",
        ),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Make the HTML report at once.", rich_help_panel="Output"),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only say how long it will take, and how much memory.",
            rich_help_panel="Output",
        ),
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    split: options.Split = "train",
    size: options.Size = None,
    invert: options.Invert = False,
    colour: options.Colour = False,
    limit: options.Limit = None,
    warp: options.Warp = None,
    landmarks: options.Landmarks = None,
    smoothness: options.Smoothness = None,
    forms: options.Forms = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs from different starts; the best is kept.",
            rich_help_panel="Clustering",
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    device: options.Device = None,
) -> None:
    """Cluster the pictures in INPUT into K shapes.

    Ctrl-C ends the search and keeps the best clusters so far. After that, or a crash, --resume goes on.
    """
    if output is None and not dry_run:
        raise typer.BadParameter(
            "Say where to write the run: -o RUN.", param_hint="'--output' / '-o'"
        )
    if resume and no_checkpoint:
        raise typer.BadParameter("There is nothing to --resume with --no-checkpoint.")
    with mistakes_explained(), warnings_as_notes() as notes:
        model = options.make_model(
            clusters,
            warp=warp,
            landmarks=landmarks,
            smoothness=smoothness,
            n_prototypes=forms,
            n_init=runs,
            random_state=seed,
            n_jobs=jobs,
            device=device,
        )
        place = options.source_of(
            source, split, size=size, invert=invert, colour=colour, limit=limit
        )
        if dry_run:
            _estimate(model, place, as_json)
            raise typer.Exit
        assert output is not None
        keeper = make_keeper(output, resume=resume, force=force, wanted=not no_checkpoint)
        code = _fit_and_write(model, place, output, keeper, force, report, as_json, quiet, notes)
    raise typer.Exit(code)


def _estimate(model: DIKMeans, source: Source, as_json: bool) -> None:
    from dikmeans.cli.estimates import estimate_fit, show_estimate

    images = _load(source, model)
    with values_explained():
        estimate = estimate_fit(model, images.images)
    if as_json:
        print_json(estimate.as_json())
    else:
        show_estimate(estimate)


def _load(source: Source, model: DIKMeans) -> ImageSet:
    return options.load_pictures(
        source, at_least=model.n_clusters, why=f"--clusters {model.n_clusters}"
    )


def _fit_and_write(
    model: DIKMeans,
    source: Source,
    output: Path,
    keeper: Keeper,
    force: bool,
    report: bool,
    as_json: bool,
    quiet: bool,
    notes: list[str],
) -> int:
    """Fit, write the run, show it; the exit code."""
    from dikmeans.cli.signals import StopSignals
    from dikmeans.cli.summary import run_as_json, show_run
    from dikmeans.kmeans.assignment import assign_images
    from dikmeans.runs.run_folder import check_place, open_run, write_run

    check_place(output, force=force)  # whether it can be written is better known before the work
    keeper.check()
    images = _load(source, model)
    keeper.begin()
    stop = StopSignals()
    seconds = _fit(model, images, keeper, stop, quiet)
    write_run(
        output,
        model,
        images,
        source,
        assign_images(model, images.images),
        seconds=seconds,
        interrupted=stop.received is not None,
        force=force,
    )
    if stop.received is None:
        keeper.discard()
    else:
        say(f"stopped early; the best clusters so far are in {output}.{keeper.how_to_go_on}")
    run = open_run(output)
    if as_json:
        print_json({**run_as_json(run), "notes": notes})
    else:
        show_run(run)
    if report and stop.received is None:
        from dikmeans.cli.report import make_report

        make_report(run, images, output / "report.html", quiet=quiet, announce=not as_json)
    elif not as_json:
        typer.echo(f"\nLook at it: dikmeans report {output}")
    return stop.exit_code


def _fit(model: DIKMeans, images: ImageSet, keeper: Keeper, stop: Any, quiet: bool) -> float:
    """Fit the model to the images, stoppable; the seconds it took."""
    from dikmeans.cli.fit_progress import FitOnTerminal
    from dikmeans.monitoring.forecast import steps_of_run
    from dikmeans.monitoring.progress import listening

    began = time.perf_counter()
    with values_explained():
        steps = steps_of_run(model, len(images), images.shape)
        try:
            with FitOnTerminal(steps, quiet=quiet) as listener, listening(model, listener), stop:
                model.fit(images.images, checkpoint=keeper.folder)
        except KeyboardInterrupt:
            keeper.discard()
            raise typer.Exit(_nothing_yet(stop)) from None
    return time.perf_counter() - began


def _nothing_yet(stop: Any) -> int:
    say("stopped before there were any clusters to keep; nothing was written.")
    return stop.exit_code or INTERRUPTED
