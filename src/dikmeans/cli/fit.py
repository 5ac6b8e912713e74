"""``dikmeans fit``: cluster pictures and write the result to a RUN folder."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import print_json, say
from dikmeans.cli.errors import INTERRUPTED, errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from dikmeans.cli.signals import StopSignals
    from dikmeans.datasets import ImageSet
    from dikmeans.estimator import DIKMeans
    from dikmeans.runs import RunFolder


def fit(
    source: options.Input,
    clusters: Annotated[
        int,
        typer.Option(
            "--clusters",
            "-k",
            min=1,
            metavar="N",
            help="Number of clusters. Not known? See `dikmeans choose-k`.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        options.output_option("--output", "-o", metavar="RUN", help="Folder to write the run to."),
    ] = None,
    force: Annotated[
        bool,
        options.output_option(
            "--force", help="Replace an existing run; without --resume, its checkpoint too."
        ),
    ] = False,
    resume: Annotated[
        bool,
        options.output_option(
            "--resume", help="Continue a fit that was stopped or killed; give the same options."
        ),
    ] = False,
    no_checkpoint: Annotated[
        bool,
        options.output_option(
            "--no-checkpoint", help="Do not save the unfinished fit in RUN.checkpoint."
        ),
    ] = False,
    report: Annotated[
        bool,
        options.output_option(
            "--report/--no-report", help="Make the HTML report too, as `dikmeans report` does."
        ),
    ] = True,
    dry_run: Annotated[
        bool,
        options.output_option("--dry-run", help="Only estimate the time and memory it will take."),
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    split: options.Split = "train",
    size: options.Size = None,
    stretch: options.Stretch = False,
    invert: options.Invert = False,
    color: options.Color = None,
    labels: options.LabelsOption = "auto",
    limit: options.Limit = None,
    preprocessing: options.Preprocessing = "auto",
    intensity: options.Intensity = "auto",
    orientation: options.Orientation = "upright",
    warp: options.Warp = None,
    landmarks: options.Landmarks = None,
    smoothness: options.Smoothness = None,
    prototypes: options.Prototypes = None,
    outliers: options.Outliers = None,
    runs: Annotated[
        int | None,
        options.clustering_option(
            min=1,
            metavar="N",
            help="Runs from different starts; the best is kept.",
            show_default="up to 4 where pictures are few",
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    device: options.Device = None,
) -> None:
    """Cluster the pictures in INPUT.

    Ctrl-C stops the fit and keeps the best clusters so far; --resume continues it.
    """
    if output is None and not dry_run:
        raise typer.BadParameter("Say where to write the run: -o RUN.", param_hint="'--output'")
    if resume and no_checkpoint:
        raise typer.BadParameter("--resume needs the checkpoint that --no-checkpoint forbids.")
    with errors_explained(), warnings_as_notes() as notes:
        from dikmeans.cli.run_checkpoint import discard_checkpoint
        from dikmeans.cli.signals import StopSignals
        from dikmeans.runs import write_run

        model = options.make_model(
            clusters,
            preprocessing=preprocessing,
            intensity=intensity,
            orientation=orientation,
            device=device,
            warp=warp,
            landmarks=landmarks,
            smoothness=smoothness,
            n_prototypes=prototypes,
            outliers=outliers,
            n_init=runs,
            random_state=seed,
            n_jobs=jobs,
        )
        pictures = options.PictureOptions(split, size, stretch, invert, color)
        place = pictures.source(source, labels, limit)
        checkpoint, replace = None, force
        if output is not None and not dry_run:
            checkpoint, replace = _check_output(output, force, resume, no_checkpoint)
        images = options.load_pictures(
            place, model, at_least=clusters, purpose=f"--clusters {clusters}"
        )
        place = place.resolved(images)
        if output is None or dry_run:
            _print_estimate(model, images, as_json)
            return
        if checkpoint is not None and not resume:
            discard_checkpoint(checkpoint)

        start, stop = time.perf_counter(), StopSignals()
        _fit(model, images, checkpoint, stop, quiet)
        seconds, interrupted = time.perf_counter() - start, stop.received is not None
        if not quiet:  # reading the originals takes a while
            say("writing the run; centroids are made from the originals.")
        run = write_run(
            output, model, images, place, seconds=seconds, interrupted=interrupted, replace=replace
        )
        if interrupted:
            say(f"stopped early; the best clusters so far are in {output}.")
            if checkpoint is not None:
                say("To continue, give the same command with --resume.")
        elif checkpoint is not None:
            discard_checkpoint(checkpoint)

        page = None
        if report and interrupted:
            say("no report was made of a fit that was stopped.")
        elif report:  # before the table: whoever reads that may close the pipe
            from dikmeans.cli.report import make_report

            originals = run.find_originals(images)
            page = make_report(run, images, originals, run.path / "report.html", quiet=quiet)
        if as_json:
            _print_json(run, page, notes)
        else:
            _print_run(run, images, page)
    if stop.exit_code:  # else others go on from here, as the studio does
        raise typer.Exit(stop.exit_code)


def _check_output(
    output: Path, force: bool, resume: bool, no_checkpoint: bool
) -> tuple[Path | None, bool]:
    """Where the checkpoint goes, and whether a run may be replaced.

    Called before the work, so that a place that cannot be written to is not found out after it.
    """
    from dikmeans.cli.run_checkpoint import find_checkpoint
    from dikmeans.runs import check_place

    checkpoint = None if no_checkpoint else find_checkpoint(output, resume=resume, force=force)
    # the run of a stopped fit is replaced by that of the fit that continues it
    replace = force or (resume and checkpoint is not None and checkpoint.exists())
    check_place(output, replace=replace)
    return checkpoint, replace


def _print_json(run: RunFolder, page: Path | None, notes: list[str]) -> None:
    from dikmeans.cli.summary import run_as_json

    path = None if page is None else str(page)
    print_json({**run_as_json(run), "report": path, "notes": notes})


def _print_run(run: RunFolder, images: ImageSet, page: Path | None) -> None:
    from dikmeans.cli.summary import print_agreement, print_run

    print_run(run)
    print_agreement(run, images)
    following = options.command_words("report", str(run.path))
    typer.echo(f"\nReport: {page}" if page else f"\nNext: {following}")


def _print_estimate(model: DIKMeans, images: ImageSet, as_json: bool) -> None:
    from dikmeans.cli.dry_run import estimate_fit, print_estimate

    estimate = estimate_fit(model, images.images)
    (print_json if as_json else print_estimate)(estimate)


def _fit(
    model: DIKMeans, images: ImageSet, checkpoint: Path | None, stop: StopSignals, quiet: bool
) -> None:
    """Fit the model; a signal stops it and keeps the best clusters, if there are any."""
    from dikmeans.cli.fit_progress import FitProgress
    from dikmeans.cli.run_checkpoint import discard_checkpoint

    schedule = model.schedule_for(len(images), images.shape)
    # The command says by itself that the fit was stopped.
    warnings.filterwarnings("ignore", "The fit was", UserWarning)
    try:
        with FitProgress(schedule, quiet=quiet) as progress, stop:
            model.fit(images.images, checkpoint=checkpoint, progress=progress)
    except KeyboardInterrupt:
        if checkpoint is not None:
            discard_checkpoint(checkpoint)
        say("stopped before there were any clusters to keep; nothing was written.")
        raise typer.Exit(stop.exit_code or INTERRUPTED) from None
