"""Fit again from the edited state, beside the server: progress, cancel, before and after."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import numpy as np

from dikmeans._typing import JSON
from dikmeans.edits import RefinedRun, refine_run
from dikmeans.edits.refine_run import changes_as_json
from dikmeans.errors import DikmeansError
from dikmeans.io.atomic import remove_leftovers
from dikmeans.parallel.cancel import Cancelled
from dikmeans.refinement import Iteration
from dikmeans.studio.session import Session, View, cluster_title

MAX_MOVED_SHOWN = 500


def free_place(path: Path) -> Path:
    """A place beside a run for its next version.

    Examples
    --------
    >>> free_place(Path("/nowhere/coins")).name, free_place(Path("/nowhere/coins-4")).name
    ('coins-2', 'coins-5')
    """
    path = path.resolve()
    stem, number = _version(path.name)
    n = 2 if number is None else number + 1
    while (place := path.with_name(f"{stem}-{n}")).exists():
        n += 1
    return place


def _version(name: str) -> tuple[str, int | None]:
    """What all versions of a run are called, and the number of this one."""
    match = re.fullmatch(r"(.+)-(\d{1,9})", name, re.DOTALL)
    return (match[1], int(match[2])) if match else (name, None)


def remove_unfinished(path: Path) -> list[Path]:
    """Remove what re-fits of a run have left that were killed; returns what was removed."""
    path = path.resolve()
    stem, _ = _version(path.name)
    return remove_leftovers(path.parent, lambda name: _version(name)[0] == stem)


class Refit:
    """One refinement in a thread of its own.

    Parameters
    ----------
    session : Session
        What is refined; edits made meanwhile wait until it is kept or discarded.
    tell : callable
        Called with the status, as JSON, whenever it changes.
    """

    def __init__(self, session: Session, tell: Callable[[JSON], None]):
        self.session, self.view = session, session.view
        self.refined: RefinedRun | None = None
        self._tell, self._stop = tell, threading.Event()
        self.status: JSON = {"phase": "running", "iteration": 0, "of": 0, "moved": None}
        self._thread = threading.Thread(target=self._run, name="refit")

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self.status["phase"] == "running"

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop at once, or nearly so; nothing is written then."""
        self._stop.set()

    def wait(self) -> None:
        """Return once it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def discard(self) -> None:
        """Remove the refined run."""
        if self.refined is not None:
            rmtree(self.refined.run.path)
            self.refined = None

    def _set(self, status: JSON) -> None:
        self.status = status
        self._tell(status)

    def _run(self) -> None:
        run = self.session.run
        try:
            self.refined = refine_run(
                run,
                free_place(run.path),
                edits=self.view.timeline.active,
                progress=self._progress,
                is_cancelled=self._stop.is_set,
            )
            if self._stop.is_set():  # too late for it to stop by itself
                self.discard()
                raise Cancelled
            self._set({"phase": "done", "run": self.refined.run.path.name})
        except Cancelled:
            self._set({"phase": "cancelled"})
        except (DikmeansError, OSError, MemoryError) as error:
            self._set({"phase": "failed", "error": str(error)})
        except BaseException as error:
            self._set({"phase": "failed", "error": f"{type(error).__name__}: {error}"})
            raise

    def _progress(self, iteration: Iteration) -> None:
        self._set(
            {
                "phase": "running",
                "iteration": iteration.number,
                "of": iteration.of,
                "moved": int(iteration.moved),
            }
        )


def comparison_json(session: Session, view: View, refined: RefinedRun) -> JSON:
    """Before and after: every cluster, every picture that was moved, what the data resisted."""
    before, model = view.state, refined.run.model
    old = [cluster.id for cluster in before.clusters]
    before_ids = np.array([*old, ""])[before.labels]
    after_ids = np.array([*model.cluster_ids_, ""])[model.labels_]
    moved = np.flatnonzero(before_ids != after_ids)
    changes = changes_as_json(refined.changes, session.images.names, model)
    titles = {cluster.id: cluster_title(cluster) for cluster in before.clusters}
    numbers = before.files
    return {
        "run": refined.run.path.name,
        "nMoved": len(moved),
        "outliers": [int((before.labels < 0).sum()), int((model.labels_ < 0).sum())],
        "clusters": [
            {
                "id": identity,
                "title": titles.get(identity, identity),
                "before": int((before_ids == identity).sum()),
                "after": int((after_ids == identity).sum()),
                "face": session.face_of(view, old.index(identity)) if identity in titles else {},
                "newFace": k,
            }
            for k, identity in enumerate(model.cluster_ids_)
        ],
        "moved": [
            {"number": int(n), "from": before_ids[n] or None, "to": after_ids[n] or None}
            for n in moved[:MAX_MOVED_SHOWN]
        ],
        "flows": changes["moved"],
        "resisted": [{**one, "number": numbers[one["file"]]} for one in changes["resisted"]],
    }
