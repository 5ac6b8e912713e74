"""Pictures that are dropped onto the page: assigned as `predict` does, shown with their warps."""

from __future__ import annotations

import tempfile
import warnings
from collections import OrderedDict
from pathlib import Path, PurePath

import numpy as np

from dikmeans._typing import JSON
from dikmeans.datasets import DataError
from dikmeans.runs import find_originals
from dikmeans.studio.members import costs_to_clusters
from dikmeans.studio.report_pages import new_pictures_page
from dikmeans.studio.session import Session, View

MAX_PICTURES = 100
# Pages of the latest drops are kept.
MAX_PAGES = 8


class Newcomers:
    """The pictures that were dropped, while the studio runs: nothing is added to the run."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, str] = OrderedDict()
        self._n_drops = 0

    def page(self, drop: int) -> str | None:
        """The page of the pictures of a drop; None if it is not kept any more."""
        return self._pages.get(drop)

    def assign(self, session: Session, view: View, files: list[tuple[str, bytes]]) -> JSON:
        """Assign pictures, given by name and content.

        Raises
        ------
        DataError
            One of them is no picture.
        """
        with tempfile.TemporaryDirectory(prefix="dikmeans-") as folder:
            for number, (name, content) in enumerate(files):
                # the name is kept to be seen; it decides nothing about the place
                safe = f"{number:03d}{PurePath(name).suffix.lower()[:8]}"
                (Path(folder) / safe).write_bytes(content)
            source = session.run.source.like(folder, "train", session.model.image_shape_)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                images = source.load()
            if len(images) != len(files):
                raise DataError(
                    f"{len(files) - len(images)} of {len(files)} files are no pictures."
                )
            originals = find_originals(images, source)
            assignment = session.model.assign(images.images)
            page = new_pictures_page(session, view, images, originals, assignment)
        self._n_drops += 1
        self._pages[self._n_drops] = page
        while len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)
        costs = costs_to_clusters(session, view, images.images)
        clusters = view.state.clusters
        return {
            "drop": self._n_drops,
            "pictures": [
                {
                    "file": name,
                    "cluster": clusters[int(np.argmin(row))].id,
                    "isOutlier": bool(label < 0),
                    "cost": float(row.min() / session.energy),
                }
                for (name, _), row, label in zip(files, costs, assignment.labels, strict=True)
            ],
        }
