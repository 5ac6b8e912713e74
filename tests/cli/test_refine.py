"""``dikmeans refine``: a run, edits, a refined run, and what it says about it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dikmeans.edits import Journal, Rename, edited_state
from dikmeans.kmeans.guidance import FREE
from dikmeans.runs import open_run
from tests.cli.conftest import AWKWARD_NAMES, invoke, message


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def edits(tmp_path):
    """Writes edits to a file; returns its path."""

    def write(*records):
        path = tmp_path / "edits.json"
        path.write_text(json.dumps(records))
        return path

    return write


def test_a_refined_run_honors_the_edits_and_the_run_stays_as_it_is(fitted, edits, tmp_path):
    run = open_run(fitted[0])
    before = content_of(run.path)
    awkward = AWKWARD_NAMES[2]
    labels = {row.file: row.cluster for row in run.labels}
    other = next(k for k in range(3) if k != labels[awkward])
    file = edits(
        {"kind": "rename", "cluster": "c0", "name": "<b>zero</b>"},
        {"kind": "move", "files": [awkward], "to": f"c{other}"},
        {"kind": "reject", "files": ["7.png"]},
        {"kind": "note", "cluster": "c1", "text": "look again"},
    )
    result = invoke("refine", run.path, "--edits", file, "-o", tmp_path / "refined", "--quiet")
    assert result.exit_code == 0, result.output
    refined = open_run(tmp_path / "refined")
    assert refined.model.cluster_names_[0] == "<b>zero</b>"
    assert {row.file: row.cluster for row in refined.labels}[awkward] == other
    assert {row.file: row.cluster for row in refined.labels}["7.png"] == -1
    assert "2 of 60 pictures were put elsewhere by the edits" in result.stdout
    assert "speak against" in result.stdout
    assert "7.png was rejected" in result.stdout or "two" in result.stdout
    assert f"Next: dikmeans report {tmp_path / 'refined'}" in result.stdout
    assert content_of(run.path) == before
    again = invoke("refine", tmp_path / "refined", "-o", tmp_path / "again", "-q")
    assert again.exit_code == 0, again.output
    again = open_run(tmp_path / "again")
    assert {row.file: row.cluster for row in again.labels}["7.png"] == -1
    assert edited_state(again).clusters[1].notes == ("look again",)  # two refinements later


def test_merges_and_splits_change_the_number_of_clusters(fitted, edits, tmp_path):
    run = open_run(fitted[0])
    chosen = [row.file for row in run.labels if row.cluster == 0][:5]
    file = edits(
        {"kind": "merge", "clusters": ["c2"], "into": "c1"},
        {"kind": "split", "cluster": "c0", "files": chosen, "new": "mine", "name": "five"},
    )
    result = invoke("refine", run.path, "--edits", file, "-o", tmp_path / "r", "--json", "-q")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert [cluster["id"] for cluster in record["clusters"]] == ["c0", "c1", "mine"]
    refined = open_run(tmp_path / "r")
    assert all(row.cluster == 2 for row in refined.labels if row.file in chosen)
    moved = sum(flow["count"] for flow in record["moved"])
    state = edited_state(run, [])
    assert record["n_moved"] == moved
    assert record["n_images"] == len(state.labels)
    assert json.loads((tmp_path / "r" / "refinement.json").read_text())["n_moved"] == moved


def test_by_default_the_journal_of_the_run_is_used(pictures, tmp_path):
    made = invoke("fit", pictures, "-k", 3, "--runs", 1, "-o", tmp_path / "run", "-q")
    assert made.exit_code == 0, made.output
    run = open_run(tmp_path / "run")
    with Journal(run.path, edited_state(run, [])) as journal:
        journal.append(Rename("c1", "ones"))
        journal.append(Rename("c1", "no"))
        journal.undo()
    result = invoke("refine", run.path, "-o", tmp_path / "refined", "-q")
    assert result.exit_code == 0, result.output
    assert open_run(tmp_path / "refined").model.cluster_names_ == (None, "ones", None)
    assert (open_run(tmp_path / "refined").model.decided_ == FREE).all()
    assert open_run(tmp_path / "run").model.cluster_names_ == (None,) * 3
    np.testing.assert_array_equal(edited_state(run).labels, run.model.labels_)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"kind": "move", "files": ["nowhere.png"], "to": "c0"}, "no picture 'nowhere.png'"),
        ({"kind": "rename", "cluster": "c7", "name": "x"}, "no cluster 'c7'"),
        ({"kind": "dance"}, "is no kind of edit"),
    ],
)
def test_edits_of_unknown_things_end_with_a_message_and_write_nothing(
    fitted, edits, tmp_path, record, words
):
    before = content_of(fitted[0])
    result = invoke("refine", fitted[0], "--edits", edits(record), "-o", tmp_path / "refined")
    assert result.exit_code == 2
    assert words in message(result)
    assert not (tmp_path / "refined").exists()
    assert content_of(fitted[0]) == before


def test_other_mistakes_end_with_a_message(fitted, edits, tmp_path):
    run, file = fitted[0], edits({"kind": "rename", "cluster": "c0", "name": "x"})
    same = invoke("refine", run, "--edits", file, "-o", run, "--force")
    assert (same.exit_code, "another folder" in message(same)) == (2, True)
    missing = invoke("refine", run, "--edits", tmp_path / "none.json", "-o", tmp_path / "r")
    assert (missing.exit_code, "none.json" in message(missing)) == (2, True)
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.txt").write_text("mine")
    taken = invoke("refine", run, "--edits", file, "-o", tmp_path / "r", "--force")
    assert (taken.exit_code, "thesis.txt" in message(taken)) == (2, True)
