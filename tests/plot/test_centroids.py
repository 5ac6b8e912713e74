"""Figures of centroids, and how single pictures are drawn."""

from __future__ import annotations

import numpy as np

from dikmeans.images import displayable
from dikmeans.plot import centroids
from dikmeans.plot.centroid_rows import centroid_rows
from dikmeans.plot.pictures import gray_map


def shown(axis) -> np.ndarray:
    (image,) = axis.images
    return np.asarray(image.get_array())


def test_the_centroids_of_a_model_are_drawn_as_they_are_with_the_number_of_their_images(
    small_digits,
):
    figure = centroids(small_digits.model, n_columns=3)
    assert len(figure.axes) == 4
    for axis, centroid, count in zip(
        figure.axes,
        small_digits.model.cluster_centers_,
        np.bincount(small_digits.model.labels_),
        strict=True,
    ):
        np.testing.assert_allclose(shown(axis) * centroid.max(), np.maximum(centroid, 0), atol=0.02)
        assert axis.get_xlabel() == str(count)


def test_a_figure_has_one_row_per_model_and_one_column_per_cluster(tmp_path):
    pictures = np.random.default_rng(0).uniform(size=(5, 8, 9))
    figure = centroid_rows({"start": pictures, "end": pictures}, title="both")
    images = [axis for axis in figure.axes if axis.images]
    assert len(images) == 10
    assert [axis.get_ylabel() for axis in figure.axes[::5]] == ["start", "end"]
    np.testing.assert_array_equal(shown(figure.axes[6]), displayable(pictures[1]))
    figure.savefig(tmp_path / "figure.png")


def test_pictures_are_stretched_to_the_unit_interval():
    stretched = displayable(np.array([[-1.0, 0.0], [1.0, 3.0]]))
    np.testing.assert_allclose(stretched, [[0, 0.25], [0.5, 1]])
    assert (displayable(np.zeros((2, 2))) == 0).all()


def test_handwriting_is_dark_on_white_and_a_photograph_is_as_it_is():
    letter = np.zeros((3, 9, 9))
    letter[:, 3:6, 3:6] = 1
    assert gray_map(letter) == "gray_r"
    assert gray_map(0.4 + 0.6 * letter) == "gray"
    assert gray_map(np.random.default_rng(0).normal(size=(3, 9, 9))) == "gray"
