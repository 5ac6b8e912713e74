"""Figures of a fitted model show what the model holds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dikmeans import DIKMeans, Search, plot
from dikmeans.images import displayable


def data_of(axis) -> np.ndarray:
    return np.asarray(axis.images[0].get_array())


def test_an_alignment_shows_image_centroid_warp_grid_residual_and_costs(small_digits):
    image, model = small_digits.X[3], small_digits.model
    one = model.align(image[None])[0]
    figure = plot.alignment(model, image)
    picture, centroid, warped, grid, residual, costs = figure.axes
    np.testing.assert_array_equal(data_of(picture), displayable(image))
    np.testing.assert_array_equal(data_of(centroid), displayable(model.cluster_centers_[one.label]))
    np.testing.assert_array_equal(data_of(warped), displayable(one.warped))
    np.testing.assert_allclose(data_of(residual), one.residual)
    assert centroid.get_title() == f"centroid {one.label}"
    # the first line of the grid is the first row of the deformed grid, as x and y
    np.testing.assert_allclose(grid.lines[0].get_xydata(), one.grid[0, :, ::-1])
    heights = {round(bar.get_x() + bar.get_width() / 2): 0.0 for bar in costs.patches}
    for bar in costs.patches:
        heights[round(bar.get_x() + bar.get_width() / 2)] += bar.get_height()
    np.testing.assert_allclose([heights[k] for k in range(4)], one.costs, rtol=1e-5)


def test_prototypes_are_below_their_cluster_with_their_numbers_of_images(small_digits):
    model = DIKMeans(2, n_prototypes=3, random_state=0, search=Search(n_swaps=0), max_iter=2)
    figure = plot.prototypes(model.fit(small_digits.X), title="prototypes")
    assert len(figure.axes) == len(model.prototypes_) == 6
    assert [axis.get_title() for axis in figure.axes] == ["0", "1", "", "", "", ""]
    for axis, index in zip(figure.axes, [0, 3, 1, 4, 2, 5], strict=True):  # row by row
        np.testing.assert_array_equal(data_of(axis), displayable(model.prototypes_[index]))
        assert axis.get_xlabel() == f"{model.prototype_weights_[index]:.0f}"


def test_members_are_shown_before_and_after_alignment_from_best_to_worst(small_digits):
    model, X = small_digits.model, small_digits.X
    cluster = int(model.labels_[0])
    members = X[model.labels_ == cluster]
    alignments = model.align(members)
    order = np.argsort(alignments.cost, kind="stable")
    figure = plot.members(model, X, cluster, most=len(members))
    above, below = np.array(figure.axes).reshape(2, -1)
    np.testing.assert_array_equal(data_of(above[0]), displayable(model.cluster_centers_[cluster]))
    for rank, i in enumerate(order, start=1):
        np.testing.assert_array_equal(data_of(above[rank]), displayable(members[i]))
        np.testing.assert_array_equal(data_of(below[rank]), displayable(alignments.aligned[i]))


def test_pictures_on_paper_are_drawn_dark_on_light_whatever_centroids_are(small_digits):
    model, X = small_digits.model, 20 - small_digits.X
    picture, *_ = plot.alignment(model, X[3]).axes
    cluster = int(model.predict(X)[0])
    first_member = plot.members(model, X, cluster, most=3).axes[1]
    for axis in (picture, first_member):
        assert axis.images[0].get_cmap().name == "gray"


def test_of_many_members_the_best_the_worst_and_one_between_are_shown(small_digits):
    model, X = small_digits.model, small_digits.X
    cluster = int(model.labels_[0])
    by_cost = np.sort(model.assignment_.costs[model.labels_ == cluster])
    below = plot.members(model, X, cluster, most=3).axes[5:]
    costs = [by_cost[0], by_cost[round((len(by_cost) - 1) / 2)], by_cost[-1]]
    assert [axis.get_xlabel() for axis in below] == [f"{cost:.2g}" for cost in costs]


@pytest.mark.parametrize("cluster", [-1, 4])
def test_a_cluster_that_does_not_exist_is_refused(small_digits, cluster):
    with pytest.raises(ValueError, match=f"cluster={cluster}: there are clusters 0 to 3"):
        plot.members(small_digits.model, small_digits.X, cluster)


def test_a_cluster_without_images_is_refused(small_digits):
    others = small_digits.X[small_digits.model.labels_ != 2]
    with pytest.raises(ValueError, match="cluster=2 has none"):
        plot.members(small_digits.model, others, 2)


def test_a_history_shows_every_iteration_and_breaks_the_line_between_phases(small_digits):
    iterations = small_digits.model.history_.iterations
    above, below = plot.history(small_digits.model).axes
    drawn = np.concatenate([line.get_ydata() for line in above.lines])
    np.testing.assert_allclose(drawn, [r.inertia / r.n_images for r in iterations])
    assert [bar.get_height() for bar in below.patches] == [
        iteration.moved for iteration in iterations
    ]
    assert len(above.lines) >= len({iteration.phase for iteration in iterations}) > 1


def test_figures_leave_pyplot_and_the_callers_settings_alone(small_digits, tmp_path):
    import matplotlib

    pyplot = sys.modules.get("matplotlib.pyplot")
    opened = pyplot.get_fignums() if pyplot else []
    before = dict(matplotlib.rcParams)
    plot.centroids(small_digits.model).savefig(tmp_path / "a.png")
    plot.alignment(small_digits.model, small_digits.X[0]).savefig(tmp_path / "b.svg")
    assert dict(matplotlib.rcParams) == before
    assert (sys.modules["matplotlib.pyplot"].get_fignums() if pyplot else []) == opened


def test_without_matplotlib_the_message_says_what_to_install(small_digits, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'dikmeans\[plot\]'"):
        plot.centroids(small_digits.model)


def test_figures_show_originals_where_they_are_given(digits_by_class):
    small = digits_by_class[:2, :12].reshape(-1, 28, 28)
    large = np.kron(small, np.ones((1, 2, 2)))[..., None] * np.array([1.0, 0.4, 0.2])
    model = DIKMeans(2, n_prototypes=1, random_state=0, search=Search(n_swaps=0)).fit(small)
    for figure in (plot.centroids(model, small, large), plot.prototypes(model, small, large)):
        shapes = {axis.images[0].get_array().shape for axis in figure.axes}
        assert shapes == {(56, 56, 3)}
    figure = plot.members(model, small, 0, large, most=3)
    drawn = [axis.images[0].get_array() for axis in figure.axes if axis.images]
    assert sum(picture.shape == (56, 56, 3) for picture in drawn) == 6
    figure = plot.alignment(model, small[0], large[0])
    assert figure.axes[0].get_title() == "original"
    assert figure.axes[0].images[0].get_array().shape == (56, 56, 3)
    with pytest.raises(ValueError, match="not the images X"):
        plot.centroids(model, originals=large)
