"""``dikmeans choose-k``: how many clusters?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import describe_seconds, describe_time_left, make_console, print_json
from dikmeans.cli.errors import errors_explained, warnings_as_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dikmeans._typing import JSON, FloatArray
    from dikmeans.estimator import DIKMeans
    from dikmeans.evaluation import NClustersChoice, NClustersScore

MIN_IMAGES_PER_CLUSTER = 2
"""In each of the two halves."""


def choose_k(
    source: options.Input,
    lowest: Annotated[
        int, typer.Option("--from", min=1, metavar="N", help="Smallest number of clusters.")
    ] = 2,
    highest: Annotated[
        int, typer.Option("--to", min=1, metavar="N", help="Largest number of clusters.")
    ] = 20,
    step: Annotated[int, typer.Option(min=1, metavar="N", help="From one number to the next.")] = 1,
    sample: Annotated[
        int,
        typer.Option(min=4, metavar="N", help="Use a random part of at most N pictures."),
    ] = 400,
    splits: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Random splits into two halves, for every number."),
    ] = 2,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    split: options.Split = "train",
    size: options.Size = None,
    stretch: options.Stretch = False,
    invert: options.Invert = False,
    color: options.Color = None,
    preprocessing: options.Preprocessing = "auto",
    intensity: options.Intensity = "auto",
    orientation: options.Orientation = "upright",
    warp: options.Warp = None,
    landmarks: options.Landmarks = None,
    smoothness: options.Smoothness = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Recommend a number of clusters: the one on which fits of two halves agree best."""
    if highest < lowest:
        hint = "'--to'"
        raise typer.BadParameter(f"--from {lowest} is more than --to {highest}.", param_hint=hint)
    with errors_explained(), warnings_as_notes() as notes:
        from dikmeans.evaluation import choose_n_clusters

        pictures = options.PictureOptions(split, size, stretch, invert, color)
        measure: JSON = {"warp": warp, "landmarks": landmarks, "smoothness": smoothness}
        model = options.make_model(
            lowest,
            preprocessing=preprocessing,
            intensity=intensity,
            orientation=orientation,
            n_jobs=jobs,
            **measure,
        )
        place = pictures.source(source, labels="none", limit=sample)
        at_least = 2 * MIN_IMAGES_PER_CLUSTER * highest
        images = options.load_pictures(place, model, at_least=at_least, purpose=f"--to {highest}")
        candidates = range(lowest, highest + 1, step)
        scores = _score(model, images.images, candidates, splits, seed, quiet)
        choice = choose_n_clusters(scores)
        if as_json:
            print_json({**_as_json(scores, choice), "n_images": len(images), "notes": notes})
            return
        _print_scores(scores, choice, len(images), splits)
        following = options.command_words(
            *("fit", source, "-k", str(choice.n_clusters), "-o", "RUN"),
            **pictures.words(),
            preprocessing=None if preprocessing == "auto" else preprocessing,
            intensity=None if intensity == "auto" else intensity,
            orientation=None if orientation == "upright" else orientation,
            **measure,
            seed=seed or None,
            jobs=jobs,
        )
        typer.echo(f"\nNext: {following}")


def _score(
    model: DIKMeans, X: FloatArray, candidates: range, n_splits: int, seed: int, quiet: bool
) -> list[NClustersScore]:
    """Score the numbers of clusters, with progress on standard error."""
    from rich.progress import TextColumn, TimeElapsedColumn

    from dikmeans.cli.console import make_bar
    from dikmeans.evaluation import score_n_clusters

    scores: list[NClustersScore] = []
    with make_bar(TimeElapsedColumn(), TextColumn("{task.fields[left]}"), quiet=quiet) as bar:
        total = sum(candidates)  # a fit of K clusters takes about K times as long as one of one
        task = bar.add_task(f"{candidates[0]} clusters", total=total, left=describe_time_left(None))
        for score in score_n_clusters(model, X, candidates, n_splits=n_splits, random_state=seed):
            scores.append(score)
            done = sum(s.n_clusters for s in scores)
            left = describe_time_left(sum(s.seconds for s in scores) / done * (total - done))
            following = f"{score.n_clusters + candidates.step} clusters"
            bar.update(task, completed=done, description=following, left=left)
            if not quiet and not bar.console.is_terminal:
                bar.console.print(
                    f"{score.n_clusters} clusters · stability {score.mean_stability:.3f} · "
                    f"{describe_seconds(score.seconds)} · {left}"
                )
    return scores


def _as_json(scores: Sequence[NClustersScore], choice: NClustersChoice) -> JSON:
    return {
        "recommended": choice.n_clusters,
        "as_good": list(choice.alternatives),
        "standard_error": choice.standard_error,
        "numbers": [s._asdict() | {"mean_stability": s.mean_stability} for s in scores],
    }


def _print_scores(
    scores: Sequence[NClustersScore], choice: NClustersChoice, n_images: int, n_splits: int
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("K", "stability", "mean cost", "seconds"):
        table.add_column(header, justify="right")
    table.add_column("")
    remarks = {choice.n_clusters: "<- recommended", **dict.fromkeys(choice.alternatives, "as good")}
    for score in scores:
        table.add_row(
            str(score.n_clusters),
            f"{score.mean_stability:.3f}",
            f"{score.cost:.4f}",
            f"{score.seconds:.1f}",
            remarks.get(score.n_clusters, ""),
            style="bold" if score.n_clusters == choice.n_clusters else None,
        )
    console = make_console(stderr=False)
    console.print(table)
    error = f"; standard error {choice.standard_error:.3f}" if choice.standard_error else ""
    console.print(
        Text(
            f"From {n_images:,} pictures, {n_splits} split{'s' if n_splits > 1 else ''} into two "
            "halves.\n"
            "stability: agreement of two fits, one on each half, about all pictures (adjusted Rand "
            f"index: 1 is perfect, 0 is chance{error}).\n"
            "mean cost: falls with every additional cluster and cannot choose by itself.\n"
            "Stability is not proof: very few clusters may be stable for lack of choice, and a "
            "shape with two common variants may count as two. Look at two or three numbers."
        )
    )
