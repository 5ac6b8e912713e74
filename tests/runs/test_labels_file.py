"""labels.csv: any name comes back unchanged, and other files are refused."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.kmeans.shard import Assignment
from dikmeans.runs.labels_file import LabelRow, label_rows, rows_as_csv, rows_from_csv

# whatever a file system may hold: undecodable bytes are lone surrogates, as Python reads them
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0")
    | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
).map(lambda name: name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))
NUMBERS = st.floats(0, 1e6, allow_nan=False)


@given(
    st.lists(
        st.tuples(
            NAMES, st.integers(0, 99), st.integers(0, 9), NUMBERS, NUMBERS | st.just(math.nan)
        )
    )
)
def test_rows_with_any_name_come_back_unchanged(lines):
    rows = [LabelRow(*line) for line in lines]
    back = rows_from_csv(rows_as_csv(rows))
    assert [row[:4] for row in back] == [row[:4] for row in rows]
    np.testing.assert_array_equal([row.margin for row in back], [row.margin for row in rows])


def test_other_readers_of_csv_understand_it():
    names = [
        "a, b.png",
        'say "hi".png',
        "two\nlines.png",
        "carriage\rreturn",
        "<script>.png",
        "=1+1",
    ]
    content = rows_as_csv([LabelRow(name, 1, 2, 0.5, math.nan) for name in names])
    records = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert [record["file"] for record in records] == names
    assert {record["prototype"] for record in records} == {"2"}
    assert {record["margin"] for record in records} == {""}


def test_costs_are_rounded_to_six_digits_and_prototypes_count_within_their_cluster():
    assignment = Assignment(
        labels=np.array([2, 2, 0]),
        prototypes=np.array([3, 2, 0]),
        costs=np.array([1 / 3, 1.0, 2.0]),
        margins=np.array([2e6 / 3, 0.5, 0.25]),
        orientations=np.zeros(3, np.int8),
        warps=None,
    )
    assert label_rows(["a", "b", "c"], assignment, np.array([0, 1, 2, 2])) == [
        LabelRow("a", 2, 1, 0.333333, 666667.0),
        LabelRow("b", 2, 0, 1.0, 0.5),
        LabelRow("c", 0, 0, 2.0, 0.25),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "first line"),
        (b"name,cluster\n", "first line"),
        (b'file,cluster,prototype,cost,margin\n"a",1,0,0.5\n', "row 1"),
        (b'file,cluster,prototype,cost,margin\n"a",one,0,0.5,0.1\n', "row 1 is 'a,one,0,0.5,0.1'"),
        (b'file,cluster,prototype,cost,margin\n"a",1,0,0.5,0.1\n"b', "unexpected end|row 2"),
    ],
)
def test_other_content_is_refused_with_the_row_that_is_wrong(content, message):
    with pytest.raises(ValueError, match=message):
        rows_from_csv(content)
