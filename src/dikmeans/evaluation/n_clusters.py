"""How many clusters? Candidates are scored by stability, with the mean cost beside it.

For every number of clusters K the images are split in two at random, a few times. Two models, each
fitted on one half, then label all images. If both find the same clusters, K is supported by the
data. The mean cost alone cannot choose: it falls with every additional cluster. docs/protocol.md
says how far stability can be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from dikmeans._typing import Array, ArrayLike, ImagesLike, IntArray


class Clusterer(Protocol):
    """An estimator that clusters: `DIKMeans`, scikit-learn's `KMeans`, a deep model."""

    def fit(self, X: ImagesLike) -> Self:
        """Find clusters in the images X."""
        ...

    def predict(self, X: ImagesLike) -> IntArray:
        """Return the cluster of each image."""
        ...


class NClustersScore(NamedTuple):
    """What is known about one number of clusters.

    Attributes
    ----------
    n_clusters : int
    stability : tuple of float
        Agreement of fits on two halves (adjusted Rand index), one value per split: 1 for equal
        clusters, 0 for what chance gives.
    cost : float
        Mean cost of an image to its centroid, in the half it was fitted in.
    seconds : float
    """

    n_clusters: int
    stability: tuple[float, ...]
    cost: float
    seconds: float

    @property
    def mean_stability(self) -> float:
        """Mean over the splits."""
        return float(np.mean(self.stability))


class NClustersChoice(NamedTuple):
    """A recommended number of clusters.

    Attributes
    ----------
    n_clusters : int
        The most stable number; in a tie the largest.
    alternatives : tuple of int
        Other numbers whose stability cannot be told apart from it with so few splits.
    standard_error : float
        Of a mean stability, pooled over all numbers; 0 if there was only one split.
    """

    n_clusters: int
    alternatives: tuple[int, ...]
    standard_error: float


def score_n_clusters(
    estimator: Clusterer,
    X: ArrayLike,
    candidates: Iterable[int],
    *,
    n_splits: int = 2,
    random_state: int = 0,
) -> Iterator[NClustersScore]:
    """Score numbers of clusters one after another, all on the same splits.

    Parameters
    ----------
    estimator : estimator
        Cloned; its ``n_clusters`` and ``random_state`` are replaced. A `DIKMeans` gets one
        prototype per cluster: clusters are compared, not prototypes.
    X : array of shape (N, rows, columns[, channels]) or (N, features)
        At least twice as many images as the largest number.
    candidates : iterable of int
    n_splits : int, default=2
    random_state : int, default=0
        Seed of the first split and its fits; the next split has the next seed.

    Yields
    ------
    NClustersScore
    """
    X = np.asarray(X)
    for n_clusters in candidates:
        start = time.perf_counter()
        stability, costs = [], []
        for seed in range(random_state, random_state + n_splits):
            candidate: Any = clone(estimator).set_params(n_clusters=n_clusters, random_state=seed)
            if "n_prototypes" in candidate.get_params(deep=False):
                candidate.set_params(n_prototypes=1)
            fits = fit_halves(candidate, X, np.random.RandomState(seed))
            stability.append(agreement(fits, X))
            costs.append(sum(fitted.inertia_ for fitted in fits) / len(X))
        seconds = time.perf_counter() - start
        yield NClustersScore(n_clusters, tuple(stability), float(np.mean(costs)), seconds)


def choose_n_clusters(scores: Sequence[NClustersScore]) -> NClustersChoice:
    """Recommend the most stable number, and name those that may be as good.

    Examples
    --------
    >>> scores = [
    ...     NClustersScore(2, (0.5, 0.6), 0.3, 1.0),
    ...     NClustersScore(3, (0.8, 0.9), 0.2, 1.0),
    ...     NClustersScore(4, (0.85, 0.8), 0.1, 1.0),
    ... ]
    >>> choose_n_clusters(scores)._replace(standard_error=0.0)
    NClustersChoice(n_clusters=3, alternatives=(4,), standard_error=0.0)
    """
    best = max(scores, key=lambda score: (score.mean_stability, score.n_clusters))
    n_splits = len(best.stability)
    variances = [np.var(score.stability, ddof=1) for score in scores] if n_splits > 1 else [0.0]
    error = float(np.sqrt(np.mean(variances) / n_splits))
    # Two standard errors of the difference of two means.
    threshold = best.mean_stability - 2 * np.sqrt(2) * error
    alternatives = tuple(
        score.n_clusters
        for score in scores
        if score is not best and score.mean_stability >= threshold
    )
    return NClustersChoice(best.n_clusters, alternatives, error)


def fit_halves(estimator: Clusterer, X: Array, rng: np.random.RandomState) -> list[Any]:
    """Return two clones of `estimator`, each fitted on a random half of X."""
    order = rng.permutation(len(X))
    return [clone(estimator).fit(X[half]) for half in (order[::2], order[1::2])]


def agreement(fits: Sequence[Clusterer], X: Array) -> float:
    """Return the adjusted Rand index of the labels that two fitted estimators give to X."""
    return float(adjusted_rand_score(*(fitted.predict(X) for fitted in fits)))
