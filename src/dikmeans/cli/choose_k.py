"""``dikmeans choose-k``: how many clusters?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dikmeans.cli import options
from dikmeans.cli.console import describe_seconds, make_console, print_json, warnings_as_notes
from dikmeans.cli.mistakes import mistakes_explained, values_explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dikmeans.evaluation import NumberChoice, NumberJudgement
    from dikmeans.kmeans import DIKMeans

IMAGES_A_CLUSTER = 2
"""In each half, at the very least."""


def choose_k(
    source: options.Input,
    lowest: Annotated[int, typer.Option("--from", min=1, help="Smallest number of clusters.")] = 2,
    highest: Annotated[int, typer.Option("--to", min=1, help="Largest number of clusters.")] = 20,
    step: Annotated[int, typer.Option(min=1, help="From one number to the next.")] = 1,
    sample: Annotated[
        int,
        typer.Option(
            min=4, metavar="N", help="Judge by a random part of at most so many pictures."
        ),
    ] = 400,
    splits: Annotated[
        int, typer.Option(min=1, help="Random splits in two halves, for every number.")
    ] = 2,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    split: options.Split = "train",
    size: options.Size = None,
    invert: options.Invert = False,
    colour: options.Colour = False,
    warp: options.Warp = None,
    landmarks: options.Landmarks = None,
    smoothness: options.Smoothness = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Try numbers of clusters and recommend the one that two halves of the pictures agree on best."""
    if highest < lowest:
        raise typer.BadParameter(
            f"--from {lowest} is more than --to {highest}.", param_hint="'--to'"
        )
    with mistakes_explained(), warnings_as_notes() as notes:
        from dikmeans.evaluation import choose_number

        model = options.make_model(
            lowest, warp=warp, landmarks=landmarks, smoothness=smoothness, n_jobs=jobs
        )
        place = options.source_of(
            source, split, size=size, invert=invert, colour=colour, limit=sample
        )
        at_least = 2 * IMAGES_A_CLUSTER * highest
        images = options.load_pictures(
            place, at_least=at_least, why=f"a sample to judge --to {highest}"
        )
        judgements = _judge(
            model, images.images, range(lowest, highest + 1, step), splits, seed, quiet
        )
        choice = choose_number(judgements)
    if as_json:
        print_json(
            {
                "recommended": choice.n_clusters,
                "as_good": list(choice.rivals),
                "standard_error": choice.error,
                "n_images": len(images),
                "numbers": [j._asdict() | {"mean_stability": j.mean_stability} for j in judgements],
                "notes": notes,
            }
        )
    else:
        _show(judgements, choice, len(images), splits)
        typer.echo(f"\nNext: dikmeans fit {source} -k {choice.n_clusters} -o RUN")


def _judge(
    model: DIKMeans, X: np.ndarray, numbers: range, n_splits: int, seed: int, quiet: bool
) -> list[NumberJudgement]:
    from dikmeans.evaluation import judge_numbers

    console, judgements = make_console(stderr=True), []
    with (
        values_explained(),
        Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        ) as bar,
    ):
        # two fits of K clusters take about K times as long as one of one
        task = bar.add_task(
            f"{numbers[0]} clusters", total=sum(numbers), left="time left not known yet"
        )
        done = spent = 0.0
        for judgement in judge_numbers(model, X, numbers, n_splits=n_splits, seed=seed):
            judgements.append(judgement)
            done, spent = done + judgement.n_clusters, spent + judgement.seconds
            left = spent / done * (sum(numbers) - done)
            following = judgement.n_clusters + numbers.step
            bar.update(
                task,
                completed=done,
                description=f"{following} clusters",
                left=f"about {describe_seconds(left)} left",
            )
            if not quiet and not console.is_terminal:
                console.print(
                    Text(
                        f"{judgement.n_clusters} clusters · stability {judgement.mean_stability:.3f} · "
                        f"{describe_seconds(judgement.seconds)} · about {describe_seconds(left)} left"
                    )
                )
    return judgements


def _show(
    judgements: Sequence[NumberJudgement], choice: NumberChoice, n_images: int, n_splits: int
) -> None:
    console = make_console(stderr=False)
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("K", "stability", "distortion", "seconds"):
        table.add_column(header, justify="right")
    table.add_column("")
    marks = {choice.n_clusters: "<- recommended", **dict.fromkeys(choice.rivals, "as good")}
    for judgement in judgements:
        number = judgement.n_clusters
        table.add_row(
            str(number),
            f"{judgement.mean_stability:.3f}",
            f"{judgement.distortion:.4f}",
            f"{judgement.seconds:.1f}",
            marks.get(number, ""),
            style="bold" if number == choice.n_clusters else None,
        )
    console.print(table)
    error = f", give or take {choice.error:.3f}" if choice.error else ""
    console.print(
        Text(
            f"By {n_images:,} pictures, {n_splits} split{'s' if n_splits > 1 else ''} in two halves.\n"
            f"stability: how well two fits, one on each half, agree about all pictures (adjusted Rand index; "
            f"1 is perfect, 0 is chance{error}).\n"
            "distortion: mean cost of a picture; it falls with every cluster and says nothing by itself.\n"
            "Stability is no proof: very few clusters can be stable for lack of choice, and a shape with two "
            "common variants may rightly count as two. Look at two or three numbers before you settle."
        )
    )
