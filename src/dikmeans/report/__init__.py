"""The report: one HTML file that shows a clustering, its pictures and why each landed where it did.

Data flows one way: model and pictures -> `collect` (all that is computed) -> `payload` (numbers and sprite
sheets, packed) -> `page` (one file) -> the browser, which draws and warps by itself. See docs/report.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dikmeans.datasets import ImageSet
from dikmeans.datasets.errors import missing_extra
from dikmeans.io.atomic import atomic_write
from dikmeans.report.collect import collect
from dikmeans.report.page import build_page
from dikmeans.report.payload import pack

__all__ = ["write_report"]


def write_report(
    path: Any,
    model: Any,
    image_set: ImageSet,
    *,
    max_pictures: int = 2000,
    title: str | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Path:
    """Write the interactive report of a clustering: one HTML file that needs no network.

    Parameters
    ----------
    path : str or path-like
        Where the page goes; a file that is there is replaced once the new one is complete.
    model : DIKMeans
        A fitted model.
    image_set : ImageSet
        The pictures to show: those the model was fitted on, or others of their size.
    max_pictures : int, default=2000
        Of more pictures than this a sample is shown, the same share of each cluster, and the page says so.
        Sizes, costs and the confusion matrix always count all pictures.
    title : str, optional
        By default the title of the image set.
    progress : callable, optional
        Called with a fraction and what is being done.

    Returns
    -------
    path : pathlib.Path
    """
    if max_pictures < 1:
        raise ValueError(f"max_pictures={max_pictures!r}: at least one picture must be shown.")
    if len(image_set) == 0:
        raise ValueError("There are no pictures to report on: the image set is empty.")
    try:
        import PIL  # noqa: F401 -- said before a minute of work, not after it
    except ImportError as error:
        raise missing_extra("pillow", "images", "The report") from error
    tell = progress or (lambda fraction, text: None)
    findings = collect(model, image_set, max_pictures, tell)
    tell(0.95, "writing the page")
    page = build_page(pack(findings, image_set, title or image_set.card.title))
    path = Path(path)
    with atomic_write(path) as stream:
        stream.write(page.encode())
    tell(1.0, "done")
    return path
