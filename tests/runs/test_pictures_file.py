"""The pictures of a run in a file: what they are, and what their labels are called, is kept."""

import numpy as np
import pytest

from dikmeans.datasets import Card, ImageSet
from dikmeans.runs.pictures_file import read_pictures, write_pictures


@pytest.mark.parametrize(
    ("kind", "label_source", "frame"), [("picture", "folders", "fit"), ("sound", None, "stretch")]
)
def test_a_set_is_read_as_it_was_written(tmp_path, kind, label_source, frame):
    pictures = np.random.default_rng(0).random((3, 5, 4)).astype(np.float32)
    labels = None if label_source is None else np.array([0, 1, 0])
    classes = () if label_source is None else ("a", "b")
    written = ImageSet(
        *(pictures, labels, classes, ("x", "y", "z"), Card("a set", "-", "-", "-", "-")),
        label_source=label_source,
        kind=kind,
        frame=frame,
    )
    assert write_pictures(tmp_path / "pictures", written)
    read = read_pictures(tmp_path / "pictures", ("x", "y", "z"))
    np.testing.assert_array_equal(read.images, pictures)
    assert (read.kind, read.label_source, read.frame) == (kind, label_source, frame)
    assert (read.class_names, read.card) == (written.class_names, written.card)
