r"""Learned stiffness: which deformations are usual, read off a clustering.

Bending energy calls a deformation costly if it bends, and nothing else. But sevens slant, ones grow long,
and no five turns upside down: what is usual depends on what the pictures show. Once the bending energy has
led to a clustering, the warps between all images and their own centroids, with parameters :math:`\delta_i`
less the identity, tell, and the penalty becomes

.. math::
    \delta^T Q_k\,\delta, \qquad Q_k = s\,C_k^{-1}, \qquad
    C_k = (1 - m)\,\mathrm{cov}_k(\delta) + m\,\overline{\mathrm{cov}}(\delta) + r I,

the Mahalanobis distance from the deformation that is usual in cluster k (:math:`\overline{\mathrm{cov}}` is
the mean over all clusters, :math:`r` a share of its mean variance). Directions in which members vary become
cheap, all others, affine ones included, dear. The scale :math:`s` is set so that deformation makes up a
fixed part of the members' cost.

It is learned from warps that were found under the bending energy and then held fixed: learned again and
again from its own warps it would shrink to nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dikmeans.registration.warped_measure import energies_of
from dikmeans.kmeans.task import Clustering, Task

# Mean cost of the deformation, as a part of the mean squared residual.
DEFORMATION_SHARE = 0.5
# m: how far a cluster's covariance is drawn towards the mean of all.
SHRINKAGE = 0.5
# r: of variances nobody has seen, relative to the mean variance.
RIDGE = 0.1
# What single precision can work with.
MOST = 1e30


def learn_deformation_prior(task: Task, clustering: Clustering, *, shared: bool = False) -> np.ndarray | None:
    """Penalty matrices (K, 2 n_basis, 2 n_basis) for `WarpedMeasure`; None if there is nothing to learn from.

    Parameters
    ----------
    task : Task
        Its measure has the bending energy as penalty.
    clustering : Clustering
    shared : bool, default=False
        Whether all clusters get the same.
    """
    labels, n_clusters = clustering.labels, len(clustering.centroids)
    own = clustering.own_deltas
    bending = task.measure.penalty(own, labels)
    residual = clustering.own_costs / energies_of(task.images) - bending
    deltas = own.reshape(len(own), -1).astype(float)
    covariances = np.zeros((n_clusters, deltas.shape[1], deltas.shape[1]))
    totals = np.bincount(labels, weights=task.weights, minlength=n_clusters)
    for k in np.flatnonzero(totals):
        members = labels == k
        weights = task.weights[members]
        deltas[members] -= np.average(deltas[members], axis=0, weights=weights)
        covariances[k] = (deltas[members].T * weights) @ deltas[members] / totals[k]
    pooled = np.average(covariances, axis=0, weights=totals)
    variance = np.trace(pooled) / len(pooled)
    usual_residual = np.average(residual, weights=task.weights)
    if not (variance > 0 and usual_residual > 0):
        return None
    shrinkage = 1.0 if shared else SHRINKAGE
    covariances = (1 - shrinkage) * covariances + shrinkage * pooled
    covariances += RIDGE * variance * np.eye(len(pooled))
    inverses = np.stack([linalg.inv(covariance, assume_a="pos") for covariance in covariances])
    distances = np.empty(len(deltas))
    for cluster, inverse in enumerate(inverses):
        some = deltas[labels == cluster]
        distances[labels == cluster] = np.einsum("ni,ij,nj->n", some, inverse, some, optimize=True)
    scale = DEFORMATION_SHARE * usual_residual / np.average(distances, weights=task.weights)
    return scale * inverses


def is_precision(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether it holds penalties: a warp must not win anything by bending.

    Symmetric matrices, positive definite, and both in single precision.
    """
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        return False
    largest = np.abs(array).max()
    if largest > MOST or not np.allclose(array, np.swapaxes(array, 1, 2), atol=1e-6 * largest):
        return False
    return bool(np.linalg.eigvalsh((array + np.swapaxes(array, 1, 2)) / 2).min() > 1 / MOST)
