"""How many clusters? Numbers are judged by stability; the distortion stands beside it, for it always falls.

For every K the images are split in two at random, a few times. Two models, each fitted on one half, then
label all images: where both see the same clusters, K is a number that the data repeat, not a whim of chance.
See docs/protocol.md for how far this can be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dikmeans.evaluation.criteria import Stability, fit_halves


class NumberJudgement(NamedTuple):
    """What is known of one number of clusters.

    Attributes
    ----------
    n_clusters : int
    stability : tuple of float
        Agreement of two halves (adjusted Rand index), one value a split: 1 is perfect, 0 what chance gives.
    distortion : float
        Mean cost of an image to its centroid, in the half it was fitted in.
    seconds : float
    """

    n_clusters: int
    stability: tuple[float, ...]
    distortion: float
    seconds: float

    @property
    def mean_stability(self) -> float:
        """Over the splits."""
        return float(np.mean(self.stability))


class NumberChoice(NamedTuple):
    """A recommendation.

    Attributes
    ----------
    n_clusters : int
        The most stable number; the largest of them if there are several.
    rivals : tuple of int
        Other numbers that are as stable, as far as so few splits can tell.
    error : float
        Standard error of a mean stability, pooled over all numbers; 0 if there was one split only.
    """

    n_clusters: int
    rivals: tuple[int, ...]
    error: float


def judge_numbers(
    estimator: Any, X: np.ndarray, numbers: Iterable[int], *, n_splits: int = 2, seed: int = 0
) -> Iterator[NumberJudgement]:
    """Judge numbers of clusters one after another, each on the same splits.

    Parameters
    ----------
    estimator : DIKMeans
        Cloned; its ``n_clusters`` is replaced. Each cluster has one form: clusters are what is judged.
    X : array of shape (N, rows, columns[, channels])
        At least twice as many images as the largest number.
    numbers : iterable of int
    n_splits : int, default=2
    seed : int
        Of the splits and the fits.

    Yields
    ------
    NumberJudgement
    """
    stability = Stability()
    for number in numbers:
        clock = time.perf_counter()
        scores, distortions = [], []
        for split in range(n_splits):
            candidate = clone(estimator).set_params(n_clusters=number, n_prototypes=1, random_state=seed + split)
            fits = fit_halves(candidate, X, np.random.RandomState(seed + split))
            scores.append(stability.of_halves(fits, X))
            distortions.append(sum(fitted.inertia_ for fitted in fits) / len(X))
        seconds = time.perf_counter() - clock
        yield NumberJudgement(number, tuple(scores), float(np.mean(distortions)), seconds)


def choose_number(judgements: Sequence[NumberJudgement]) -> NumberChoice:
    """The number to recommend, and those that might be right as well.

    Examples
    --------
    >>> judgements = [
    ...     NumberJudgement(2, (0.5, 0.6), 0.3, 1.0),
    ...     NumberJudgement(3, (0.8, 0.9), 0.2, 1.0),
    ...     NumberJudgement(4, (0.85, 0.8), 0.1, 1.0),
    ... ]
    >>> choose_number(judgements)._replace(error=0.0)
    NumberChoice(n_clusters=3, rivals=(4,), error=0.0)
    """
    best = max(judgements, key=lambda j: (j.mean_stability, j.n_clusters))
    splits = len(best.stability)
    variances = [np.var(j.stability, ddof=1) for j in judgements] if splits > 1 else [0.0]
    error = float(np.sqrt(np.mean(variances) / splits))
    # the difference of two means is uncertain by the square root of two times that; two such errors
    near = best.mean_stability - 2 * np.sqrt(2) * error
    rivals = tuple(
        j.n_clusters for j in judgements if j.n_clusters != best.n_clusters and j.mean_stability >= near
    )
    return NumberChoice(best.n_clusters, rivals, error)
