r"""Where a centroid lies and how large it is: the freedom that an invariant measure leaves open.

The cost hardly changes if a centroid is moved, stretched or bent and all warps of its members are changed
to match. Left to itself a centroid may wander to a corner or shrink, and lose sharpness. The natural choice
is the pose in which its members need no deformation *on average*: the centroid is warped by the mean of their
parameters (or against it, if the images are the ones that are warped).
"""

from __future__ import annotations

import numpy as np

from dikmeans.kmeans.task import Clustering, Task
from dikmeans.images import scale_to_unit_norm

_SIGN = {"centroid-to-image": 1.0, "image-to-centroid": -1.0}


def to_mean_pose(task: Task, clustering: Clustering) -> np.ndarray:
    """Centroids brought to the mean pose of their members; those without members stay."""
    if task.measure.exact:
        return clustering.centroids
    labels, n_clusters = clustering.labels, len(clustering.centroids)
    own = clustering.own_deltas
    means = np.zeros((n_clusters, *own.shape[1:]), np.float32)
    for k in range(n_clusters):
        members = (labels == k) & (task.weights > 0)
        if members.any():
            means[k] = np.average(own[members], axis=0, weights=task.weights[members])
    sign = _SIGN[task.measure.direction]
    posed = task.measure.render(clustering.centroids, np.arange(n_clusters), sign * means)
    return scale_to_unit_norm(posed) if task.unit_norm else posed
