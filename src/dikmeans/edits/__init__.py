"""Edits of a run: what a person corrects, kept as data, and the refinement that follows from it."""

from dikmeans.edits.edit import (
    EDITS,
    Edit,
    Merge,
    Move,
    Note,
    Pin,
    Reject,
    Rename,
    Split,
    edit_from_json,
)
from dikmeans.edits.journal import Journal, JournalError, JournalProblem, Timeline, read_edits
from dikmeans.edits.refine_run import (
    Changes,
    Flow,
    RefinedRun,
    compare,
    edited_state,
    refine_run,
    unedited_state,
)
from dikmeans.edits.state import EditedCluster, EditedState, EditError

__all__ = [
    "EDITS",
    "Changes",
    "Edit",
    "EditError",
    "EditedCluster",
    "EditedState",
    "Flow",
    "Journal",
    "JournalError",
    "JournalProblem",
    "Merge",
    "Move",
    "Note",
    "Pin",
    "RefinedRun",
    "Reject",
    "Rename",
    "Split",
    "Timeline",
    "compare",
    "edit_from_json",
    "edited_state",
    "read_edits",
    "refine_run",
    "unedited_state",
]
