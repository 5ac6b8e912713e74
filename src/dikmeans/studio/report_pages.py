"""Pages of the report inside the studio: some pictures with their warps, or the map."""

from __future__ import annotations

from dataclasses import replace

from dikmeans._typing import IntArray
from dikmeans.datasets import ImageSet
from dikmeans.kmeans.shard import Assignment
from dikmeans.report.collect import Extent, ReportProgress, collect_contents
from dikmeans.report.page import build_page
from dikmeans.report.payload import pack
from dikmeans.runs import Originals
from dikmeans.runs.originals import SelectedOriginals
from dikmeans.studio.session import Session, View


def pictures_page(session: Session, view: View, numbers: IntArray) -> str:
    """The report on some pictures of the run: how they fit their centroids, and the next-best."""
    originals = SelectedOriginals(session.originals, numbers.tolist())
    assignment = session.model.assignment_.subset(numbers)
    return new_pictures_page(session, view, session.images.subset(numbers), originals, assignment)


def new_pictures_page(
    session: Session, view: View, images: ImageSet, originals: Originals, assignment: Assignment
) -> str:
    """The report on pictures that the model was not fitted on."""
    extent = Extent(
        baseline=False,
        likeness=False,
        map=False,
        portraits=session.portraits,
        names=session.titles_of_model(view),
    )
    return _page(session, images, originals, assignment, len(images), extent, _silent)


def map_page(session: Session, view: View, max_pictures: int, tell: ReportProgress) -> str:
    """The report on the whole run, for its map and for how alike clusters are."""
    extent = Extent(
        baseline=False, portraits=session.portraits, names=session.titles_of_model(view)
    )
    assignment = session.model.assignment_
    return _page(session, session.images, session.originals, assignment, max_pictures, extent, tell)


def _page(
    session: Session,
    images: ImageSet,
    originals: Originals,
    assignment: Assignment,
    max_pictures: int,
    extent: Extent,
    tell: ReportProgress,
) -> str:
    unlabeled = replace(images, labels=None, class_names=())
    contents = collect_contents(
        session.model,
        unlabeled,
        originals,
        assignment,
        max_pictures,
        tell,
        extent,
    )
    contents = replace(contents, energy=session.energy)
    return build_page(pack(contents, unlabeled, originals, images.card.title), embedded=True)


def _silent(fraction: float, text: str) -> None:
    """Nobody waits long enough to be told."""
