"""What edits do to a clustering, against a slow and obvious model of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.edits import (
    EDITS,
    EditError,
    Merge,
    Move,
    Note,
    Pin,
    Reject,
    Rename,
    Split,
    edit_from_json,
)
from tests.edits.clusterings import FILES, as_values, edits, small_state


def cluster_names_of(state):
    """The identity of the cluster of every image."""
    return [None if k < 0 else state.clusters[k].id for k in state.labels]


def test_a_rename_changes_the_name_and_nothing_else():
    state = small_state()
    renamed = Rename("c1", "seven").apply(state)
    assert [cluster.name for cluster in renamed.clusters] == [None, "seven", None, None]
    assert cluster_names_of(renamed) == cluster_names_of(state)
    assert [c.id for c in renamed.clusters] == [c.id for c in state.clusters]


def test_merged_clusters_bring_their_images_and_prototypes():
    merged = Merge(("c0", "c3"), "c2").apply(small_state())
    assert [cluster.id for cluster in merged.clusters] == ["c1", "c2"]
    assert merged.clusters[1].prototypes == (4, 5, 0, 1, 6, 7)
    assert cluster_names_of(merged) == ["c2"] * 6 + ["c1"] * 6 + ["c2"] * 12
    assert not merged.decided.any()


def test_a_split_by_prototype_takes_the_images_that_are_nearest_to_it():
    split = Split("c1", prototypes=(1,), name="crossed", new="x").apply(small_state())
    assert split.clusters[1].prototypes == (2,)
    assert (split.clusters[4].id, split.clusters[4].prototypes) == ("x", (3,))
    expected = ["c1", "x"] * 3
    assert cluster_names_of(split)[6:12] == expected


def test_an_image_that_a_person_has_placed_stays_when_its_prototype_leaves():
    state = Pin((FILES[7],)).apply(small_state())
    split = Split("c1", prototypes=(1,), new="x").apply(state)
    assert cluster_names_of(split)[7] == "c1"
    assert cluster_names_of(split)[9] == "x"


def test_a_split_by_images_makes_a_cluster_of_them():
    split = Split("c0", files=(FILES[2], FILES[5]), new="x").apply(small_state())
    assert cluster_names_of(split)[:6] == ["c0", "c0", "x", "c0", "c0", "x"]
    assert split.clusters[4].prototypes == ()
    assert np.flatnonzero(split.decided).tolist() == [2, 5]


def test_moved_and_rejected_images_are_decided():
    state = Move((FILES[0],), "c3").apply(small_state())
    state = Reject((FILES[1],)).apply(state)
    assert cluster_names_of(state)[:3] == ["c3", None, "c0"]
    corrections = state.corrections()
    assert corrections.pinned == {0: 3}
    assert corrections.rejected == {1}


def test_notes_move_nothing():
    state = Note("look again", files=(FILES[3],)).apply(Note("odd", "c0").apply(small_state()))
    assert state.clusters[0].notes == ("odd",)
    assert state.notes == ((FILES[3], "look again"),)
    assert cluster_names_of(state) == cluster_names_of(small_state())


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Rename("c9", "x"), "There is no cluster 'c9'"),
        (Rename("c1", "  "), "is empty"),
        (Merge(("c1",), "c1"), "needs other clusters"),
        (Merge((), "c1"), "needs other clusters"),
        (Move(("picture 1, e.png",), "c1"), "Did you mean 'picture 1, \u00e9.png'"),
        (Reject(()), "names no picture"),
        (Split("c1", prototypes=(2,), new="x"), "has 2 prototypes"),
        (Split("c1", prototypes=(0, 1), new="x"), "leave cluster 'c1' a prototype"),
        (Split("c1", files=tuple(FILES[6:12]), new="x"), "leave cluster 'c1' a picture"),
        (Split("c1", files=(FILES[0],), new="x"), "is not in cluster 'c1'"),
        (Split("c1", new="x"), "name one of them"),
        (Split("c1", prototypes=(0,), new="c0"), "is a cluster 'c0' already"),
        (Note("text"), "name one of them"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(edit, words):
    with pytest.raises(EditError, match=words):
        edit.apply(small_state())


def test_a_cluster_of_chosen_images_cannot_lose_all_of_them():
    state = Split("c0", files=(FILES[2],), new="x").apply(small_state())
    with pytest.raises(EditError, match="merge it instead"):
        Move((FILES[2],), "c1").apply(state)
    with pytest.raises(EditError, match="merge it instead"):
        Reject((FILES[2],)).apply(state)


@given(st.lists(edits, max_size=8))
def test_no_image_and_no_prototype_is_ever_lost(sequence):
    state = small_state()
    for edit in sequence:
        before = as_values(state)
        try:
            state, previous = edit.apply(state), state
        except EditError:
            pass
        else:
            assert as_values(previous) == before  # a state is a value
    prototypes = sorted(p for cluster in state.clusters for p in cluster.prototypes)
    assert prototypes == list(range(8))
    assert state.labels.shape == (24,)
    assert set(state.labels.tolist()) <= {-1, *range(len(state.clusters))}
    for place, cluster in enumerate(state.clusters):
        assert cluster.prototypes or (state.labels == place).any()


@given(edits)
def test_json_brings_an_edit_back(edit):
    assert edit_from_json(edit.to_json()) == edit


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"kind": "explode"}, "is no kind of edit"),
        ("rename", "is no kind of edit"),
        ({"kind": "move", "to": "c0"}, "needs the entry 'files'"),
        ({"kind": "move", "to": "c0", "files": "a.png"}, "a list of texts"),
        ({"kind": "move", "to": 3, "files": ["a.png"]}, "should be a text"),
        ({"kind": "split", "cluster": "c0", "prototypes": [True]}, "a list of whole numbers"),
        ({"kind": "pin", "files": [], "color": "red"}, "has no entry 'color'"),
    ],
)
def test_json_of_something_else_is_refused_in_words(record, words):
    with pytest.raises(EditError, match=words):
        edit_from_json(record)


def test_every_kind_is_registered_under_its_name():
    assert set(EDITS) == {"rename", "merge", "split", "move", "reject", "pin", "note"}


def made_again(edit, before, elsewhere):
    """An edit of one state, made in another."""
    for carried in edit.carried(before):
        elsewhere = carried.apply(elsewhere)
    return elsewhere


def refitted():
    """The small state as a re-fit may leave it: other prototypes, every fifth image elsewhere."""
    state = small_state()
    labels = state.labels.copy()
    labels[::5] = (labels[::5] + 1) % 4
    return replace(state, labels=labels, nearest=7 - state.nearest)


@pytest.mark.parametrize(
    "edit",
    [
        Pin((FILES[5], FILES[6], FILES[10])),
        Split("c1", prototypes=(1,), name="crossed", new="x"),
        Split("c0", files=(FILES[0], FILES[3]), new="x"),
        Move((FILES[1],), "c3"),
        Merge(("c0",), "c2"),
        Rename("c2", "two"),
        Reject((FILES[20],)),
    ],
)
def test_an_edit_made_again_in_a_refitted_run_puts_the_same_pictures_in_the_same_clusters(edit):
    before = small_state()
    wanted, made = edit.apply(before), made_again(edit, before, refitted())
    assert [(c.id, c.name) for c in made.clusters] == [(c.id, c.name) for c in wanted.clusters]
    chosen = np.flatnonzero(wanted.decided)
    if isinstance(edit, Split):
        chosen = np.flatnonzero(wanted.labels == wanted.place_of("x"))
        assert (made.labels == made.place_of("x")).sum() == len(chosen)
    expected, found = cluster_names_of(wanted), cluster_names_of(made)
    assert [found[n] for n in chosen] == [expected[n] for n in chosen]
    assert made.decided[chosen].all()


def test_a_pinned_outlier_stays_one_in_a_refitted_run():
    before = Reject((FILES[2],)).apply(small_state())
    made = made_again(Pin((FILES[2],)), before, refitted())
    assert made.labels[2] == -1


def test_notes_are_read_as_they_were_written():
    state = Note("look again", cluster="c1").apply(small_state())
    state = Note("torn\n\u00e9", files=(FILES[3], FILES[4])).apply(state)
    written = json.loads(json.dumps(state.notes_as_json()))
    assert as_values(small_state().with_notes(written)) == as_values(state)
    with pytest.raises(ValueError, match="not in the run"):
        small_state().with_notes({"clusters": {}, "files": [["gone.png", "x"]]})
