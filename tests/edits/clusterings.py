"""States to edit, without a fit."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dikmeans.edits import (
    EditedCluster,
    EditedState,
    Merge,
    Move,
    Note,
    Pin,
    Reject,
    Rename,
    Split,
)

FILES = [f"picture {i}, \u00e9.png" for i in range(24)]


def small_state() -> EditedState:
    """24 images in four clusters of six; cluster k has the prototypes 2 k and 2 k + 1."""
    labels = np.repeat(np.arange(4), 6)
    return EditedState(
        {file: number for number, file in enumerate(FILES)},
        tuple(EditedCluster(f"c{k}", None, (2 * k, 2 * k + 1)) for k in range(4)),
        labels,
        np.zeros(24, dtype=bool),
        2 * labels + np.arange(24) % 2,
    )


ids = st.sampled_from(["c0", "c1", "c2", "c3", "new1", "new2", "nobody"])
files = st.lists(st.sampled_from([*FILES, "missing.png"]), min_size=1, max_size=4).map(tuple)
edits = st.one_of(
    st.builds(Rename, ids, st.sampled_from(["zero", "", "\u96f6", None])),
    st.builds(Merge, st.lists(ids, min_size=1, max_size=2, unique=True).map(tuple), ids),
    st.builds(
        Split,
        ids,
        prototypes=st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple),
        new=st.sampled_from(["new1", "new2"]),
    ),
    st.builds(Split, ids, files=files, new=st.sampled_from(["new1", "new2"])),
    st.builds(Move, files, ids),
    st.builds(Reject, files),
    st.builds(Pin, files),
    st.builds(Note, st.text(max_size=5), ids),
)


def as_values(state: EditedState) -> tuple[object, ...]:
    """A state as something that can be compared."""
    return (state.clusters, state.labels.tolist(), state.decided.tolist(), state.notes)
