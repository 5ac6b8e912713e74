"""Agreement of a clustering with known classes.

Clusters have no names, so accuracy is taken under the best one-to-one matching of clusters to
classes (the paper's measure):

    accuracy = max over matchings m of  1/N  sum_i [ class_i = m(cluster_i) ]

If there are more clusters than classes, members of clusters without a class count as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from dikmeans._typing import Array, ArrayLike, IntArray


@dataclass(frozen=True, eq=False)
class Confusion:
    """Number of samples of each class in each cluster, matched clusters on the diagonal.

    Attributes
    ----------
    counts : int64 array of shape (classes, clusters)
        One row per class, in the order of `classes`; one column per cluster, in the order of
        `clusters`.
    classes : array of shape (classes,)
        The distinct values of the true labels; matched ones first, sorted.
    clusters : array of shape (clusters,)
        The distinct values of the predicted labels; the one at position k is matched with class k.
    n_matched : int
        Number of matched pairs: the smaller of both numbers.
    """

    counts: IntArray
    classes: Array
    clusters: Array
    n_matched: int

    @property
    def accuracy(self) -> float:
        """Share of the samples on the diagonal."""
        return float(np.trace(self.counts) / self.counts.sum())


def confusion(y_true: ArrayLike, y_pred: ArrayLike) -> Confusion:
    """Return the confusion matrix of a clustering under the best one-to-one matching.

    Parameters
    ----------
    y_true : array of shape (N,)
        Classes; numbers or strings.
    y_pred : array of shape (N,)
        Clusters; numbers or strings.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> result = confusion(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    >>> result.classes.tolist(), result.clusters.tolist()
    (['cat', 'dog'], [1, 0])
    >>> result.counts.tolist()
    [[2, 0], [1, 1]]
    """
    true, predicted = _checked_labels(y_true, y_pred)
    classes, rows = np.unique(true, return_inverse=True)
    clusters, columns = np.unique(predicted, return_inverse=True)
    counts = np.zeros((len(classes), len(clusters)), np.int64)
    np.add.at(counts, (rows, columns), 1)
    matched_rows, matched_columns = linear_sum_assignment(counts, maximize=True)
    row_order = _followed_by_others(matched_rows, len(classes))
    column_order = _followed_by_others(matched_columns, len(clusters))
    return Confusion(
        counts[np.ix_(row_order, column_order)],
        classes[row_order],
        clusters[column_order],
        len(matched_rows),
    )


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the share of samples whose cluster is matched with their class (best matching).

    Parameters
    ----------
    y_true : array of shape (N,)
        Classes; numbers or strings.
    y_pred : array of shape (N,)
        Clusters; numbers or strings.

    Returns
    -------
    float
        In (0, 1]; 1 if clusters and classes are the same up to their names.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> clustering_accuracy([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return confusion(y_true, y_pred).accuracy


def scores(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str, float]:
    """Return accuracy, NMI and ARI at once.

    Parameters
    ----------
    y_true, y_pred : array of shape (N,)
        Classes and clusters.

    Returns
    -------
    dict
        ``accuracy`` (`clustering_accuracy`), ``nmi`` (normalized mutual information, arithmetic
        mean) and ``ari`` (adjusted Rand index); all are 1 for a perfect clustering.

    Examples
    --------
    >>> scores([0, 0, 1, 1], [5, 5, 3, 3])
    {'accuracy': 1.0, 'nmi': 1.0, 'ari': 1.0}
    """
    true, predicted = _checked_labels(y_true, y_pred)
    return {
        "accuracy": clustering_accuracy(true, predicted),
        "nmi": float(normalized_mutual_info_score(true, predicted)),
        "ari": float(adjusted_rand_score(true, predicted)),
    }


def _checked_labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or true.shape != predicted.shape or true.size == 0:
        raise ValueError(
            "y_true and y_pred must be two non-empty lists of labels of one length; got shapes "
            f"{true.shape} and {predicted.shape}."
        )
    for name, labels in (("y_true", true), ("y_pred", predicted)):
        if labels.dtype.kind == "f" and not np.array_equal(labels, np.rint(labels)):
            raise ValueError(f"{name} must hold labels; got numbers such as {labels[0]!r}.")
    return true, predicted


def _followed_by_others(first: IntArray, count: int) -> IntArray:
    """Return `first`, followed by the other numbers below `count`."""
    return np.concatenate([first, np.setdiff1d(np.arange(count), first)])
