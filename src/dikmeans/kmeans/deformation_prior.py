r"""The learned deformation prior: which deformations are typical, estimated from a clustering.

Bending energy calls a deformation costly if it bends, and nothing else. But sevens slant, ones grow
long, and no five turns upside down: what is typical depends on what the pictures show. Once the
bending energy has led to a clustering, the warps between all images and their centroids, with
parameters :math:`\delta_i` minus the identity, tell, and the penalty becomes

.. math::
    \delta^T Q_k\,\delta, \qquad Q_k = s\,C_k^{-1}, \qquad
    C_k = (1 - m)\,\mathrm{cov}_k(\delta) + m\,\overline{\mathrm{cov}}(\delta) + r I,

the squared Mahalanobis distance from the identity under the covariance of the warps in cluster k
(:math:`\overline{\mathrm{cov}}` is the mean over all clusters, :math:`r` a share of its mean
variance): minus twice the logarithm of a Gaussian prior with precision :math:`Q_k`. Directions in
which members vary become cheap, all others, affine ones included, expensive. The scale :math:`s` is
set so that deformation makes up a fixed part of the members' cost.

It is learned from warps that were found under the bending energy and then held fixed: learned again
and again from its own warps it would shrink to nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dikmeans._typing import FloatArray
from dikmeans.kmeans.centroid_update import weight_per_cluster
from dikmeans.kmeans.dataset import Clustering, Dataset
from dikmeans.registration.measure import Measure

# Mean cost of the deformation, as a part of the mean squared residual.
DEFORMATION_SHARE = 0.5
# m: how far a cluster's covariance is shrunk toward the mean of all.
SHRINKAGE = 0.5
# r: variance of directions that no warp has taken, relative to the mean variance.
RIDGE = 0.1


def learn_deformation_prior(
    dataset: Dataset, measure: Measure, clustering: Clustering, *, shared: bool = False
) -> FloatArray | None:
    """Precision matrices (K, 2 n_basis, 2 n_basis); None if there is nothing to learn from.

    Parameters
    ----------
    dataset : Dataset
        In memory.
    measure : Measure
        With the bending energy as penalty.
    clustering : Clustering
        Found under that measure.
    shared : bool, default=False
        Whether all clusters get the same matrix.
    """
    fit, n_clusters = dataset.local_fit(measure, clustering), len(clustering.centroids)
    labels, all_weights = fit.labels, fit.weights
    bending = measure.penalty(fit.nearest_deltas, labels)
    residual = fit.nearest_costs / measure.intensity.energies(fit.images) - bending
    deltas = fit.nearest_deltas.reshape(len(labels), -1).astype(float)
    covariances = np.zeros((n_clusters, deltas.shape[1], deltas.shape[1]))
    totals = weight_per_cluster(labels, all_weights, n_clusters)
    for cluster in np.flatnonzero(totals):
        members = labels == cluster
        weights = all_weights[members]
        deltas[members] -= np.average(deltas[members], axis=0, weights=weights)
        covariances[cluster] = (deltas[members].T * weights) @ deltas[members] / totals[cluster]
    pooled = np.average(covariances, axis=0, weights=totals)
    variance = np.trace(pooled) / len(pooled)
    mean_residual = np.average(residual, weights=all_weights)
    if not (variance > 0 and mean_residual > 0):
        return None
    shrinkage = 1.0 if shared else SHRINKAGE
    covariances = (1 - shrinkage) * covariances + shrinkage * pooled
    covariances += RIDGE * variance * np.eye(len(pooled))
    inverses = np.stack([inverse_of(covariance) for covariance in covariances])
    distances = np.empty(len(deltas))
    for k, inverse in enumerate(inverses):
        rows = deltas[labels == k]
        distances[labels == k] = np.einsum("ni,ij,nj->n", rows, inverse, rows, optimize=True)
    scale = DEFORMATION_SHARE * mean_residual / np.average(distances, weights=all_weights)
    precision: FloatArray = scale * inverses
    return precision


def inverse_of(covariance: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix, exactly symmetric."""
    factor, failed = linalg.lapack.dpotrf(covariance)
    upper, singular = linalg.lapack.dpotri(factor)
    if failed or singular:
        raise np.linalg.LinAlgError("The covariance of the deformations is singular.")
    inverse: FloatArray = np.triu(upper) + np.triu(upper, 1).T
    return inverse
