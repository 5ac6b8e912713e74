"""Agreement of a clustering with known classes.

Clusters have no names, so accuracy is taken under the best one-to-one matching of clusters to
classes (the paper's measure):

    accuracy = max over matchings m of  1/N  sum_i [ class_i = m(cluster_i) ]

Members of a cluster without a class (there are more clusters than classes) count as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Confusion:
    """How many samples of each class went to each cluster, matched clusters on the diagonal.

    Attributes
    ----------
    counts : ndarray of int64, shape (classes, clusters)
        Row: a class, in the order of `classes`. Column: a cluster, in the order of `clusters`.
    classes : ndarray, shape (classes,)
        The distinct values of the true labels; matched ones first, sorted.
    clusters : ndarray, shape (clusters,)
        The distinct values of the predicted labels; the one at position k is matched with class k.
    n_matched : int
        How many pairs there are: the smaller number of the two.
    """

    counts: NDArray[np.int64]
    classes: NDArray
    clusters: NDArray
    n_matched: int

    @property
    def accuracy(self) -> float:
        """Share of the samples on the diagonal."""
        return float(np.trace(self.counts) / self.counts.sum())


def confusion(y_true: ArrayLike, y_pred: ArrayLike) -> Confusion:
    """The confusion matrix of a clustering under the best one-to-one matching.

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
    >>> found = confusion(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    >>> found.classes.tolist(), found.clusters.tolist()
    (['cat', 'dog'], [1, 0])
    >>> found.counts.tolist()
    [[2, 0], [1, 1]]
    """
    true, predicted = _checked_labels(y_true, y_pred)
    classes, rows = np.unique(true, return_inverse=True)
    clusters, columns = np.unique(predicted, return_inverse=True)
    counts = np.zeros((len(classes), len(clusters)), np.int64)
    np.add.at(counts, (rows, columns), 1)
    matched_rows, matched_columns = linear_sum_assignment(counts, maximize=True)
    row_order = _then_the_rest(matched_rows, len(classes))
    column_order = _then_the_rest(matched_columns, len(clusters))
    return Confusion(
        counts[np.ix_(row_order, column_order)],
        classes[row_order],
        clusters[column_order],
        len(matched_rows),
    )


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples whose cluster is matched with their class, under the best matching.

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
    """The three usual figures at once.

    Parameters
    ----------
    y_true, y_pred : array of shape (N,)
        Classes and clusters.

    Returns
    -------
    dict
        ``accuracy`` (`clustering_accuracy`), ``nmi`` (normalised mutual information, arithmetic
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


def _checked_labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray, NDArray]:
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


def _then_the_rest(first: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """`first`, followed by the other numbers below `count`."""
    return np.concatenate([first, np.setdiff1d(np.arange(count), first)])
