"""The figures of the paper as objects: what each is made from, how it is computed, how it is drawn."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dikmeans import show
from dikmeans.kmeans import DIKMeans
from dikmeans.paper import FAMILY, Task, embed, measure_growth
from dikmeans.paper.growth import N_ITERATIONS
from dikmeans.paper.models import parameters_of
from dikmeans.paper.names import look_up
from dikmeans.paper.figures.accuracy_runs import grid_parameters, grid_runs, runs_of_file
from dikmeans.paper.figures.workshop import Workshop


@dataclass(frozen=True)
class Made:
    """A figure and what came out while it was made.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    facts : dict
        Fit for JSON.
    """

    figure: Any
    facts: dict[str, Any]


class PaperFigure(ABC):
    """A figure to be made.

    Parameters
    ----------
    tasks : sequence of Task
        The data it shows.
    name : str
        Of its file, without the ending.
    runs : path or None
        File of finished runs, for the figure that shows runs.
    """

    kind: ClassVar[str]
    caption: ClassVar[str]

    def __init__(self, tasks: Sequence[Task], name: str, runs: Path | None = None):
        self.tasks = tuple(tasks)
        self.name = name
        self.runs = runs

    @classmethod
    def plan(cls, tasks: Sequence[Task]) -> Iterator[tuple[Sequence[Task], str]]:
        """The figures of this kind for these data sets: tasks and name of each."""
        yield tasks, cls.kind

    def parameters(self, workshop: Workshop) -> dict[str, Any]:
        """What makes two figures the same; known before any work."""
        return {
            "kind": self.kind,
            "data": [task.name for task in self.tasks],
            "train_size": workshop.train_size,
            "seed": workshop.seed,
        }

    def turn(self, tasks: Sequence[Task]) -> int:
        """When it is made: those of one data set follow each other, for they share its fits; others after."""
        return len(tasks)

    @abstractmethod
    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Compute and draw."""

    @property
    def task(self) -> Task:
        """The data set, of a figure that shows one."""
        return self.tasks[0]


class OfEachSet(PaperFigure):
    """A figure a data set."""

    @classmethod
    def plan(cls, tasks: Sequence[Task]) -> Iterator[tuple[Sequence[Task], str]]:
        """One for each."""
        for task in tasks:
            yield [task], f"{cls.kind}-{slug(task)}"

    def turn(self, tasks: Sequence[Task]) -> int:
        """With the others of its set."""
        return tasks.index(self.task)


class OfOneSet(PaperFigure):
    """A figure that the paper has for one data set: that one if it is asked for, else the first."""

    the_papers: ClassVar[str]

    @classmethod
    def plan(cls, tasks: Sequence[Task]) -> Iterator[tuple[Sequence[Task], str]]:
        """One."""
        preferred = [task for task in tasks if task.name == cls.the_papers]
        yield (preferred or list(tasks))[:1], cls.kind

    def turn(self, tasks: Sequence[Task]) -> int:
        """Before all fits, which it does not need."""
        return -1


class _WithFits(PaperFigure):
    """A figure of the three kinds of K-means."""

    def parameters(self, workshop: Workshop) -> dict[str, Any]:
        """Also the parameters of the models."""
        return {
            **super().parameters(workshop),
            "models": {name: parameters_of(DIKMeans(warp=warp)) for name, warp in FAMILY.items()},
        }


