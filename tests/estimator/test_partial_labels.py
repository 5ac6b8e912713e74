"""Partial labels: labeled images stay with their class, clusters bear its name."""

from __future__ import annotations

import numpy as np
import pytest

from dikmeans.checkpoint.folder import CheckpointError
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.kmeans.partial_labels import parse_labels
from tests.helpers import quick


@pytest.fixture(scope="module")
def letters(digits_by_class):
    """Sixty digits 0, 1 and 4, and their classes."""
    X = digits_by_class[[0, 1, 4], :20].reshape(60, 28, 28)
    return X, np.repeat([0, 1, 4], 20)


def some_labels(y, *numbers, unknown=-1):
    partial = np.full(len(y), unknown, dtype=object)
    for number in numbers:
        partial[number] = f"digit {y[number]}"
    return partial


def test_labeled_images_are_in_the_cluster_with_the_name_of_their_class(letters):
    X, y = letters
    partial = some_labels(y, 0, 3, 20, 44)
    partial[5] = "digit 4"  # a person may say so, whatever it looks like
    model = quick(n_clusters=3).fit(X, partial)
    assert sorted(model.cluster_names_) == ["digit 0", "digit 1", "digit 4"]
    for number in np.flatnonzero(partial != -1):
        assert model.cluster_names_[model.labels_[number]] == partial[number]
    assert np.flatnonzero(model.decided_ >= 0).tolist() == [0, 3, 5, 20, 44]
    free = model.decided_ < 0
    np.testing.assert_array_equal(model.predict(X)[free], model.labels_[free])


def test_a_class_without_a_label_is_still_found(letters):
    X, y = letters
    model = quick(n_clusters=3, max_iter=10).fit(X, some_labels(y, 0, 1, 2, 20, 21, 22))
    assert sorted(map(str, model.cluster_names_)) == ["None", "digit 0", "digit 1"]
    unnamed = model.cluster_names_.index(None)
    assert (model.labels_[y == 4] == unnamed).mean() > 0.8
    assert clustering_accuracy(y, model.labels_) > 0.8


def test_weak_labels_are_left_where_the_images_say_otherwise(letters):
    X, y = letters
    partial = some_labels(y, 0, 1, 2, 20, 21, 22, 40, 41, 42)
    partial[5] = "digit 1"
    strong = quick(n_clusters=3, n_prototypes=1).fit(X, partial)
    weak = quick(n_clusters=3, n_prototypes=1).fit(X, partial, label_strength=1e-6)
    assert strong.cluster_names_[strong.labels_[5]] == "digit 1"
    assert weak.cluster_names_[weak.labels_[5]] == "digit 0"


def test_a_y_without_unknown_classes_is_ignored_as_by_all_clusterers(letters):
    X, y = letters
    plain, full = quick(n_clusters=2).fit(X), quick(n_clusters=2).fit(X, y)
    np.testing.assert_array_equal(plain.labels_, full.labels_)
    assert full.cluster_names_ == (None, None)


@pytest.mark.parametrize(
    "y",
    [
        [-1, 2, 2, -1, 7],
        [np.nan, 2.0, 2.0, np.nan, 7.0],
        [None, 2, "2", "", 7],
        np.array(["-1", "2", "2", "-1", "7"]),
    ],
)
def test_unknown_classes_may_be_written_in_several_ways(y):
    labels = parse_labels(y, 5, 3)
    assert labels.numbers.tolist() == [1, 2, 4]
    assert labels.classes.tolist() == [0, 0, 1]
    assert labels.names == ("2", "7")


def test_labels_that_do_not_fit_are_refused(letters):
    X, _ = letters
    with pytest.raises(ValueError, match="3 labels for 60 images"):
        quick(n_clusters=3).fit(X, [-1, 1, 2])
    many = np.arange(-1, 59)
    with pytest.raises(ValueError, match="59 classes, but n_clusters=3"):
        quick(n_clusters=3).fit(X, many)
    with pytest.raises(ValueError, match="label_strength"):
        quick(n_clusters=3).fit(X, many, label_strength=0)


def test_labels_need_images_in_memory(letters, tmp_path):
    X, y = letters
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match=r"only be used with images in memory.*`predict`"):
        quick(n_clusters=3).fit(mapped, some_labels(y, 0))
    pieces = iter([X[:30], X[30:]])
    with pytest.raises(ValueError, match="images in memory"):
        quick(n_clusters=3).fit(pieces, some_labels(y, 0))
    assert len(list(pieces)) == 2  # none was read in vain


def test_a_checkpoint_continues_with_the_same_labels_only(letters, tmp_path):
    X, y = letters
    partial = some_labels(y, 0, 20, 40)
    whole = quick(n_clusters=3).fit(X, partial)
    events = []

    def stop(event):
        events.append(event)
        return len(events) == 12

    with pytest.warns(UserWarning, match="stopped by a callback"):
        quick(n_clusters=3).fit(X, partial, checkpoint=tmp_path / "fit", progress=stop)
    with pytest.raises(CheckpointError, match="another fit"):
        quick(n_clusters=3).fit(X, some_labels(y, 1, 20, 40), checkpoint=tmp_path / "fit")
    again = quick(n_clusters=3).fit(X, partial, checkpoint=tmp_path / "fit")
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    assert again.cluster_names_ == whole.cluster_names_
