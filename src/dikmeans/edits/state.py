"""A clustering with a person's edits applied to it: nothing is fitted, so it is there at once.

Clusters are known by identities (`EditedCluster.id`) that never change, apart from their names and
from the numbers that a model gives them. A state is a value: an edit takes one and returns another.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dikmeans._typing import JSON, BoolArray, IntArray
from dikmeans.errors import DikmeansError
from dikmeans.estimator import DIKMeans
from dikmeans.kmeans.guidance import FREE, REJECTED
from dikmeans.refinement import Corrections


class EditError(DikmeansError, ValueError):
    """An edit that cannot be made: it names something that is not there, or makes no sense.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class EditedCluster:
    """A cluster as a person sees it.

    Attributes
    ----------
    id : str
        Stays, whatever happens.
    name : str or None
        As a person has named it.
    prototypes : tuple of int
        Its prototypes, by number among those of the model; none if it is made of chosen images.
    notes : tuple of str
    """

    id: str
    name: str | None
    prototypes: tuple[int, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EditedState:
    """All clusters and where every image is.

    Attributes
    ----------
    files : mapping from str to int
        Number of each image by its name.
    clusters : tuple of EditedCluster
    labels : int array of shape (N,)
        Place, among `clusters`, of the cluster of each image; -1 if it belongs to none.
    decided : bool array of shape (N,)
        Whether a person has said so.
    nearest : int array of shape (N,)
        The nearest prototype of each image.
    notes : tuple of (file, text)
        Notes on images.
    """

    files: Mapping[str, int]
    clusters: tuple[EditedCluster, ...]
    labels: IntArray
    decided: BoolArray
    nearest: IntArray
    notes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_model(cls, model: DIKMeans, names: Sequence[str]) -> EditedState:
        """Nothing edited yet."""
        owners = model.prototype_clusters_
        clusters = tuple(
            EditedCluster(identity, name, tuple(np.flatnonzero(owners == k).tolist()))
            for k, (identity, name) in enumerate(
                zip(model.cluster_ids_, model.cluster_names_, strict=True)
            )
        )
        return cls(
            {name: number for number, name in enumerate(names)},
            clusters,
            model.labels_.astype(np.int64),
            model.decided_ != FREE,
            model.assignment_.prototypes.astype(np.int64),
        )

    # -- reading -------------------------------------------------------------------------------

    def place_of(self, identity: str) -> int:
        """Where a cluster is among `clusters`."""
        for place, cluster in enumerate(self.clusters):
            if cluster.id == identity:
                return place
        known = [cluster.id for cluster in self.clusters]
        raise EditError(f"There is no cluster {identity!r}.{_hint(identity, known)}")

    def numbers_of(self, files: Iterable[str]) -> IntArray:
        """Numbers of images by their names, ascending."""
        unknown = [file for file in files if file not in self.files]
        if unknown:
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            hint = _hint(unknown[0], self.files)
            raise EditError(f"There is no picture {unknown[0]!r}{more} in the run.{hint}")
        numbers = np.unique(np.array([self.files[file] for file in files], dtype=np.int64))
        if not len(numbers):
            raise EditError("It names no picture.")
        return numbers

    def members_of(self, identity: str) -> IntArray:
        """Numbers of the images of a cluster."""
        return np.flatnonzero(self.labels == self.place_of(identity))

    def corrections(self) -> Corrections:
        """What a refinement should start from."""
        placed = np.flatnonzero(self.decided & (self.labels >= 0)).tolist()
        return Corrections(
            tuple(cluster.prototypes for cluster in self.clusters),
            pinned={number: int(self.labels[number]) for number in placed},
            rejected=frozenset(np.flatnonzero(self.decided & (self.labels < 0)).tolist()),
            ids=tuple(cluster.id for cluster in self.clusters),
            names=tuple(cluster.name for cluster in self.clusters),
        )

    def notes_as_json(self) -> JSON:
        """All notes, as `with_notes` reads them."""
        clusters = {cluster.id: list(cluster.notes) for cluster in self.clusters if cluster.notes}
        return {"clusters": clusters, "files": [list(note) for note in self.notes]}

    # -- changing ------------------------------------------------------------------------------

    def with_notes(self, notes: JSON) -> EditedState:
        """With notes that `notes_as_json` has returned; ValueError for anything else."""
        by_cluster = {str(key): tuple(map(str, texts)) for key, texts in notes["clusters"].items()}
        on_files = tuple((str(file), str(text)) for file, text in notes["files"])
        if any(file not in self.files for file, _ in on_files):
            raise ValueError("it has notes on pictures that are not in the run")
        clusters = [replace(c, notes=by_cluster.get(c.id, ())) for c in self.clusters]
        return replace(self, clusters=tuple(clusters), notes=on_files)

    def with_cluster(self, place: int, cluster: EditedCluster) -> EditedState:
        """With another cluster in a place."""
        clusters = list(self.clusters)
        clusters[place] = cluster
        return replace(self, clusters=tuple(clusters))

    def with_new_cluster(self, cluster: EditedCluster) -> EditedState:
        """With one cluster more, still without images."""
        if any(cluster.id == other.id for other in self.clusters):
            raise EditError(f"There is a cluster {cluster.id!r} already.")
        return replace(self, clusters=(*self.clusters, cluster))

    def without_cluster(self, place: int) -> EditedState:
        """Without a cluster that has no images; those behind it move up."""
        assert not (self.labels == place).any()
        clusters = self.clusters[:place] + self.clusters[place + 1 :]
        labels = np.where(self.labels > place, self.labels - 1, self.labels)
        return replace(self, clusters=clusters, labels=labels)

    def with_images(self, numbers: IntArray, place: int, *, decided: bool) -> EditedState:
        """With images in a cluster, or -1 for none; `decided` if a person has chosen them."""
        labels, by_person = self.labels.copy(), self.decided.copy()
        labels[numbers] = place
        by_person[numbers] |= decided
        return replace(self, labels=labels, decided=by_person)

    def check_filled(self, places: Iterable[int]) -> None:
        """Raise `EditError` if a cluster without prototypes has lost all its images."""
        for place in places:
            cluster = self.clusters[place]
            if not cluster.prototypes and not (self.labels == place).any():
                raise EditError(
                    f"Cluster {cluster.id!r} would have no picture left: merge it instead."
                )


def _hint(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


OUTSIDE = REJECTED
"""The place of images that belong to no cluster."""
