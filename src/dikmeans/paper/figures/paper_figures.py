"""The figures of the paper: what each is made from, how it is computed and how it is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from dikmeans._typing import JSON
from dikmeans.evaluation.embedding import embed
from dikmeans.paper.errors import look_up
from dikmeans.paper.figures.figure_inputs import COMPARED_WARPS, FigureInputs
from dikmeans.paper.figures.grid_runs import grid_parameters, grid_runs, runs_of_file
from dikmeans.paper.figures.plot_accuracy import accuracy_against_distortion
from dikmeans.paper.figures.plot_centroids import centroid_overview
from dikmeans.paper.figures.plot_embedding import embedding
from dikmeans.paper.figures.plot_time import time_growth
from dikmeans.paper.figures.plot_transformations import transformations
from dikmeans.paper.figures.time_growth import N_ITERATIONS, measure_growth
from dikmeans.paper.protocol.data_tasks import DataTask
from dikmeans.paper.protocol.table_models import parameters_of
from dikmeans.plot.centroid_rows import centroid_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Made: TypeAlias = "tuple[Figure, JSON]"

TIME_SHARES = (0.25, 0.5, 1, 2, 4)
"""Numbers of images that are timed, as shares of the training size."""
TIME_LANDMARKS = (3, 4, 5, 6, 7, 8)
LANDMARKS_FOR_IMAGES = 7
"""Side of the landmark grid while the number of images grows."""


class PaperFigure(NamedTuple):
    """A figure to be made.

    Attributes
    ----------
    kind : FigureKind
    tasks : tuple of DataTask
        The data it shows.
    name : str
        Of its file, without the suffix.
    runs : path or None
        File of finished runs, for the figure that shows runs.
    """

    kind: FigureKind
    tasks: tuple[DataTask, ...]
    name: str
    runs: Path | None = None

    def parameters(self, inputs: FigureInputs) -> JSON:
        """Return what identifies the figure; known before any work."""
        common = {
            "kind": self.kind.name,
            "data": [task.name for task in self.tasks],
            "train_size": inputs.train_size,
            "seed": inputs.seed,
        }
        return self.kind.parameters(self, inputs, common)


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes
    ----------
    name : str
    caption : str
    make : callable (figure, inputs, folder) -> (matplotlib figure, facts)
        Computes and draws; the facts are JSON values.
    parameters : callable (figure, inputs, common parameters) -> dict
        What identifies a figure.
    scope : {"one", "each", "all"}
        Made for one data set, for each, or for all together.
    preferred : str
        The paper's data set, for the scope "one": used if it is requested, otherwise the first.
    """

    name: str
    caption: str
    make: Callable[[PaperFigure, FigureInputs, Path], Made]
    parameters: Callable[[PaperFigure, FigureInputs, JSON], JSON]
    scope: Literal["one", "each", "all"]
    preferred: str = ""

    def plan(self, tasks: Sequence[DataTask]) -> Iterator[tuple[tuple[DataTask, ...], str, int]]:
        """Yield tasks, name and turn of each figure of this kind.

        Figures are made by turns: those without fits first, then those of one data set after
        another, because they share its fits, and those of all data sets last.
        """
        if self.scope == "each":
            for turn, task in enumerate(tasks):
                yield (task,), f"{self.name}-{slug(task)}", turn
        elif self.scope == "one":
            preferred = [task for task in tasks if task.name == self.preferred]
            yield ((preferred or list(tasks))[0],), self.name, -1
        else:
            yield tuple(tasks), self.name, len(tasks)


def _common_parameters(figure: PaperFigure, inputs: FigureInputs, common: JSON) -> JSON:
    return common


def _with_models(figure: PaperFigure, inputs: FigureInputs, common: JSON) -> JSON:
    from dikmeans import DIKMeans

    models = {name: parameters_of(DIKMeans(warp=warp)) for name, warp in COMPARED_WARPS.items()}
    return {**common, "models": models}