class Transformations(OfOneSet):
    """An image over the grid of its warp."""

    kind = "transformations"
    the_papers = "mnist"
    caption = (
        "Above: an image under the identity, an affine map and a thin-plate spline. Below: the original and "
        "the grid along which it is read to make the picture above."
    )

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Deform the first training image."""
        images = workshop.data(self.task).train
        return Made(
            show.transformations(images.images[0], seed=workshop.seed), {"image": str(images.names[0])}
        )


class Time(_WithFits, OfOneSet):
    """Time of AI and DI K-means against images and landmarks."""

    kind = "time"
    the_papers = "arabic-characters"
    caption = (
        f"Seconds of a fit of {N_ITERATIONS} Lloyd iterations, against the number of images and landmarks. "
        "Both axes are logarithmic; power 1 is linear. Seconds are those of the machine and its load at that "
        "moment: only ratios within a panel mean something."
    )
    shares: ClassVar = (0.25, 0.5, 1, 2, 4)
    sides: ClassVar = (3, 4, 5, 6, 7, 8)
    side_for_images: ClassVar = 7

    def parameters(self, workshop: Workshop) -> dict[str, Any]:
        """Also what is measured."""
        return {
            **super().parameters(workshop),
            "shares": self.shares,
            "landmarks": self.sides,
            "iterations": N_ITERATIONS,
        }

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Measure, then draw."""
        data = workshop.data(self.task, max(1, round(max(self.shares) * workshop.train_size)))
        images = data.train.images
        n_landmark_images = min(workshop.train_size, len(images))
        wanted = (min(round(share * workshop.train_size), len(images)) for share in self.shares)
        sizes = sorted({n for n in wanted if n >= data.n_classes})
        shortest = min(images.shape[1:3])
        base = {
            "images": n_landmark_images,
            "clusters": data.n_classes,
            "landmarks": min(self.side_for_images, shortest),
            "side": shortest,
        }
        growths = [
            measure_growth(axis, values, lambda n, side: images[:n], base, step=workshop.step)
            for axis, values in (
                ("images", sizes),
                ("landmarks", [side for side in self.sides if side <= shortest]),
            )
        ]
        facts = {
            "data_title": data.title,
            "pixels": images.shape[1:3],
            "clusters": data.n_classes,
            "seconds": {growth.axis.name: {"values": growth.values, **growth.seconds} for growth in growths},
        }
        title = (
            f"{data.title}: {images.shape[1]} x {images.shape[2]} pixels, K = {data.n_classes}; "
            f"{base['landmarks']}² landmarks left, {n_landmark_images:,} images right"
        )
        note = f"{N_ITERATIONS} Lloyd iterations; seconds depend on the load of the machine: read the ratios"
        return Made(show.time_growth(growths, title=title, note=note), facts)


class Centroids(_WithFits, OfEachSet):
    """Centroids: the start, K-means, AI and DI K-means."""

    kind = "centroids"
    caption = (
        "Centroids at the start, which all models share, and those that K-means, affine-invariant and "
        "deformation-invariant K-means find, with the accuracy on the images that were clustered. One run, "
        "no labels."
    )

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Fit, then draw."""
        rows, facts = workshop.centroids(self.task)
        title = f"{facts['data_title']}: {facts['images']:,} images, {facts['clusters']} clusters"
        cell = 0.72 if facts["clusters"] <= 15 else 0.48
        return Made(show.centroid_rows(rows, title=title, cell=cell), facts)


class CentroidsOverview(_WithFits):
    """The centroids of all data sets on a page, as the paper shows them."""

    kind = "centroids-overview"
    caption = Centroids.caption + " Of many clusters the first ten."

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Fit, then draw."""
        sets, facts = {}, {}
        for task in self.tasks:
            rows, facts[task.name] = workshop.centroids(task)
            sets[facts[task.name]["data_title"]] = rows
        return Made(show.centroid_overview(sets), facts)


