"""Labels from folders and tables: only what is asked for, and every contradiction named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dikmeans.datasets import CorruptFileError, LabelsFileError, MissingDataError
from dikmeans.datasets.labels import find_labels

NAMES = ("a.png", "day 1/b.png", "c.png")
ROOT = Path("pictures")


@pytest.fixture
def table(tmp_path):
    def write(content: str | bytes) -> Path:
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        "file,label\na.png,x\nday 1/b.png,y\nc.png,x\n",
        "label,remark,file\nx,,a.png\ny,,day 1/b.png\nx,?,c.png\n",
        "name,kind\na.png,x\nday 1/b.png,y\nc.png,x\n",
        "a.png,x\nday 1/b.png,y\nc.png,x\n",
        "File;Label\r\na.png;x\r\nday 1\\b.png;y\r\n./c.png;x\r\n\r\n",
        "\ufefffile\tlabel\na.png\tx\nday 1/b.png\ty\nc.png\tx",
        'file,label\n"a.png","x"\nday 1/b.png,y\na.png,x\nc.png, x \n',
    ],
    ids=["plain", "columns", "other header", "no header", "windows", "bom, tabs", "repeated"],
)
def test_tables_are_read_as_people_write_them(table, content):
    labels = find_labels(NAMES, table(content), ROOT)
    assert labels.numbers.tolist() == [0, 1, 0]
    assert labels.class_names == ("x", "y")
    assert labels.source == "labels in labels.csv"


def test_names_that_are_not_utf8_are_found(table):
    name = b"\xe9t\xe9.png".decode("utf-8", "surrogateescape")
    labels = find_labels([name, "b.png"], table(b"file,label\n\xe9t\xe9.png,x\nb.png,y\n"), ROOT)
    assert labels.numbers.tolist() == [0, 1]


def test_files_that_could_not_be_read_may_have_a_label(table):
    path = table("a.png,x\nday 1/b.png,y\nc.png,x\nbroken.png,y\n")
    assert find_labels(NAMES, path, ROOT, others=["broken.png"]).numbers.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ("a.png,x\nc.png,x\n", LabelsFileError, r"no label for 1 of 3 files: 'day 1/b\.png'"),
        ("a.png,x\nday 1/b.png,\nc.png,x\n", LabelsFileError, r"no label for 1 .*'day 1/b\.png'"),
        (
            "a.png,x\nday 1/b.png,y\nc.png,x\nd.png,x\n",
            LabelsFileError,
            r"names 1 file\(s\) that are not there: 'd\.png'",
        ),
        (
            "a.png,x\nday 1/b.png,y\nc.png,x\na.png,y\n",
            LabelsFileError,
            r"two labels for 'a\.png' \('x' and 'y'\)",
        ),
        ("file\na.png\n", CorruptFileError, "must have two columns"),
        ("", CorruptFileError, "is empty"),
        (b"\x89PNG\r\n\x00\x00", CorruptFileError, "not a text file"),
        ('file,label\n"a.png,x\n', CorruptFileError, "cannot be read as a table"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table, content, kind, message):
    with pytest.raises(kind, match=message) as caught:
        find_labels(NAMES, table(content), ROOT)
    assert "labels.csv" in str(caught.value)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"nowhere\.csv does not exist"):
        find_labels(NAMES, tmp_path / "nowhere.csv", ROOT)
