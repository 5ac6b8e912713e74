"""One hyper-parameter chosen by the training distortion."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from dikmeans.paper.lowest_distortion import LowestDistortion


def test_the_fit_with_the_lowest_distortion_is_kept_and_predicts():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = LowestDistortion(KMeans(n_init=1, random_state=0), "n_clusters", (2, 9, 4)).fit(X)
    nine = KMeans(9, n_init=1, random_state=0).fit(X)
    assert model.best_value_ == 9
    assert model.inertia_ == nine.inertia_ == min(model.distortions_)
    np.testing.assert_array_equal(model.labels_, nine.labels_)
    np.testing.assert_array_equal(model.predict(X[:9]), nine.predict(X[:9]))
    assert model.estimator.n_clusters == 8  # what was given stays as it was