class Embedding(_WithFits, OfEachSet):
    """t-SNE of images as they are, and as aligned."""

    kind = "embedding"
    caption = (
        "t-SNE of the images as they are, and carried into the frame of the centroid they were assigned to "
        "by the best affine map (AI) and the best spline (DI). Colours are the true classes. As an image is "
        "aligned with its own centroid, clusters draw together by construction: what to look at is whether "
        "their colours are pure."
    )

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Fit, align, embed, then draw."""
        data, fits = workshop.data(self.task), workshop.fits(self.task)
        images = data.train.images
        pictures = {"raw images": images}
        for name, title in (("AI K-means", "aligned by affine maps (AI)"), ("DI K-means", "by splines (DI)")):
            workshop.step(f"aligning {data.title} with {name}")
            pictures[title] = fits[name].align(images).aligned
        workshop.step(f"t-SNE of {data.title}")
        points = embed(pictures, seed=workshop.seed)
        figure = show.embedding(
            points,
            data.train.labels,
            class_names=data.train.class_names,
            pictures=pictures,
            title=f"{data.title}: t-SNE of {len(images):,} images",
        )
        _, facts = workshop.centroids(self.task)
        return Made(figure, facts)


class AccuracyDistortion(OfOneSet):
    """Accuracy against distortion over settings of the published algorithm."""

    kind = "accuracy-distortion"
    the_papers = "mnist"
    caption = (
        "Test accuracy against training distortion, one dot a run of DI K-means as published, and the "
        "least-squares line. More landmarks lower the distortion whether the clusters get better or not, so "
        "over settings it is no safe guide; see docs/protocol.md for criteria that are."
    )

    def parameters(self, workshop: Workshop) -> dict[str, Any]:
        """Also which runs."""
        mine = {**super().parameters(workshop)}
        if self.runs is not None:
            records = runs_of_file(self.runs, self.task)
            return {"kind": self.kind, "data": mine["data"], "runs": sorted(r.identity for r in records)}
        return {**mine, **grid_parameters(workshop.train_size)}

    def make(self, workshop: Workshop, gallery_folder: Path) -> Made:
        """Make the runs that are missing, then draw."""
        if self.runs is not None:
            records = runs_of_file(self.runs, self.task)
            where = str(self.runs)
        else:
            own = gallery_folder / f"{self.name}-runs.jsonl"
            records = grid_runs(workshop, self.task, own)
            where = own.name
        sizes = sorted({record.train_size for record in records})
        note = (
            f"{len(records)} runs; {', '.join(f'{size:,}' for size in sizes)} training, "
            f"{records[0].test_size:,} test images"
        )
        title = f"{self.task.title}: DI K-means as published"
        facts = {"runs": len(records), "runs_file": where, "train_size": sizes}
        return Made(show.accuracy_against_distortion(records, title=title, note=note), facts)


KINDS: dict[str, type[PaperFigure]] = {
    kind.kind: kind
    for kind in (Transformations, Time, AccuracyDistortion, Centroids, Embedding, CentroidsOverview)
}
"""By the names they are asked for."""


def plan_figures(
    tasks: Sequence[Task], kinds: Iterable[str] = (), runs: Path | None = None
) -> list[PaperFigure]:
    """The figures to make, in an order in which those that share fits follow each other.

    Parameters
    ----------
    tasks : sequence of Task
    kinds : iterable of str
        Names of `KINDS`; by default all.
    runs : path, optional
        File of finished runs for accuracy against distortion; by default it makes its own.

    Raises
    ------
    UnknownChoiceError
        No such kind.

    Examples
    --------
    >>> from dikmeans.paper import get_tasks
    >>> [figure.name for figure in plan_figures(get_tasks(["mnist"]), ["centroids", "time"])]
    ['time', 'centroids-mnist']
    """
    wanted = {look_up("figure", name, KINDS) for name in kinds} or set(KINDS.values())
    figures = []
    taken: set[str] = set()
    for kind in KINDS.values():
        if kind in wanted:
            for of, name in kind.plan(tasks):
                while name in taken:  # two folders of one name
                    name += "-again"
                taken.add(name)
                figures.append(kind(of, name, runs))
    return sorted(figures, key=lambda figure: figure.turn(tasks))


def slug(task: Task) -> str:
    """A task's name, fit for a file's.

    Examples
    --------
    >>> slug(Task("./my pictures/", "mine", "./my pictures/"))
    'my-pictures'
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", Path(task.name).name).strip("-.") or "data"
