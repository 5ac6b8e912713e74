"""The journal: laws of undo and redo, replay, kills at any byte, two editors."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.edits import (
    EditError,
    Journal,
    JournalError,
    JournalProblem,
    Merge,
    Move,
    Rename,
    Split,
    read_edits,
)
from tests.edits.clusterings import FILES, as_values, edits, small_state

steps = st.lists(st.one_of(edits, st.sampled_from(["undo", "redo"])), max_size=10)


def carry_out(journal, sequence, seen):
    """Make steps; `seen` collects the values of the state after each that could be made."""
    for step in sequence:
        try:
            if isinstance(step, str):
                getattr(journal, step)()
            else:
                journal.append(step)
        except (EditError, JournalError):
            continue
        seen.append(as_values(journal.state))


@given(steps)
def test_a_journal_that_is_opened_again_has_the_same_state(sequence):
    with tempfile.TemporaryDirectory() as folder:
        with Journal(folder, small_state()) as journal:
            carry_out(journal, sequence, [])
            before, timeline = as_values(journal.state), journal.timeline
        with Journal(folder, small_state()) as journal:
            assert as_values(journal.state) == before
            assert journal.timeline == timeline


@given(steps)
def test_undo_takes_back_one_edit_and_redo_makes_it_again(sequence):
    """The oracle is a list of states, as an editor with a stack of snapshots would keep it."""
    with tempfile.TemporaryDirectory() as folder, Journal(folder, small_state()) as journal:
        past, future = [as_values(small_state())], []
        for step in sequence:
            if step == "undo":
                if len(past) == 1:
                    with pytest.raises(JournalError, match="nothing to undo"):
                        journal.undo()
                else:
                    journal.undo()
                    future.append(past.pop())
            elif step == "redo":
                if not future:
                    with pytest.raises(JournalError, match="nothing to redo"):
                        journal.redo()
                else:
                    journal.redo()
                    past.append(future.pop())
            else:
                try:
                    past.append(as_values(journal.append(step)))
                    future = []
                except EditError:
                    pass
            assert as_values(journal.state) == past[-1]


@given(steps, st.data())
def test_whatever_a_kill_leaves_of_the_file_is_a_state_that_was_there(sequence, data):
    with tempfile.TemporaryDirectory() as folder:
        seen = [as_values(small_state())]
        with Journal(folder, small_state()) as journal:
            carry_out(journal, sequence, seen)
        path = Path(folder) / "edits.jsonl"
        content = path.read_bytes() if path.exists() else b""
        path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        with Journal(folder, small_state()) as journal:
            assert as_values(journal.state) in seen
            journal.append(Rename(journal.state.clusters[0].id, "after the kill"))
            after = as_values(journal.state)
        with Journal(folder, small_state()) as journal:
            assert as_values(journal.state) == after


def test_every_prefix_of_a_journal_is_a_prefix_of_its_states(tmp_path):
    states = [as_values(small_state())]
    with Journal(tmp_path, small_state()) as journal:
        made = (Rename("c0", "zero"), Move((FILES[0],), "c1"), Merge(("c3",), "c2"))
        states.extend(as_values(journal.append(edit)) for edit in made)
    content = (tmp_path / "edits.jsonl").read_bytes()
    reached = []
    for size in range(len(content) + 1):
        (tmp_path / "edits.jsonl").write_bytes(content[:size])
        with Journal(tmp_path, small_state()) as journal:
            reached.append(states.index(as_values(journal.state)))
    assert reached == sorted(reached)
    assert (reached[0], reached[-1]) == (0, 3)


def test_the_file_only_grows(tmp_path):
    contents = [b""]
    with Journal(tmp_path, small_state()) as journal:
        journal.append(Rename("c0", "zero"))
        contents.append((tmp_path / "edits.jsonl").read_bytes())
        journal.undo()
        contents.append((tmp_path / "edits.jsonl").read_bytes())
        journal.redo()
        contents.append((tmp_path / "edits.jsonl").read_bytes())
    for shorter, longer in pairwise(contents):
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)


def test_several_edits_are_made_together_or_not_at_all(tmp_path):
    with Journal(tmp_path, small_state()) as journal:
        with pytest.raises(EditError, match="no cluster 'c9'"):
            journal.append([Rename("c0", "zero"), Rename("c9", "nine")])
        assert as_values(journal.state) == as_values(small_state())
        assert not (tmp_path / "edits.jsonl").exists()


def test_the_identity_of_a_new_cluster_survives(tmp_path):
    with Journal(tmp_path, small_state()) as journal:
        identity = journal.append(Split("c0", prototypes=(1,))).clusters[-1].id
        journal.append(Rename(identity, "new"))
        journal.undo()
    with Journal(tmp_path, small_state()) as journal:
        assert journal.state.clusters[-1].id == identity
        assert journal.redo().clusters[-1].name == "new"


def test_a_second_editor_is_refused_in_words(tmp_path):
    with Journal(tmp_path, small_state()):
        script = (
            "from dikmeans.edits import Journal\n"
            "from tests.edits.clusterings import small_state\n"
            f"Journal({str(tmp_path)!r}, small_state())\n"
        )
        other = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        assert other.returncode != 0
        assert "is being edited by another program" in other.stderr
    with Journal(tmp_path, small_state()):
        pass  # free again


@pytest.mark.parametrize("line", [b"{}", b"[]", b'{"step": "jump"}', b'{"step": "undo"}', b"x"])
def test_a_damaged_line_is_named_and_nothing_is_changed(tmp_path, line):
    with Journal(tmp_path, small_state()) as journal:
        journal.append(Rename("c0", "zero"))
    path = tmp_path / "edits.jsonl"
    header, edit, _ = path.read_bytes().split(b"\n")
    damaged = b"\n".join([header, line, edit, b""])
    path.write_bytes(damaged)
    with pytest.raises(JournalError, match="line 2") as caught:
        Journal(tmp_path, small_state())
    assert caught.value.problem is JournalProblem.DAMAGED
    assert path.read_bytes() == damaged
    path.write_bytes(b"\n".join([header, edit, b""]))
    Journal(tmp_path, small_state()).__exit__()  # the lock was released


def test_the_journal_of_another_run_is_refused(tmp_path):
    with Journal(tmp_path, Merge(("c3",), "c0").apply(small_state())) as journal:
        journal.append(Rename("c0", "zero"))
    with pytest.raises(JournalError, match="another run"):
        Journal(tmp_path, small_state())


def test_edits_are_read_from_lists_lines_and_journals(tmp_path):
    wanted = (Rename("c0", "zero"), Move((FILES[0],), "c1"))
    records = [edit.to_json() for edit in wanted]
    (tmp_path / "list.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, records)))
    with Journal(tmp_path, small_state()) as journal:
        journal.append(wanted)
        journal.append(Rename("c1", "one"))
        journal.undo()
    for name in ("list.json", "lines.jsonl", "edits.jsonl"):
        assert read_edits(tmp_path / name) == wanted


@pytest.mark.parametrize("text", ["[1]", "{", '[{"kind": "move"}]', '{"step": "undo"}', "[[]]"])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    (tmp_path / "edits.json").write_text(text)
    with pytest.raises(EditError, match=r"edits\.json"):
        read_edits(tmp_path / "edits.json")
