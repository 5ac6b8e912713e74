"""Refine a run by its edits: a new run, and what has changed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dikmeans._typing import JSON, FloatArray, PathLike
from dikmeans.edits.edit import Edit
from dikmeans.edits.journal import JOURNAL, Timeline, header_for, read_timeline
from dikmeans.edits.state import EditedState, EditError
from dikmeans.estimator import DIKMeans
from dikmeans.kmeans.guidance import FREE
from dikmeans.parallel.cancel import IsCancelled, cancellable
from dikmeans.refinement import (
    MAX_ITERATIONS,
    RefinementSink,
    Resistance,
    find_resistance,
    refine,
)
from dikmeans.runs import RunFolder, check_place, open_run, write_run
from dikmeans.runs.run_folder import REFINEMENT


@dataclass(frozen=True)
class Flow:
    """Images that went from one cluster to another.

    Attributes
    ----------
    source, target : str or None
        Identities of the clusters; None for no cluster.
    count : int
    """

    source: str | None
    target: str | None
    count: int


@dataclass(frozen=True)
class Changes:
    """What a refinement has changed.

    Attributes
    ----------
    n_images : int
    edited : tuple of Flow
        By the edits themselves: from the run to its edited state.
    moved : tuple of Flow
        By the refinement: from the edited state to the refined run; the largest first.
    resisted : tuple of Resistance
        Decisions that the data speaks against, the strongest first.
    """

    n_images: int
    edited: tuple[Flow, ...]
    moved: tuple[Flow, ...]
    resisted: tuple[Resistance, ...]

    @property
    def n_moved(self) -> int:
        """Images that the refinement has moved."""
        return sum(flow.count for flow in self.moved)


@dataclass(frozen=True)
class RefinedRun:
    """A refined run, and what has changed."""

    run: RunFolder
    changes: Changes


def unedited_state(run: RunFolder) -> EditedState:
    """A run before any edit of its own; notes on the runs that it was refined from are kept.

    Raises
    ------
    EditError
        What the refinement has written about its notes is damaged.
    """
    state = EditedState.of_model(run.model, run.names)
    path = run.path / REFINEMENT
    if not path.exists():
        return state
    try:
        notes = json.loads(path.read_text("ascii")).get("notes")
        return state if notes is None else state.with_notes(notes)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise EditError(f"{path} is damaged ({error}). Remove it; its notes are lost.") from error


def edited_state(run: RunFolder, edits: Iterable[Edit] | None = None) -> EditedState:
    """A run with edits applied; by default those of its journal. Nothing is fitted.

    Raises
    ------
    EditError
        An edit cannot be made.
    JournalError
        The journal is damaged.
    """
    start = unedited_state(run)
    if edits is None:
        timeline, _ = read_timeline(run.path / JOURNAL, header_for(start))
        return timeline.replay(start)
    return Timeline(tuple(edit.completed() for edit in edits)).replay(start)


def refine_run(
    run: RunFolder | PathLike,
    output: PathLike,
    *,
    edits: Iterable[Edit] | None = None,
    images_from: str | None = None,
    replace: bool = False,
    max_iter: int = MAX_ITERATIONS,
    progress: RefinementSink | None = None,
    is_cancelled: IsCancelled | None = None,
) -> RefinedRun:
    """Fit a run again from its edited state, and write the result as a new run.

    Parameters
    ----------
    run : RunFolder or path-like
    output : path-like
        The folder of the new run.
    edits : iterable of Edit, optional
        By default those in the journal of the run.
    images_from : str, optional
        Where the images of the run are now, if they have moved.
    replace : bool, default=False
        Replace a run that exists already.
    max_iter : int, default=10
    progress : callable, optional
        Called after every iteration.
    is_cancelled : callable, optional
        Asked all the time; once it returns True, `Cancelled` is raised and nothing is written.
    """
    opened = run if isinstance(run, RunFolder) else open_run(run)
    if Path(output).expanduser().resolve() == opened.path.resolve():
        raise EditError("The refined run needs another folder than the run it is made from.")
    check_place(output, replace=replace)
    state = edited_state(opened, edits)
    images = opened.load_images(images_from)
    clock = time.perf_counter()
    with cancellable(is_cancelled):
        model = refine(
            opened.model, images.images, state.corrections(), max_iter=max_iter, progress=progress
        )
        changes = compare(opened.model, state, model, images.images)
        record = {
            "from": str(opened.path.resolve()),
            **changes_as_json(changes, images.names, model),
            "notes": state.notes_as_json(),
        }
        written = write_run(
            output,
            model,
            images,
            opened.source,
            seconds=time.perf_counter() - clock,
            replace=replace,
            refinement=record,
        )
    return RefinedRun(written, changes)


def compare(before: DIKMeans, state: EditedState, after: DIKMeans, X: object) -> Changes:
    """What edits and refinement have changed.

    Parameters
    ----------
    before, after : DIKMeans
        The model that was edited, and the refined one.
    state : EditedState
        What the refinement started from.
    X : array of images
    """
    old = [None, *before.cluster_ids_]
    edited = [None, *(cluster.id for cluster in state.clusters)]
    new = [None, *after.cluster_ids_]
    decided = np.flatnonzero(after.decided_ != FREE)
    rows: dict[int, FloatArray] = {}
    if len(decided):
        costs = np.asarray(after.transform(np.asarray(X)[decided]))
        rows = dict(zip(decided.tolist(), costs, strict=True))
    return Changes(
        len(state.labels),
        _flows([old[k + 1] for k in before.labels_], [edited[k + 1] for k in state.labels]),
        _flows([edited[k + 1] for k in state.labels], [new[k + 1] for k in after.labels_]),
        tuple(find_resistance(after, rows)),
    )


def _flows(sources: Sequence[str | None], targets: Sequence[str | None]) -> tuple[Flow, ...]:
    counts: dict[tuple[str | None, str | None], int] = {}
    for pair in zip(sources, targets, strict=True):
        if pair[0] != pair[1]:
            counts[pair] = counts.get(pair, 0) + 1
    return tuple(
        Flow(*pair, count) for pair, count in sorted(counts.items(), key=lambda item: -item[1])
    )


def changes_as_json(changes: Changes, names: Sequence[str], model: DIKMeans) -> JSON:
    """Changes for files and scripts; images by name, clusters by identity."""
    ids = [*model.cluster_ids_, None]  # -1: none
    return {
        "n_images": changes.n_images,
        "n_moved": changes.n_moved,
        "edited": [vars(flow) for flow in changes.edited],
        "moved": [vars(flow) for flow in changes.moved],
        "resisted": [
            {
                "file": names[one.image],
                "decided": ids[one.decided],
                "rather": ids[one.rather],
                "cost": None if np.isnan(one.cost) else one.cost,
                "cost_elsewhere": one.cost_elsewhere,
            }
            for one in changes.resisted
        ],
        "clusters": [
            {"id": identity, "name": name, "number": number}
            for number, (identity, name) in enumerate(
                zip(model.cluster_ids_, model.cluster_names_, strict=True)
            )
        ],
    }
