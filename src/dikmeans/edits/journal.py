"""The journal of a run: every edit, undo and redo, one line of JSON each, in ``RUN/edits.jsonl``.

The file only ever grows. An entry counts once its line is complete, and it is on the disk before
anyone is told so; what a kill leaves of a line that is not complete was never acknowledged, and the
next entry takes its place. Undo and redo are entries too, so the journal also tells what was tried.
One program at a time may write; reading is always possible.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from filelock import FileLock, Timeout

from dikmeans._typing import JSON, PathLike
from dikmeans.edits.edit import Edit, edit_from_json
from dikmeans.edits.state import EditedState, EditError
from dikmeans.errors import DikmeansError

JOURNAL = "edits.jsonl"
FORMAT, VERSION = "dikmeans-edits", 1


class JournalProblem(Enum):
    """Why a journal cannot be used; the value says what to do."""

    IN_USE = "Close the other one first."
    DAMAGED = "Restore it from a copy, or move it away to begin anew."
    OTHER_RUN = "Use the run it was made for."
    NOTHING_TO_UNDO = "There is no edit before it."
    NOTHING_TO_REDO = "Only an edit that has just been undone can be redone."


class JournalError(DikmeansError, ValueError):
    """A journal that is damaged, of another run, or in use; or an undo without an edit.

    Attributes
    ----------
    path : pathlib.Path
    problem : JournalProblem
    reason : str
        Continues a sentence that begins with `path`.
    """

    def __init__(self, path: Path, problem: JournalProblem, reason: str):
        self.path, self.problem, self.reason = path, problem, reason
        super().__init__(f"{path} {reason}. {problem.value}")


@dataclass(frozen=True)
class Timeline:
    """The edits that hold, and those that were undone and can be redone.

    Examples
    --------
    >>> from dikmeans.edits.edit import Rename
    >>> one, two = Rename("c0", "zero"), Rename("c1", "one")
    >>> Timeline().after(one).after(two).undo().active == (one,)
    True
    >>> Timeline().after(one).after(two).undo().redo() == Timeline().after(one).after(two)
    True
    """

    active: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()

    def after(self, edit: Edit) -> Timeline:
        """With a new edit; what was undone before it cannot be redone any more."""
        return Timeline((*self.active, edit))

    def undo(self) -> Timeline:
        """Without the last edit."""
        return Timeline(self.active[:-1], (*self.undone, self.active[-1]))

    def redo(self) -> Timeline:
        """With the last edit that was undone."""
        return Timeline((*self.active, self.undone[-1]), self.undone[:-1])

    def replay(self, state: EditedState) -> EditedState:
        """The state after the edits that hold."""
        for edit in self.active:
            state = edit.apply(state)
        return state


def header_for(state: EditedState) -> JSON:
    """The first line of the journal of a run: what tells it from those of other runs."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_images": len(state.labels),
        "clusters": [cluster.id for cluster in state.clusters],
    }


