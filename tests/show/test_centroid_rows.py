from __future__ import annotations

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from dikmeans.show import centroid_rows
from dikmeans.show.centroids import displayable


def test_a_figure_has_a_row_a_model_and_a_column_a_cluster(tmp_path):
    pictures = np.random.default_rng(0).uniform(size=(5, 8, 9))
    figure = centroid_rows({"start": pictures, "end": pictures}, title="both")
    images = [axis for axis in figure.axes if axis.images]
    assert len(images) == 10
    assert [axis.get_ylabel() for axis in figure.axes[::5]] == ["start", "end"]
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_pictures_are_stretched_to_the_unit_interval():
    shown = displayable(np.array([[-1.0, 0.0], [1.0, 3.0]]))
    assert shown.min() == 0
    assert shown.max() == 1
    assert (displayable(np.zeros((2, 2))) == 0).all()
