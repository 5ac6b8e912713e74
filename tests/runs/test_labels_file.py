"""labels.csv: any name comes back, and what is no such file does not get in."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.kmeans.assignment import Assignments
from dikmeans.runs.labels_file import LabelRow, label_rows, rows_as_csv, rows_from_csv

# whatever a file system may hold: undecodable bytes are lone surrogates, as Python reads them
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0")
    | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
).map(lambda name: name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))
NUMBERS = st.floats(0, 1e6, allow_nan=False)


@given(st.lists(st.tuples(NAMES, st.integers(0, 99), NUMBERS, NUMBERS | st.just(math.nan))))
def test_any_name_survives(lines):
    rows = [LabelRow(*line) for line in lines]
    back = rows_from_csv(rows_as_csv(rows))
    assert [(row.file, row.cluster, row.cost) for row in back] == [
        (r.file, r.cluster, r.cost) for r in rows
    ]
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
    content = rows_as_csv([LabelRow(name, 1, 0.5, math.nan) for name in names])
    found = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert [row["file"] for row in found] == names
    assert {row["margin"] for row in found} == {""}


def test_costs_are_rounded_to_six_digits():
    assignments = Assignments(np.array([2]), np.array([1 / 3]), np.array([2e6 / 3]))
    assert label_rows(["a"], assignments) == [LabelRow("a", 2, 0.333333, 666667.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "first line"),
        (b"name,cluster\n", "first line"),
        (b'file,cluster,cost,margin\n"a",1,0.5\n', "row 1"),
        (b'file,cluster,cost,margin\n"a",one,0.5,0.1\n', "row 1 is 'a,one,0.5,0.1'"),
        (b'file,cluster,cost,margin\n"a",1,0.5,0.1\n"b', "unexpected end|row 2"),
    ],
)
def test_what_is_no_labels_file_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        rows_from_csv(content)
