"""What the paper's figures show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_digits

from dikmeans.evaluation import embed
from dikmeans.paper.figures.plot_accuracy import accuracy_against_distortion
from dikmeans.paper.figures.plot_centroids import centroid_overview
from dikmeans.paper.figures.plot_embedding import embedding, spread_out
from dikmeans.paper.figures.plot_time import time_growth
from dikmeans.paper.figures.plot_transformations import transformations
from dikmeans.paper.figures.time_growth import TimeGrowth
from tests.paper.toy_data import invented_run


@pytest.fixture(scope="module")
def eights() -> tuple[np.ndarray, np.ndarray]:
    """90 real digits 0 to 3 of 8 x 8 pixels, and their labels."""
    digits = load_digits()
    chosen = digits.target < 4
    return digits.images[chosen][:90], digits.target[chosen][:90]


def directions(lines) -> np.ndarray:
    """The unit vectors of all steps along lines."""
    steps = np.concatenate([np.diff(line.get_xydata(), axis=0) for line in lines])
    return steps / np.linalg.norm(steps, axis=1, keepdims=True)


def test_an_image_stands_over_the_grid_of_its_warp(eights):
    image = eights[0][0]
    figure = transformations(image, landmarks=4)
    above, below = np.array(figure.axes).reshape(2, 3)
    np.testing.assert_allclose(above[0].images[0].get_array(), image / image.max(), atol=1e-6)
    identity, affine, spline = (axis.lines for axis in below)
    assert len(identity) == 16  # eight rows and eight columns
    # identity: rows and columns stay where they are, straight
    for number, line in enumerate(identity[:8]):
        np.testing.assert_allclose(line.get_ydata(), number, atol=1e-9)
        np.testing.assert_allclose(line.get_xdata(), np.arange(8), atol=1e-9)
    # affine: all rows have one direction, all columns another
    for family in (affine[:8], affine[8:]):
        np.testing.assert_allclose(np.ptp(directions(family), axis=0), 0, atol=1e-9)
    assert np.abs(directions(affine[:8])[0] - directions(identity[:8])[0]).max() > 0.1
    # spline: they bend, but do not fold
    assert np.ptp(directions(spline[:8]), axis=0).max() > 0.1


def test_the_picture_above_is_the_original_read_along_the_lines_below(eights):
    image = eights[0][0]
    figure = transformations(image, landmarks=4, seed=3)
    above, below = np.array(figure.axes).reshape(2, 3)
    for picture, grid in zip(above, below, strict=True):
        places = np.stack([line.get_xydata()[:, ::-1] for line in grid.lines[:8]])
        read = map_coordinates(np.pad(image, 9), np.moveaxis(places, 2, 0) + 9, order=1)
        np.testing.assert_allclose(picture.images[0].get_array(), read / read.max(), atol=1e-5)


def test_accuracy_against_distortion_has_one_dot_per_run_and_the_line_of_polyfit():
    rng = np.random.default_rng(0)
    records = [
        invented_run(seed, accuracy=a, distortion=d)
        for seed, (a, d) in enumerate(
            zip(rng.uniform(0.4, 0.9, 12), rng.uniform(100, 900, 12), strict=True)
        )
    ]
    (axis,) = accuracy_against_distortion(records).axes
    across = np.array([record.distortion / record.train_size for record in records])
    up = np.array([100 * record.test["accuracy"] for record in records])
    np.testing.assert_allclose(axis.collections[0].get_offsets(), np.column_stack([across, up]))
    (line,) = axis.lines
    slope, intercept = np.polyfit(across, up, 1)
    np.testing.assert_allclose(line.get_ydata(), slope * line.get_xdata() + intercept)


def test_a_panel_of_an_embedding_has_one_point_per_image_in_the_group_of_its_label(eights):
    images, labels = eights
    points = {"raw": embed(images), "flipped": embed(images[:, ::-1])}
    names = ["null", "one", "two", "three"]
    figure = embedding(points, labels, class_names=names, images=dict.fromkeys(points, images))
    assert [axis.get_title() for axis in figure.axes] == ["raw", "flipped"]
    for axis, positions in zip(figure.axes, points.values(), strict=True):
        assert [cloud.get_label() for cloud in axis.collections] == names
        for label, cloud in enumerate(axis.collections):
            np.testing.assert_allclose(cloud.get_offsets(), positions[labels == label])
        assert len(axis.images) == len(
            spread_out(positions, 0.085)
        )  # thumbnails, where there is space


def test_points_and_labels_must_be_as_many(eights):
    with pytest.raises(ValueError, match=r"points\['raw'\] has shape \(5, 2\); expected \(90, 2\)"):
        embedding({"raw": np.zeros((5, 2))}, eights[1])


def test_thumbnails_keep_their_distance():
    points = np.random.default_rng(0).uniform(size=(200, 2))
    chosen = points[spread_out(points, 0.2)]
    apart = np.abs(chosen[:, None] - chosen[None]).max(axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= 0.2


def test_time_is_drawn_as_measured_with_the_power_it_grows_by():
    sides = (2, 4, 8)
    seconds = {"AI K-means": np.full(3, 2.0), "DI K-means": 0.5 * np.array(sides) ** 3.0}
    figure = time_growth([TimeGrowth("landmarks", sides, seconds)], note="busy")
    (axis,) = figure.axes
    for line, expected in zip(axis.lines, seconds.values(), strict=True):
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([[4, 16, 64], expected]))
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    # the side cubed is the number of landmarks to the power of 3/2
    assert labels == ["AI K-means (power 0.00)", "DI K-means (power 1.50)"]


def test_an_overview_shows_the_first_centroids_of_each_set_and_says_how_many_there_are():
    images = np.random.default_rng(0).uniform(size=(5, 8, 9))
    figure = centroid_overview({"five": {"end": images}, "two": {"end": images[:2]}}, max_shown=3)
    blocks = figure.subfigs
    assert [block.get_suptitle() for block in blocks] == ["five (3 of 5)", "two"]
    assert [sum(bool(axis.images) for axis in block.axes) for block in blocks] == [3, 2]