def read_timeline(path: Path, header: JSON) -> tuple[Timeline, int]:
    """The edits of a journal, and how many bytes of it are complete lines.

    A journal that does not exist is empty.

    Raises
    ------
    JournalError
        It is damaged, or belongs to a run with another header.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Timeline(), 0
    complete = content[: content.rfind(b"\n") + 1]
    if not complete:
        return Timeline(), 0
    first, *lines = complete.split(b"\n")[:-1]
    _check_header(path, _parse(path, 1, first), header)
    timeline = Timeline()
    for number, line in enumerate(lines, start=2):
        record = _parse(path, number, line)
        try:
            timeline = _follow(timeline, record)
        except (EditError, IndexError, KeyError) as error:
            reason = f"is damaged: line {number} cannot be used ({error})"
            raise JournalError(path, JournalProblem.DAMAGED, reason) from error
    return timeline, len(complete)


def _follow(timeline: Timeline, record: JSON) -> Timeline:
    if "edit" in record:
        return timeline.after(edit_from_json(record["edit"]))
    return {"undo": timeline.undo, "redo": timeline.redo}[str(record["step"])]()


def _parse(path: Path, number: int, line: bytes) -> JSON:
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError("it is no entry")
    except (ValueError, RecursionError) as error:
        reason = f"is damaged: line {number} is no entry of a journal"
        raise JournalError(path, JournalProblem.DAMAGED, reason) from error
    return record


def _check_header(path: Path, found: JSON, expected: JSON) -> None:
    if found.get("format") != FORMAT or found.get("version") != VERSION:
        reason = f"is no journal of edits of version {VERSION}"
        raise JournalError(path, JournalProblem.DAMAGED, reason)
    if found != expected:
        raise JournalError(path, JournalProblem.OTHER_RUN, "is the journal of another run")


class Journal(AbstractContextManager["Journal"]):
    """The journal of a run, open for writing.

    Parameters
    ----------
    folder : path-like
        The run.
    start : EditedState
        The run without any edit.

    Raises
    ------
    JournalError
        Another program is writing, or the journal cannot be used.

    Attributes
    ----------
    path : pathlib.Path
    state : EditedState
        After all edits that hold.
    timeline : Timeline
    """

    def __init__(self, folder: PathLike, start: EditedState):
        self.path = Path(folder) / JOURNAL
        self._start, self._header = start, header_for(start)
        self._lock = FileLock(self.path.with_name(f".{JOURNAL}.lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            reason = "is being edited by another program"
            raise JournalError(self.path, JournalProblem.IN_USE, reason) from None
        try:
            self.timeline, self._size = read_timeline(self.path, self._header)
            self.state = self._replayed(self.timeline)
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def append(self, edits: Edit | Iterable[Edit]) -> EditedState:
        """Make edits: all of them, or none if one cannot be made."""
        batch = [edits] if isinstance(edits, Edit) else list(edits)
        state, timeline, records = self.state, self.timeline, []
        for edit in batch:
            complete = edit.completed()
            state, timeline = complete.apply(state), timeline.after(complete)
            records.append({"edit": complete.to_json()})
        return self._keep(records, timeline, state)

    def undo(self) -> EditedState:
        """Take the last edit back."""
        if not self.timeline.active:
            reason = "has nothing to undo"
            raise JournalError(self.path, JournalProblem.NOTHING_TO_UNDO, reason)
        timeline = self.timeline.undo()
        return self._keep([{"step": "undo"}], timeline, self._replayed(timeline))

    def redo(self) -> EditedState:
        """Make the edit that was undone last again."""
        if not self.timeline.undone:
            reason = "has nothing to redo"
            raise JournalError(self.path, JournalProblem.NOTHING_TO_REDO, reason)
        timeline = self.timeline.redo()
        return self._keep([{"step": "redo"}], timeline, self._replayed(timeline))

    def _replayed(self, timeline: Timeline) -> EditedState:
        try:
            return timeline.replay(self._start)
        except EditError as error:
            reason = f"is damaged: an edit in it cannot be made ({error.reason})"
            raise JournalError(self.path, JournalProblem.DAMAGED, reason) from error

    def _keep(self, records: list[JSON], timeline: Timeline, state: EditedState) -> EditedState:
        """Put entries on the disk, then let them hold."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        lines = [{"time": time, **record} for record in records]
        content = _as_lines(lines if self._size else [self._header, *lines])
        with open(self.path, "r+b" if self._size else "wb") as stream:
            stream.truncate(self._size)  # what a kill has left of a line
            stream.seek(self._size)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        self._size += len(content)
        self.timeline, self.state = timeline, state
        return state


def _as_lines(records: Iterable[JSON]) -> bytes:
    # ASCII only: a name may hold bytes that are not UTF-8
    return "".join(json.dumps(record) + "\n" for record in records).encode("ascii")


def read_edits(path: PathLike) -> tuple[Edit, ...]:
    """The edits in a file: a journal, a JSON list of edits, or one edit per line.

    Raises
    ------
    EditError
        It holds something else.
    OSError
        It cannot be read.
    """
    text = Path(path).read_text("utf-8")
    try:
        if text.lstrip().startswith("["):
            records = json.loads(text)
        else:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise EditError(f"{path} is no file of edits: it is no JSON ({error}).") from error
    timeline = Timeline()
    for number, record in enumerate(records, start=1):
        if isinstance(record, dict) and record.get("format") == FORMAT:
            continue
        try:
            is_entry = isinstance(record, dict) and ("edit" in record or "step" in record)
            timeline = _follow(timeline, record if is_entry else {"edit": record})
        except (EditError, IndexError, KeyError) as error:
            raise EditError(f"Edit {number} in {path}: {error}") from error
    return timeline.active
