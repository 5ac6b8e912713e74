"""The edits that a person can make, as data: each knows its JSON, and how to apply itself."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import ClassVar

import numpy as np

from dikmeans._typing import JSON
from dikmeans.edits.state import OUTSIDE, EditedCluster, EditedState, EditError


@dataclass(frozen=True)
class Edit(ABC):
    """Something a person does to a clustering.

    Attributes
    ----------
    kind : str
        Its name in files.
    """

    kind: ClassVar[str]

    @abstractmethod
    def apply(self, state: EditedState) -> EditedState:
        """The state after it; `EditError` if it cannot be made."""

    def completed(self) -> Edit:
        """With everything that has to be chosen once, so that it can be replayed."""
        return self

    def carried(self, before: EditedState) -> tuple[Edit, ...]:
        """Edits that mean the same where the clusters have been fitted again.

        Parameters
        ----------
        before : EditedState
            What it was made in: numbers of prototypes, and where pictures were, may differ now.
        """
        return (self,)

    def to_json(self) -> JSON:
        """As it is kept in files."""
        values = {name: value for name, value in asdict(self).items() if value not in ((), None)}
        return {"kind": self.kind, **values}


@dataclass(frozen=True)
class Rename(Edit):
    """Give a cluster a name; None takes it away."""

    cluster: str
    name: str | None
    kind: ClassVar[str] = "rename"

    def apply(self, state: EditedState) -> EditedState:
        """The cluster has the name."""
        place = state.place_of(self.cluster)
        if self.name is not None and not self.name.strip():
            raise EditError(f"The name for cluster {self.cluster!r} is empty.")
        return state.with_cluster(place, replace(state.clusters[place], name=self.name))


@dataclass(frozen=True)
class Merge(Edit):
    """Let clusters become part of another, which keeps its name and identity."""

    clusters: tuple[str, ...]
    into: str
    kind: ClassVar[str] = "merge"

    def apply(self, state: EditedState) -> EditedState:
        """All images and prototypes are in the other cluster."""
        if not self.clusters or self.into in self.clusters:
            raise EditError(f"A merge into {self.into!r} needs other clusters.")
        for identity in self.clusters:
            source, target = state.place_of(identity), state.place_of(self.into)
            merged, kept = state.clusters[source], state.clusters[target]
            # a cluster of chosen images has no prototypes, and lends none
            both = kept.prototypes + merged.prototypes
            joined = replace(kept, prototypes=both, notes=kept.notes + merged.notes)
            state = state.with_cluster(target, joined)
            state = state.with_images(state.members_of(identity), target, decided=False)
            state = state.without_cluster(source)
        return state


@dataclass(frozen=True)
class Split(Edit):
    """Make a new cluster of some prototypes of a cluster, or of some of its images.

    Attributes
    ----------
    cluster : str
    prototypes : tuple of int
        By place among the prototypes of the cluster, from 0.
    files : tuple of str
        Names of images, if the split is not by prototype.
    name : str or None
        Of the new cluster.
    new : str or None
        Its identity; chosen when the edit is made.
    """

    cluster: str
    prototypes: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    name: str | None = None
    new: str | None = None
    kind: ClassVar[str] = "split"

    def completed(self) -> Split:
        """With an identity for the new cluster."""
        return self if self.new else replace(self, new=f"c{secrets.token_hex(4)}")

    def apply(self, state: EditedState) -> EditedState:
        """The new cluster has what was chosen, the old one the rest."""
        if bool(self.prototypes) == bool(self.files):
            raise EditError(
                f"A split of {self.cluster!r} is by prototypes or by pictures: name one of them."
            )
        return self._by_prototypes(state) if self.prototypes else self._by_files(state)

    def carried(self, before: EditedState) -> tuple[Edit, ...]:
        """By the pictures that left, wherever they are now."""
        files = self.files
        if self.prototypes:
            leaving = self._leaving(before)
            files = tuple(file for file, number in before.files.items() if number in leaving)
            if not files:
                raise EditError(f"What was split off from {self.cluster!r} has no picture.")
        return Move(files, self.cluster), replace(self, prototypes=(), files=files)

    def _leaving(self, state: EditedState) -> set[int]:
        """Pictures that go with the prototypes: those that nobody has decided on."""
        old = state.clusters[state.place_of(self.cluster)]
        chosen = [old.prototypes[place] for place in self.prototypes]
        members = state.members_of(self.cluster)
        nearest = np.isin(state.nearest[members], chosen)
        return set(members[nearest & ~state.decided[members]].tolist())

    def _by_prototypes(self, state: EditedState) -> EditedState:
        place = state.place_of(self.cluster)
        old = state.clusters[place]
        odd = [p for p in self.prototypes if not 0 <= p < len(old.prototypes)]
        if odd:
            raise EditError(
                f"Cluster {self.cluster!r} has {len(old.prototypes)} prototypes, from 0; there is "
                f"no prototype {odd[0]}."
            )
        chosen = tuple(old.prototypes[p] for p in sorted(set(self.prototypes)))
        rest = tuple(p for p in old.prototypes if p not in chosen)
        if not rest:
            raise EditError(f"A split must leave cluster {self.cluster!r} a prototype.")
        leaving = np.array(sorted(self._leaving(state)), dtype=np.int64)
        state = state.with_cluster(place, replace(old, prototypes=rest))
        state = state.with_new_cluster(self._cluster(chosen))
        return state.with_images(leaving, len(state.clusters) - 1, decided=False)

    def _by_files(self, state: EditedState) -> EditedState:
        place, numbers = state.place_of(self.cluster), state.numbers_of(self.files)
        elsewhere = numbers[state.labels[numbers] != place]
        if len(elsewhere):
            files = [file for file in self.files if state.files[file] == elsewhere[0]]
            raise EditError(f"Picture {files[0]!r} is not in cluster {self.cluster!r}.")
        if len(numbers) == (state.labels == place).sum():
            raise EditError(f"A split must leave cluster {self.cluster!r} a picture.")
        state = state.with_new_cluster(self._cluster(()))
        return state.with_images(numbers, len(state.clusters) - 1, decided=True)

    def _cluster(self, prototypes: tuple[int, ...]) -> EditedCluster:
        if self.new is None:
            raise EditError("The new cluster of a split has no identity yet.")
        return EditedCluster(self.new, self.name, prototypes)


@dataclass(frozen=True)
class Move(Edit):
    """Put images into a cluster; they stay there."""

    files: tuple[str, ...]
    to: str
    kind: ClassVar[str] = "move"

    def apply(self, state: EditedState) -> EditedState:
        """The images are in the cluster."""
        return _put(state, self.files, state.place_of(self.to))


@dataclass(frozen=True)
class Reject(Edit):
    """Say of images that they belong to no cluster."""

    files: tuple[str, ...]
    kind: ClassVar[str] = "reject"

    def apply(self, state: EditedState) -> EditedState:
        """The images are outliers."""
        return _put(state, self.files, OUTSIDE)


@dataclass(frozen=True)
class Pin(Edit):
    """Confirm that images are where they belong."""

    files: tuple[str, ...]
    kind: ClassVar[str] = "pin"

    def carried(self, before: EditedState) -> tuple[Edit, ...]:
        """They belong where they were when it was said."""
        ids = [*(cluster.id for cluster in before.clusters), None]  # -1: none
        files_of: dict[str | None, list[str]] = {}
        for file in self.files:
            home = ids[int(before.labels[before.files[file]])]
            files_of.setdefault(home, []).append(file)
        return tuple(
            Reject(tuple(files)) if home is None else Move(tuple(files), home)
            for home, files in files_of.items()
        )

    def apply(self, state: EditedState) -> EditedState:
        """The images stay where they are."""
        numbers = state.numbers_of(self.files)
        decided = state.decided.copy()
        decided[numbers] = True
        return replace(state, decided=decided)


@dataclass(frozen=True)
class Note(Edit):
    """Write something down about a cluster, or about images."""

    text: str
    cluster: str | None = None
    files: tuple[str, ...] = ()
    kind: ClassVar[str] = "note"

    def apply(self, state: EditedState) -> EditedState:
        """The note is kept; no image moves."""
        if (self.cluster is None) == (not self.files):
            raise EditError("A note is on a cluster or on pictures: name one of them.")
        if self.cluster is None:
            state.numbers_of(self.files)
            return replace(state, notes=(*state.notes, *((f, self.text) for f in self.files)))
        place = state.place_of(self.cluster)
        cluster = state.clusters[place]
        return state.with_cluster(place, replace(cluster, notes=(*cluster.notes, self.text)))


def _put(state: EditedState, files: tuple[str, ...], place: int) -> EditedState:
    """Images in another place, where they stay; the clusters that they leave must keep one."""
    numbers = state.numbers_of(files)
    left = np.unique(state.labels[numbers])
    state = state.with_images(numbers, place, decided=True)
    state.check_filled(left[left >= 0].tolist())
    return state


EDITS: dict[str, type[Edit]] = {
    kind.kind: kind for kind in (Rename, Merge, Split, Move, Reject, Pin, Note)
}


def edit_from_json(record: object) -> Edit:
    """The edit that `Edit.to_json` has described; `EditError` for anything else."""
    if not isinstance(record, dict) or record.get("kind") not in EDITS:
        kind = record.get("kind") if isinstance(record, dict) else record
        raise EditError(f"{str(kind)[:60]!r} is no kind of edit: they are {', '.join(EDITS)}.")
    values = dict(record)
    kind = EDITS[values.pop("kind")]
    known = {entry.name: entry for entry in fields(kind)}
    odd = sorted(set(values) - set(known))
    if odd:
        raise EditError(f"An edit of kind {kind.kind!r} has no entry {odd[0]!r}.")
    for name, entry in known.items():
        if name not in values:
            if entry.default is MISSING and name != "name":
                raise EditError(f"An edit of kind {kind.kind!r} needs the entry {name!r}.")
            values[name] = None if entry.default is MISSING else entry.default
        values[name] = _parsed(kind, name, values[name])
    return kind(**values)


_LISTS = {"clusters": str, "files": str, "prototypes": int}


def _parsed(kind: type[Edit], name: str, value: object) -> object:
    """The value of an entry, checked."""
    item = _LISTS.get(name)
    if item is None:
        required = name in ("cluster", "into", "to", "text") and not (
            name == "cluster" and kind is Note
        )
        if isinstance(value, str) or (value is None and not required):
            return value
        raise EditError(f"{name!r} in an edit of kind {kind.kind!r} should be a text.")
    if not isinstance(value, list | tuple) or any(type(part) is not item for part in value):
        what = "texts" if item is str else "whole numbers"
        raise EditError(f"{name!r} in an edit of kind {kind.kind!r} should be a list of {what}.")
    return tuple(value)
