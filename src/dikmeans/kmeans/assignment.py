"""Which cluster an image belongs to, how well it fits, and how close the second choice is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans


class Assignments(NamedTuple):
    """The assignment of N images.

    Attributes
    ----------
    labels : int array of shape (N,)
        The cluster, as `DIKMeans.predict` says.
    costs : float array of shape (N,)
        Cost of the alignment with its centroid.
    margins : float array of shape (N,)
        How much more the second choice costs: near 0 the image might as well be in another cluster. NaN
        if there is one cluster only. A hopeless second choice is not aligned to the end, so
        that large margins are upper bounds.
    """

    labels: np.ndarray
    costs: np.ndarray
    margins: np.ndarray


def assign_images(model: DIKMeans, X: Any) -> Assignments:
    """The assignment of images to the centroids of a fitted model.

    Parameters
    ----------
    model : DIKMeans
    X : array of shape (N, rows, columns[, channels])

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans
    >>> X = load_digits().images[:60]
    >>> model = DIKMeans(3, random_state=0).fit(X)
    >>> labels, costs, margins = assign_images(model, X)
    >>> bool((labels == model.labels_).all()), bool((margins >= 0).all())
    (True, True)
    """
    costs = model.decision_costs(X)
    labels = costs.argmin(axis=1).astype(np.int32)
    own = costs.min(axis=1)
    if costs.shape[1] == 1:
        return Assignments(labels, own, np.full(len(own), np.nan))
    second = np.partition(costs, 1, axis=1)[:, 1]
    return Assignments(labels, own, second - own)