def _time_parameters(figure: PaperFigure, inputs: FigureInputs, common: JSON) -> JSON:
    return {
        **_with_models(figure, inputs, common),
        "shares": TIME_SHARES,
        "landmarks": TIME_LANDMARKS,
        "iterations": N_ITERATIONS,
    }


def _runs_parameters(figure: PaperFigure, inputs: FigureInputs, common: JSON) -> JSON:
    if figure.runs is None:
        return {**common, **grid_parameters(inputs.train_size)}
    records = runs_of_file(figure.runs, figure.tasks[0])
    runs = sorted(record.identity for record in records)
    return {"kind": common["kind"], "data": common["data"], "runs": runs}


def _make_transformations(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    train = inputs.data(figure.tasks[0]).train
    return transformations(train.images[0], seed=inputs.seed), {"image": str(train.names[0])}


def _make_time(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    largest = max(1, round(max(TIME_SHARES) * inputs.train_size))
    data = inputs.data(figure.tasks[0], largest)
    images = data.train.images
    sizes = {min(round(share * inputs.train_size), len(images)) for share in TIME_SHARES}
    shortest_side = min(images.shape[1:3])
    base = {
        "images": min(inputs.train_size, len(images)),
        "clusters": data.n_classes,
        "landmarks": min(LANDMARKS_FOR_IMAGES, shortest_side),
        "side": shortest_side,
    }
    values = {
        "images": sorted(size for size in sizes if size >= data.n_classes),
        "landmarks": [side for side in TIME_LANDMARKS if side <= shortest_side],
    }
    growths = [
        measure_growth(axis, along, lambda n, side: images[:n], base, step=inputs.progress.step)
        for axis, along in values.items()
    ]
    facts = {
        "data_title": data.title,
        "pixels": images.shape[1:3],
        "clusters": data.n_classes,
        "seconds": {growth.axis: {"values": growth.values, **growth.seconds} for growth in growths},
    }
    title = (
        f"{data.title}: {images.shape[1]} x {images.shape[2]} pixels, K = {data.n_classes}; "
        f"{base['landmarks']}² landmarks left, {base['images']:,} images right"
    )
    note = f"{N_ITERATIONS} Lloyd iterations; seconds depend on the machine's load: read the ratios"
    return time_growth(growths, title=title, note=note), facts


def _make_centroids(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    rows, facts = inputs.centroids(figure.tasks[0])
    title = f"{facts['data_title']}: {facts['images']:,} images, {facts['clusters']} clusters"
    cell = 0.72 if facts["clusters"] <= 15 else 0.48
    return centroid_rows(rows, title=title, cell=cell), facts


def _make_centroids_overview(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    blocks, facts = {}, {}
    for task in figure.tasks:
        rows, facts[task.name] = inputs.centroids(task)
        blocks[facts[task.name]["data_title"]] = rows
    return centroid_overview(blocks), facts


def _make_embedding(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    (task,) = figure.tasks
    data, fits = inputs.data(task), inputs.fits(task)
    assert data.train.labels is not None
    images = {"raw images": data.train.images}
    panels = {"AI K-means": "aligned by affine maps (AI)", "DI K-means": "by splines (DI)"}
    for name, panel in panels.items():
        inputs.progress.step(f"aligning {data.title} with {name}")
        images[panel] = fits[name].align(data.train.images).aligned
    inputs.progress.step(f"t-SNE of {data.title}")
    drawn = embedding(
        {panel: embed(shown, random_state=inputs.seed) for panel, shown in images.items()},
        data.train.labels,
        class_names=data.train.class_names,
        images=images,
        title=f"{data.title}: t-SNE of {len(data.train):,} images",
    )
    return drawn, inputs.centroids(task)[1]


def _make_accuracy_distortion(figure: PaperFigure, inputs: FigureInputs, folder: Path) -> Made:
    (task,) = figure.tasks
    if figure.runs is not None:
        records, file = runs_of_file(figure.runs, task), str(figure.runs)
    else:
        file = f"{figure.name}-runs.jsonl"
        records = grid_runs(inputs, task, folder / file)
    sizes = sorted({record.train_size for record in records})
    note = (
        f"{len(records)} runs; {', '.join(f'{size:,}' for size in sizes)} training, "
        f"{records[0].test_size:,} test images"
    )
    title = f"{task.title}: DI K-means as published"
    facts = {"runs": len(records), "runs_file": file, "train_size": sizes}
    return accuracy_against_distortion(records, title=title, note=note), facts


_CENTROIDS_CAPTION = (
    "Centroids at the start, which all models share, and those that K-means, affine-invariant and "
    "deformation-invariant K-means find, with the accuracy on the images that were clustered. One "
    "run, no labels."
)

KINDS: dict[str, FigureKind] = {
    kind.name: kind
    for kind in (
        FigureKind(
            "transformations",
            "Above: an image under the identity, an affine map and a thin-plate spline. Below: the "
            "original and the grid along which it is read to make the image above.",
            _make_transformations,
            _common_parameters,
            "one",
            preferred="mnist",
        ),
        FigureKind(
            "time",
            f"Seconds of a fit of {N_ITERATIONS} Lloyd iterations, against the number of images "
            "and landmarks. Both axes are logarithmic; power 1 is linear. Seconds depend on the "
            "machine and its load at that moment: compare ratios within a panel only.",
            _make_time,
            _time_parameters,
            "one",
            preferred="arabic-characters",
        ),
        FigureKind(
            "accuracy-distortion",
            "Test accuracy against training distortion, one dot per run of DI K-means as "
            "published, and the least-squares line. More landmarks lower the distortion whether "
            "the clusters get better or not, so it is no safe guide over settings; "
            "docs/protocol.md has criteria that are.",
            _make_accuracy_distortion,
            _runs_parameters,
            "one",
            preferred="mnist",
        ),
        FigureKind("centroids", _CENTROIDS_CAPTION, _make_centroids, _with_models, "each"),
        FigureKind(
            "embedding",
            "t-SNE of the images as they are, and warped into the frame of their centroid by the "
            "best affine map (AI) and the best spline (DI). Colors are the true classes. An image "
            "is aligned with its own centroid, so clusters draw together by construction; look at "
            "whether their colors are pure.",
            _make_embedding,
            _with_models,
            "each",
        ),
        FigureKind(
            "centroids-overview",
            _CENTROIDS_CAPTION + " Of many clusters the first ten.",
            _make_centroids_overview,
            _with_models,
            "all",
        ),
    )
}


def plan_figures(
    tasks: Sequence[DataTask], kinds: Iterable[str] = (), runs: Path | None = None
) -> list[PaperFigure]:
    """Return the figures to make, in an order in which those that share fits follow each other.

    Parameters
    ----------
    tasks : sequence of DataTask
    kinds : iterable of str
        Names of `KINDS`; by default all.
    runs : path, optional
        File of finished runs for accuracy against distortion; by default they are made.

    Raises
    ------
    UnknownChoiceError
        No such kind.

    Examples
    --------
    >>> from dikmeans.paper.protocol.data_tasks import get_tasks
    >>> [figure.name for figure in plan_figures(get_tasks(["mnist"]), ["centroids", "time"])]
    ['time', 'centroids-mnist']
    """
    requested = {look_up("figure", name, KINDS).name for name in kinds} or set(KINDS)
    figures: list[tuple[int, PaperFigure]] = []
    names: set[str] = set()
    for kind in KINDS.values():
        if kind.name in requested:
            for of_tasks, name, turn in kind.plan(tasks):
                while name in names:  # two folders of the same name
                    name += "-again"
                names.add(name)
                figures.append((turn, PaperFigure(kind, of_tasks, name, runs)))
    return [figure for _, figure in sorted(figures, key=lambda pair: pair[0])]


def slug(task: DataTask) -> str:
    """Return a task's name as part of a file name.

    Examples
    --------
    >>> slug(DataTask("./my pictures/", "mine", "./my pictures/"))
    'my-pictures'
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", Path(task.name).name).strip("-.") or "data"
