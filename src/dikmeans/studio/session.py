"""A run that is open in the studio: its pictures, its edits, and what pages ask about them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from dikmeans._typing import JSON, FloatArray, IntArray
from dikmeans.datasets import ImageSet
from dikmeans.edits import Edit, EditedCluster, EditedState, Journal, Timeline, unedited_state
from dikmeans.report.likeness import Likeness, compare_clusters
from dikmeans.runs import Originals, RunFolder, open_run
from dikmeans.runs.portraits import Portraits, make_portraits

NUMBERED = re.compile(r"c\d{1,6}")
PORTRAIT_SIDE = 160
# Along a side of a picture, when it is looked at roughly.
PATCHES = 8


def cluster_title(cluster: EditedCluster) -> str:
    """What a cluster is called: by its name, or by its identity.

    Examples
    --------
    >>> cluster_title(EditedCluster("c3", None, ())), cluster_title(EditedCluster("c3", "A", ()))
    ('Cluster 3', 'A')
    """
    if cluster.name is not None:
        return cluster.name
    if NUMBERED.fullmatch(cluster.id):
        return f"Cluster {cluster.id[1:]}"
    return f"New cluster {cluster.id[1:4]}"


class View(NamedTuple):
    """The state at one moment: it never changes, so that it can be read without a lock."""

    revision: int
    state: EditedState
    timeline: Timeline


class StaleError(Exception):
    """An edit was made by someone who has not seen the latest state."""


class Session:
    """A run, open for editing.

    Parameters
    ----------
    run : RunFolder
    images : ImageSet
    originals : Originals

    Raises
    ------
    JournalError
        Another program is editing the run.
    """

    def __init__(self, run: RunFolder, images: ImageSet, originals: Originals):
        self.run, self.images, self.originals = run, images, originals
        self.model = run.model
        self._journal = Journal(run.path, unedited_state(run))
        self._is_closed = False
        self._lock = threading.Lock()
        self._slow = threading.Lock()
        self.view = View(0, self._journal.state, self._journal.timeline)

    @classmethod
    def open(cls, path: Path, moved_to: str | None = None) -> Self:
        """Open the run in a folder; `moved_to` is where its pictures are now."""
        run = open_run(path)
        images = run.load_images(moved_to)
        return cls(run, images, run.find_originals(images, moved_to))

    def close(self) -> View:
        """Let others edit the run; returns what it was like in the end."""
        with self._lock:
            self._is_closed = True
            self._journal.__exit__()
            return self.view

    # -- edits ---------------------------------------------------------------------------------

    def edit(self, edits: list[Edit], revision: int | None = None) -> View:
        """Make edits, all or none; they are on the disk when this returns."""
        return self._change(lambda: self._journal.append(edits), revision)

    def undo(self, revision: int | None = None) -> View:
        """Take the last edit back."""
        return self._change(self._journal.undo, revision)

    def redo(self, revision: int | None = None) -> View:
        """Make the edit that was undone last again."""
        return self._change(self._journal.redo, revision)

    def _change(self, change: Callable[[], object], revision: int | None) -> View:
        with self._lock:
            if self._is_closed or (revision is not None and revision != self.view.revision):
                raise StaleError
            change()
            self.view = View(self.view.revision + 1, self._journal.state, self._journal.timeline)
            return self.view

    # -- what takes a while, computed once -----------------------------------------------------

    @cached_property
    def energy(self) -> float:
        """Mean squared norm of a picture as it is compared: the unit of costs, as in the report."""
        compared = self.preprocessed.reshape(len(self.images), -1)
        return float(np.square(compared).sum(axis=1, dtype=np.float64).mean()) or 1.0

    @cached_property
    def preprocessed(self) -> FloatArray:
        """All pictures as they are compared, (N, channels, rows, columns)."""
        return self.model.preprocess(self.images.images)

    @cached_property
    def blurred(self) -> FloatArray:
        """All pictures as they are compared, as means over patches: one row of numbers each."""
        n, _, rows, columns = self.preprocessed.shape
        down, across = max(1, rows // PATCHES), max(1, columns // PATCHES)
        cut = self.preprocessed[:, :, : rows // down * down, : columns // across * across]
        patches = cut.reshape(n, -1, rows // down, down, columns // across, across)
        means: FloatArray = patches.mean(axis=(3, 5)).reshape(n, -1)
        return means

    @cached_property
    def _portraits(self) -> Portraits:
        return make_portraits(self.model, self.images, self.originals, largest_side=PORTRAIT_SIDE)

    @property
    def portraits(self) -> Portraits:
        """What the prototypes look like."""
        with self._slow:
            return self._portraits

    @cached_property
    def _likeness(self) -> Likeness | None:
        warp = self.model.align(self.images.images[:1]).warp
        return compare_clusters(self.model, warp)

    @property
    def likeness(self) -> Likeness | None:
        """How alike the clusters of the model are."""
        with self._slow:
            return self._likeness

    # -- what pages ask ------------------------------------------------------------------------

    def owners(self, view: View) -> IntArray:
        """The place, among the edited clusters, of the cluster that has each prototype."""
        places = np.full(len(self.model.prototypes_), -1)
        for place, cluster in enumerate(view.state.clusters):
            places[list(cluster.prototypes)] = place
        return places

    def _places_of_model(self, view: View) -> list[int]:
        """Where the clusters of the model, or rather their first prototypes, are now."""
        owners, former = self.owners(view), self.model.prototype_clusters_
        return [int(owners[former == k][0]) for k in range(self.model.n_clusters)]

    def titles_of_model(self, view: View) -> list[str]:
        """What the clusters of the model are called now."""
        places = self._places_of_model(view)
        return [cluster_title(view.state.clusters[place]) for place in places]

    def ids_of_model(self, view: View) -> list[str]:
        """Identities of the clusters that the clusters of the model have become."""
        return [view.state.clusters[place].id for place in self._places_of_model(view)]

    def face_of(self, view: View, place: int) -> JSON:
        """What a cluster is shown by: a prototype, or a picture if it has none."""
        cluster = view.state.clusters[place]
        members = np.flatnonzero(view.state.labels == place)
        prototypes = list(cluster.prototypes)
        if prototypes:
            near = np.bincount(view.state.nearest[members], minlength=len(self.model.prototypes_))
            return {"prototype": prototypes[int(np.argmax(near[prototypes]))]}
        costs = self.model.assignment_.costs[members]
        return {"picture": int(members[np.argmin(costs)])} if len(members) else {}

    def clusters_json(self, view: View) -> list[JSON]:
        """All clusters: identity, name, size, mean cost, prototypes, face."""
        state, costs = view.state, self.model.assignment_.costs
        n = len(state.clusters)
        inside = state.labels >= 0
        sizes = np.bincount(state.labels[inside], minlength=n)
        sums = np.bincount(state.labels[inside], costs[inside], minlength=n)
        decided = np.bincount(state.labels[inside & state.decided], minlength=n)
        return [
            {
                "id": cluster.id,
                "name": cluster.name,
                "title": cluster_title(cluster),
                "size": int(sizes[place]),
                "decided": int(decided[place]),
                "cost": float(sums[place] / sizes[place] / self.energy) if sizes[place] else None,
                "prototypes": list(cluster.prototypes),
                "notes": list(cluster.notes),
                "face": self.face_of(view, place),
            }
            for place, cluster in enumerate(state.clusters)
        ]

    def state_json(self) -> JSON:
        """What every page has to know."""
        view = self.view
        active, undone = view.timeline.active, view.timeline.undone
        return {
            "revision": view.revision,
            "run": self.run.path.name,
            "title": self.images.card.title,
            "nPictures": len(self.images),
            "nOutliers": int((view.state.labels < 0).sum()),
            "nEdits": len(active),
            "undo": active[-1].kind if active else None,
            "redo": undone[-1].kind if undone else None,
            "clusters": self.clusters_json(view),
            "modelIds": self.ids_of_model(view),
            "labels": list(self.images.class_names) if self.images.labels is not None else None,
            "nProblems": len(self.originals.problems),
        }
