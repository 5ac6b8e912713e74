"""Figures of a user's own model."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dikmeans import DIKMeans, show
from dikmeans.images import displayable


def data_of(axis) -> np.ndarray:
    return np.asarray(axis.images[0].get_array())


def test_an_alignment_shows_image_centroid_warp_grid_residual_and_costs(eights):
    image, model = eights.X[3], eights.model
    one = model.align(image[None])[0]
    figure = show.alignment(model, image)
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


def test_forms_stand_under_their_cluster_with_their_numbers_of_images(eights):
    model = DIKMeans(2, n_prototypes=3, random_state=0, n_swaps=0, max_iter=2).fit(eights.X)
    figure = show.forms(model, title="forms")
    assert len(figure.axes) == len(model.prototypes_) == 6
    assert [axis.get_title() for axis in figure.axes] == ["0", "1", "", "", "", ""]
    for axis, form in zip(figure.axes, [0, 3, 1, 4, 2, 5], strict=True):  # row by row
        np.testing.assert_array_equal(data_of(axis), displayable(model.prototypes_[form]))
        assert axis.get_xlabel() == f"{model.prototype_weights_[form]:.0f}"


def test_members_are_shown_as_they_are_above_and_aligned_below_from_best_to_worst(eights):
    model, X = eights.model, eights.X
    cluster = int(model.labels_[0])
    mine = X[model.labels_ == cluster]
    alignments = model.align(mine)
    order = np.argsort(alignments.cost, kind="stable")
    figure = show.members(model, X, cluster, most=len(mine))
    above, below = np.array(figure.axes).reshape(2, -1)
    np.testing.assert_array_equal(data_of(above[0]), displayable(model.cluster_centers_[cluster]))
    for rank, i in enumerate(order, start=1):
        np.testing.assert_array_equal(data_of(above[rank]), displayable(mine[i]))
        np.testing.assert_array_equal(data_of(below[rank]), displayable(alignments.aligned[i]))


def test_of_many_members_the_best_the_worst_and_some_between_are_shown(eights):
    model, X = eights.model, eights.X
    figure = show.members(model, X, int(model.labels_[0]), most=3)
    assert len(figure.axes) == 2 * (1 + 3)


@pytest.mark.parametrize("cluster", [-1, 4])
def test_a_cluster_that_is_not_there_is_named(eights, cluster):
    with pytest.raises(ValueError, match=f"cluster={cluster}: there are clusters 0 to 3"):
        show.members(eights.model, eights.X, cluster)


def test_a_cluster_without_images_is_named(eights):
    others = eights.X[eights.model.labels_ != 2]
    with pytest.raises(ValueError, match="cluster=2 has none"):
        show.members(eights.model, others, 2)


def test_a_history_shows_every_iteration_and_breaks_the_line_between_phases(eights):
    iterations = eights.model.history_.iterations
    above, below = show.history(eights.model).axes
    drawn = np.concatenate([line.get_ydata() for line in above.lines])
    np.testing.assert_allclose(drawn, [iteration.distortion for iteration in iterations])
    assert [bar.get_height() for bar in below.patches] == [
        iteration.moved for iteration in iterations
    ]
    assert len(above.lines) >= len({iteration.phase for iteration in iterations}) > 1


def test_figures_leave_pyplot_and_the_callers_settings_alone(eights, tmp_path):
    import matplotlib

    pyplot = sys.modules.get("matplotlib.pyplot")
    opened = pyplot.get_fignums() if pyplot else []
    before = dict(matplotlib.rcParams)
    show.centroids(eights.model).savefig(tmp_path / "a.png")
    show.alignment(eights.model, eights.X[0]).savefig(tmp_path / "b.svg")
    assert dict(matplotlib.rcParams) == before
    assert (sys.modules["matplotlib.pyplot"].get_fignums() if pyplot else []) == opened


def test_without_matplotlib_the_message_says_what_to_install(eights, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'dikmeans\[plot\]'"):
        show.centroids(eights.model)
