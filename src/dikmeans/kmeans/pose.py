"""The pose of a centroid: where it lies and how large it is.

An invariant measure leaves it open: the cost hardly changes if a centroid is moved, stretched or
bent and all warps of its members are changed to match. Unconstrained, a centroid may drift to a
corner or shrink, and lose sharpness. The natural choice is the pose in which its members need no
deformation *on average*: the centroid is warped by the mean of their parameters (or against it, if
the images are the ones that are warped).
"""

from __future__ import annotations

import numpy as np

from dikmeans._typing import FloatArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.registration.measure import Measure

_SIGN = {"centroid-to-image": 1.0, "image-to-centroid": -1.0}


def to_mean_pose(dataset: Dataset, measure: Measure, clustering: Clustering) -> FloatArray:
    """Centroids in the mean pose of their members; those without members stay."""
    fit, n_clusters = dataset.local_fit(measure, clustering), len(clustering.centroids)
    means = np.zeros((n_clusters, *fit.nearest_deltas.shape[1:]), np.float32)
    for k in range(n_clusters):
        members = (fit.labels == k) & (fit.weights > 0)
        if members.any():
            means[k] = np.average(fit.nearest_deltas[members], axis=0, weights=fit.weights[members])
    sign = _SIGN[measure.direction]
    posed = measure.render(clustering.centroids, np.arange(n_clusters), sign * means)
    return scale_to_unit_norm(posed) if measure.unit_norm else posed
