"""The report: one HTML file that shows a clustering, its pictures, and why each is in its cluster.

Data flow one way: model, pictures and originals -> `collect` (everything that is computed) ->
`payload` (numbers and sprite sheets, packed) -> `page` (one file) -> the browser, which draws and
warps by itself. See docs/report.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dikmeans._typing import PathLike
from dikmeans.datasets import ImageSet
from dikmeans.errors import MissingExtraError
from dikmeans.io.atomic import atomic_write
from dikmeans.kmeans.shard import Assignment
from dikmeans.report.collect import Extent, ReportProgress, collect_contents
from dikmeans.report.page import build_page
from dikmeans.report.payload import pack
from dikmeans.runs.originals import ArrayOriginals, Originals
from dikmeans.runs.portraits import Portraits

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

__all__ = ["write_report"]


def write_report(
    path: PathLike,
    model: DIKMeans,
    image_set: ImageSet,
    *,
    originals: Originals | None = None,
    assignment: Assignment | None = None,
    portraits: Portraits | None = None,
    max_pictures: int = 2000,
    title: str | None = None,
    links: bool = False,
    progress: ReportProgress | None = None,
) -> Path:
    """Write the interactive report of a clustering: one HTML file that needs no network.

    Parameters
    ----------
    path : str or path-like
        Where the page goes; an existing file is replaced once the new one is complete.
    model : DIKMeans
        A fitted model.
    image_set : ImageSet
        The pictures to show: those the model was fitted on, or others of the same size.
    originals : Originals, optional
        The pictures as people know them: files in color and full resolution, see
        `dikmeans.runs.find_originals`. By default the image set as it is before preprocessing.
    assignment : Assignment, optional
        The assignment of these pictures. For those the model was fitted on pass
        ``model.assignment_``, and they are not aligned again. By default ``model.assign(images)``.
    portraits : Portraits, optional
        What the prototypes look like, if it is known: ``run.portraits`` of a run that has just
        been written. By default they are made from the originals.
    max_pictures : int, default=2000
        If there are more pictures than this, the page shows a sample, the same share of each
        cluster, and says so. Sizes, costs and the confusion matrix always count all pictures.
    title : str, optional
        By default the title of the image set.
    links : bool, default=False
        Link each picture to its file on this computer. The page then tells whoever gets it where
        the files lie.
    progress : callable, optional
        Called with the fraction that is done and the name of the next step.

    Returns
    -------
    path : pathlib.Path
    """
    if max_pictures < 1:
        raise ValueError(f"max_pictures={max_pictures!r}: at least one picture must be shown.")
    if len(image_set) == 0:
        raise ValueError("There are no pictures to report on: the image set is empty.")
    if assignment is not None and len(assignment.labels) != len(image_set):
        raise ValueError(
            f"assignment is of {len(assignment.labels)} pictures, but the image set has "
            f"{len(image_set)}."
        )
    try:
        import PIL  # noqa: F401 -- checked before the work begins, not after it
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "The report") from error
    if image_set.labels is not None and (image_set.labels == image_set.labels[0]).all():
        image_set = replace(image_set, labels=None)  # one label for all tells nothing
    tell = progress or (lambda fraction, text: None)
    if originals is None:
        originals = ArrayOriginals(image_set.images)
    if len(originals) != len(image_set):
        raise ValueError(f"There are {len(originals)} originals of {len(image_set)} pictures.")
    extent = Extent(portraits=portraits)
    contents = collect_contents(model, image_set, originals, assignment, max_pictures, tell, extent)
    tell(0.95, "writing the page")
    payload = pack(contents, image_set, originals, title or image_set.card.title, links=links)
    page = build_page(payload)
    path = Path(path)
    with atomic_write(path) as stream:
        stream.write(page.encode())
    tell(1.0, "done")
    return path
