"""One hyper-parameter chosen by the training distortion, in every fit: the paper's rule.

Unlike `dikmeans.paper.label_free_search` it fits each value once and keeps the best of these fits,
and its parameters are plain values, so that a run of the table is known by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sklearn.base import BaseEstimator, ClusterMixin, clone

from dikmeans._typing import Array, IntArray
from dikmeans.evaluation.n_clusters import Clusterer


class LowestDistortion(ClusterMixin, BaseEstimator):
    """An estimator with that value of a parameter under which the training distortion is lowest.

    Parameters
    ----------
    estimator : estimator
        With ``fit``, ``predict``, and ``inertia_`` and ``labels_`` after it. Cloned for each value.
    parameter : str
        Name of the parameter, such as "solver__low_pass".
    values : sequence
        What to choose among.

    Attributes
    ----------
    best_estimator_ : estimator
        The fit that was kept.
    best_value_ : object
    distortions_ : list of float
        ``inertia_`` under each of the values.
    labels_, inertia_
        Those of the fit that was kept.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_digits
    >>> model = LowestDistortion(KMeans(3, random_state=0), "n_init", (1, 5))
    >>> model.fit(load_digits().data[:90]).inertia_ == min(model.distortions_)
    True
    """

    def __init__(self, estimator: Clusterer, parameter: str, values: Sequence[object]):
        self.estimator = estimator
        self.parameter = parameter
        self.values = values

    def fit(self, X: Array, y: None = None) -> Self:
        """Fit with each value, and keep the fit with the lowest distortion."""
        self.distortions_: list[float] = []
        for value in self.values:
            fitted = clone(self.estimator).set_params(**{self.parameter: value}).fit(X)
            self.distortions_.append(float(fitted.inertia_))
            if fitted.inertia_ == min(self.distortions_):
                self.best_estimator_, self.best_value_ = fitted, value
        self.labels_: IntArray = self.best_estimator_.labels_
        self.inertia_ = min(self.distortions_)
        return self

    def predict(self, X: Array) -> IntArray:
        """The clusters of images, by the fit that was kept."""
        labels: IntArray = self.best_estimator_.predict(X)
        return labels
