"""The studio: the run that is open, what is being computed beside it, and who hears of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException

from dikmeans._typing import JSON
from dikmeans.edits import Edit, EditError, edit_from_json
from dikmeans.errors import DikmeansError
from dikmeans.studio.events import Broker
from dikmeans.studio.exports import Table
from dikmeans.studio.newcomers import Newcomers
from dikmeans.studio.pictures import PictureMaker
from dikmeans.studio.refit import Refit
from dikmeans.studio.requests import optional_revision
from dikmeans.studio.session import Session, StaleError, View

# Letters of a text in an edit.
MAX_LETTERS = {"name": 200, "text": 2000}
MAX_EDITS = 100


class Chore:
    """Something slow that is made once in a thread: a page with a map, or a report.

    Parameters
    ----------
    kind : str
        The name of its events.
    work : callable
        Gets a function to tell its progress with, and returns the result.
    tell : callable
        Gets the kind and the status as JSON.
    """

    def __init__(
        self,
        kind: str,
        work: Callable[[Callable[[float, str], None]], str],
        tell: Callable[[str, JSON], None],
    ):
        self._kind, self._work, self._tell = kind, work, tell
        self.status: JSON = {"phase": "running", "fraction": 0.0, "text": "waiting"}
        self.result: str | None = None
        threading.Thread(target=self._run, name=kind, daemon=True).start()

    def _set(self, status: JSON) -> None:
        self.status = status
        self._tell(self._kind, status)

    def _run(self) -> None:
        try:
            self.result = self._work(
                lambda fraction, text: self._set(
                    {"phase": "running", "fraction": fraction, "text": text}
                )
            )
            self._set({"phase": "done"})
        except (DikmeansError, ValueError, OSError, MemoryError) as error:
            self._set({"phase": "failed", "error": str(error)})


class Studio:
    """Everything that the server serves.

    Parameters
    ----------
    session : Session
        The run that is open first.
    """

    def __init__(self, session: Session):
        self.session = session
        self.pictures = PictureMaker(session)
        self.events = Broker()
        self.refit: Refit | None = None
        self.newcomers = Newcomers()
        self.table: Table | None = None
        self.chores: dict[str, Chore] = {}
        self._lock = threading.Lock()
        # numbers of revisions go on when another run is opened
        self._epoch = 0

    def warm_up(self) -> None:
        """Compute in a thread what the first pages ask for."""

        def compute() -> None:
            session = self.session
            _ = session.energy, session.portraits, session.likeness

        threading.Thread(target=compute, name="warm-up", daemon=True).start()

    def close(self) -> None:
        """Stop what is being computed, and let others edit the run."""
        if self.refit is not None:
            self.refit.cancel()
            self.refit.wait()
        self.session.close()

    def state_json(self) -> JSON:
        """What every page has to know."""
        state = self.session.state_json()
        return {
            **state,
            "epoch": self._epoch,
            "refit": None if self.refit is None else self.refit.status,
            "nLaterEdits": self.n_later_edits,
            "chores": {kind: chore.status for kind, chore in self.chores.items()},
            "table": None
            if self.table is None
            else {"columns": list(self.table.columns), "matched": self.table.n_matched},
        }

    # -- edits ---------------------------------------------------------------------------------

    def edit(self, value: JSON) -> JSON:
        """Make the edits of a request."""
        records = value.get("edits")
        if not isinstance(records, list) or not 0 < len(records) <= MAX_EDITS:
            raise HTTPException(400, f"edits should be a list of 1 to {MAX_EDITS} edits.")
        edits = [self._parsed(record) for record in records]
        return self._changed(lambda: self.session.edit(edits, optional_revision(value)))

    def undo(self, value: JSON) -> JSON:
        """Take the last edit back, unless a re-fit has been made from it."""
        if self.n_later_edits == 0:
            raise HTTPException(
                409,
                "The last edit is part of the re-fit. Cancel or discard that first, then undo.",
            )
        return self._changed(lambda: self.session.undo(optional_revision(value)))

    def redo(self, value: JSON) -> JSON:
        """Make the edit that was undone last again."""
        return self._changed(lambda: self.session.redo(optional_revision(value)))

    def _parsed(self, record: object) -> Edit:
        """An edit in which pictures are given by number."""
        if not isinstance(record, dict):
            raise HTTPException(400, "An edit should be a JSON object.")
        record = dict(record)
        for entry, most in MAX_LETTERS.items():
            text = record.get(entry)
            if isinstance(text, str) and len(text) > most:
                raise HTTPException(400, f"{entry} has more than {most} letters.")
        numbers = record.pop("pictures", None)
        if numbers is not None:
            names = self.session.images.names
            record["files"] = [names[number] for number in self.picture_numbers(numbers)]
        return edit_from_json(record)

    def picture_numbers(self, given: object) -> list[int]:
        """Numbers of pictures from a request, checked."""
        last = len(self.session.images) - 1
        if not isinstance(given, list) or any(
            type(number) is not int or not 0 <= number <= last for number in given
        ):
            raise HTTPException(400, f"pictures should be numbers from 0 to {last}.")
        return given

    def _changed(self, change: Callable[[], View]) -> JSON:
        try:
            change()
        except StaleError as error:
            raise HTTPException(
                409, "Something else was changed meanwhile, in another tab perhaps. Look again."
            ) from error
        self.tell_state()
        return self.state_json()

    def tell_state(self) -> None:
        """Let every page ask for the state."""
        self.events.publish("state", {"epoch": self._epoch, "revision": self.session.view.revision})

    @property
    def n_later_edits(self) -> int | None:
        """Edits made since a re-fit began that runs or waits to be kept; None without one."""
        refit = self.refit
        if refit is None or not (refit.is_running or refit.refined is not None):
            return None
        return len(self.session.view.timeline.active) - len(refit.view.timeline.active)

    # -- what is computed beside ---------------------------------------------------------------

    def start_refit(self, _: JSON) -> JSON:
        """Fit again from the edited state."""
        with self._lock:
            if self.refit is not None and self.refit.is_running:
                raise HTTPException(409, "A re-fit is running already.")
            if self.refit is not None and self.refit.refined is not None:
                raise HTTPException(409, "Keep or discard the last re-fit first.")
            self.refit = Refit(self.session, self._tell_refit)
            self.refit.start()
        self.tell_state()
        return self.state_json()

    def _tell_refit(self, status: JSON) -> None:
        self.events.publish("refit", status)

    def cancel_refit(self, _: JSON) -> JSON:
        """Stop the re-fit; nothing is changed then."""
        if self.refit is None or not self.refit.is_running:
            raise HTTPException(409, "No re-fit is running.")
        self.refit.cancel()
        return self.state_json()

    def finished_refit(self) -> Refit:
        """The re-fit that waits to be kept or discarded."""
        if self.refit is None or self.refit.refined is None:
            raise HTTPException(409, "There is no re-fit to look at.")
        return self.refit

    def discard_refit(self, _: JSON) -> JSON:
        """Remove the refined run; everything is as before."""
        with self._lock:
            self.finished_refit().discard()
            self.refit = None
        self.tell_state()
        return self.state_json()

    def keep_refit(self, _: JSON) -> JSON:
        """Go on with the refined run; the former one and its edits stay as they are.

        Edits that were made since the re-fit began are made again in the refined run. Those that
        cannot be are named.
        """
        with self._lock:
            refit = self.finished_refit()
            assert refit.refined is not None
            former = self.session
            session = Session(refit.refined.run, former.images, former.originals)
            not_carried = carry_edits(refit.view, former.close(), session)
            self.session = session
            self.pictures, self.chores = PictureMaker(session), {}
            self.refit = None
            self._epoch += 1
        self.tell_state()
        return {**self.state_json(), "notCarried": not_carried}

    def chore(
        self, kind: str, work: Callable[[Callable[[float, str], None]], str], *, again: bool = False
    ) -> Chore:
        """Start something slow, unless it is being done or was done."""
        with self._lock:
            known = self.chores.get(kind)
            is_over = known is not None and known.status["phase"] != "running"
            if known is None or (again and is_over):
                self.chores[kind] = Chore(kind, work, self.events.publish)
            return self.chores[kind]


def carry_edits(start: View, end: View, session: Session) -> list[str]:
    """Make the edits between two views of a run again in the run refined from the first one.

    Returns what is to be said about those that cannot be made there.
    """
    not_carried = []
    state = start.state
    for edit in end.timeline.active[len(start.timeline.active) :]:
        try:
            session.edit(list(edit.carried(state)))
        except EditError as error:
            not_carried.append(f"{edit.kind}: {error.reason}")
        state = edit.apply(state)
    return not_carried


def open_studio(path: Path, moved_to: str | None = None) -> Studio:
    """The studio on the run in a folder."""
    return Studio(Session.open(path, moved_to))
