r"""Outliers: images that belong to no cluster.

An image is judged by its cost c in its nearest cluster k, against the costs of that cluster's
members. Above their median, logarithms of costs are close to normal, so the score of an image is

.. math::
    z = (\log c - m_k) / s_k, \qquad s_k = (q_{75} - m_k) / 0.6745,

with the median :math:`m_k` and the upper quartile :math:`q_{75}` of the members' :math:`\log c`:
robust, and blind to how far the best ones lie below. Both are shrunk toward those of all images, as
far as a cluster is small; and no median lies more than one spread above that of all images, so
that outliers that form a cluster do not excuse each other. An image is an outlier if z exceeds a
threshold. No label is involved.

While a clustering is fitted there is one cutoff for all clusters, from the costs of all images, and
an image beyond it costs no more than the cutoff: as if there were one more cluster, for noise, at
that constant cost. Outliers then neither pull centroids nor are worth one.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from dikmeans._typing import BoolArray, FloatArray, IntArray

Outliers: TypeAlias = float | Literal["auto"] | None
"""Whether there are any: none; those beyond a typical threshold; or this share of the images."""

AUTO_THRESHOLD = 2.0
# Pseudo-members from all images that every cluster gets.
SHRINKAGE = 20
# Costs that hardly differ do not make outliers: the least spread of their logarithms.
MIN_SPREAD = 0.05
# Costs below this part of the median are all alike.
LOWEST_COST = 1e-6
_QUARTILE_OF_NORMAL = 0.6745


class OutlierRule(NamedTuple):
    """How badly an image must fit to belong to no cluster.

    Attributes
    ----------
    centers, spreads : arrays of shape (K,)
        Of the logarithms of the costs of each cluster's members.
    threshold : float
        Scores above it are outliers; infinity if there are none.
    """

    centers: FloatArray
    spreads: FloatArray
    threshold: float

    def scores(self, costs: FloatArray, clusters: IntArray) -> FloatArray:
        """How many spreads the log cost of each image lies above the median of its cluster."""
        with np.errstate(divide="ignore"):  # a perfect fit scores minus infinity
            scores: FloatArray = (np.log(costs) - self.centers[clusters]) / self.spreads[clusters]
        return scores

    def are_outliers(self, costs: FloatArray, clusters: IntArray) -> BoolArray:
        """Whether the score of each image is above the threshold."""
        is_outlier: BoolArray = self.scores(costs, clusters) > self.threshold
        return is_outlier


def learn_rule(
    outliers: Outliers,
    costs: FloatArray,
    clusters: IntArray,
    weights: FloatArray | None,
    n_clusters: int,
) -> OutlierRule:
    """The rule for the costs of images in their nearest clusters.

    Where outliers are looked for it is learned twice: from all images, then without the outliers.

    Parameters
    ----------
    outliers : None, "auto" or float
    costs : array of shape (N,)
    clusters : int array of shape (N,)
    weights : array of shape (N,), optional
        Images of weight zero do not take part.
    n_clusters : int
    """
    counted = np.ones(len(costs), dtype=bool) if weights is None else weights > 0
    rule = _measured(costs[counted], clusters[counted], n_clusters)
    if outliers is None:
        return rule
    for _ in range(2):
        scores = rule.scores(costs, clusters)
        threshold = _threshold(outliers, scores[counted])
        inside = counted & (scores <= threshold)
        rule = _measured(costs[inside], clusters[inside], n_clusters)
    return rule._replace(threshold=_threshold(outliers, rule.scores(costs, clusters)[counted]))


def cutoff_for(outliers: Outliers, costs: FloatArray, weights: FloatArray | None) -> float:
    """The cost beyond which images count as outliers while a clustering is fitted."""
    if outliers is None:
        return np.inf
    rule = learn_rule(outliers, costs, np.zeros(len(costs), dtype=int), weights, 1)
    return float(np.exp(rule.centers[0] + rule.threshold * rule.spreads[0]))


def _threshold(outliers: Outliers, scores: FloatArray) -> float:
    if outliers is None:
        return np.inf
    if outliers == "auto":
        return AUTO_THRESHOLD
    return float(np.quantile(scores, 1 - float(outliers)))


def _measured(costs: FloatArray, clusters: IntArray, n_clusters: int) -> OutlierRule:
    """Centers and spreads, without a threshold."""
    logs = _log(costs)
    center, spread = _upper_half(logs)
    centers, spreads = np.full(n_clusters, center), np.full(n_clusters, spread)
    for k in np.unique(clusters):
        members = logs[clusters == k]
        own = len(members) / (len(members) + SHRINKAGE)
        own_center, own_spread = _upper_half(members)
        centers[k] = min(own * own_center + (1 - own) * center, center + spread)
        spreads[k] = own * own_spread + (1 - own) * spread
    return OutlierRule(centers, np.maximum(spreads, MIN_SPREAD), np.inf)


def _log(costs: FloatArray) -> FloatArray:
    positive = costs[costs > 0]
    lowest = LOWEST_COST * np.median(positive) if len(positive) else 1.0
    logs: FloatArray = np.log(np.maximum(costs, lowest))
    return logs


def _upper_half(logs: FloatArray) -> tuple[float, float]:
    median, quartile = np.quantile(logs, [0.5, 0.75])
    return float(median), float(quartile - median) / _QUARTILE_OF_NORMAL
