"""How good a setting is, judged without labels. Larger is better, as for scikit-learn's scores.

A criterion gets an unfitted estimator and all images, and does its own fitting. They differ in what they
can compare:

- `TrainingDistortion` (the paper): settings under one measure, such as seeds or solver budgets. It falls
  with every landmark, cluster or loosened penalty, whether they help or not.
- `HeldOutDistortion`: the same on images that were not fitted. It tells when centroids are overfitted,
  not when the warp is: a warp is fitted anew to every image.
- `ReferenceDistortion`: the partition alone is judged, by one fixed measure, so that settings with
  different measures can be compared. It still falls with the number of clusters.
- `Stability`: whether two halves of the images lead to the same partition. For the number of clusters; one
  cluster is always stable.

How well each ranks settings is measured in docs/results/selection.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from dikmeans.kmeans import DIKMeans


class Judgement(NamedTuple):
    """What a criterion says of one setting.

    Attributes
    ----------
    score : float
        Larger is better.
    fitted : estimator or None
        Fitted on all images, if the criterion came by one: it need not be fitted again.
    """

    score: float
    fitted: Any | None


class Criterion(Protocol):
    """Anything that can judge a setting."""

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> Judgement:
        """Judge an unfitted estimator by the images; `rng` is the same for every setting."""
        ...


@dataclass(frozen=True)
class TrainingDistortion:
    """Minus the mean cost of the training images to their own centroids: the paper's criterion."""

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> Judgement:
        """Fit on all images."""
        fitted = estimator.fit(X)
        return Judgement(self.of_fitted(fitted, X), fitted)

    def of_fitted(self, fitted: Any, X: Any) -> float:
        """The score of an estimator fitted on X."""
        if not hasattr(fitted, "inertia_"):
            raise TypeError(
                f"criterion='distortion' needs an estimator with `inertia_`; {type(fitted).__name__} has "
                "none. Use criterion='reference' or 'stability', which need labels only."
            )
        return -float(fitted.inertia_) / _num_samples(X)


@dataclass(frozen=True)
class HeldOutDistortion:
    """Minus the mean cost of images that were not fitted.

    Parameters
    ----------
    fraction : float, default=0.3
        Share of the images that is held out.
    """

    fraction: float = 0.3

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> Judgement:
        """Fit on a part, score the rest."""
        order = rng.permutation(_num_samples(X))
        n_out = max(1, round(self.fraction * len(order)))
        fitted = estimator.fit(_safe_indexing(X, order[n_out:]))
        return Judgement(float(fitted.score(_safe_indexing(X, order[:n_out]))) / n_out, None)


@dataclass(frozen=True)
class ReferenceDistortion:
    """Minus the mean cost of the partition under one fixed measure, whatever measure made it.

    Each cluster gets a new centroid under the reference; only the labels of the setting are used.

    Parameters
    ----------
    reference : estimator with `fit` and `inertia_`, optional
        Fitted to each cluster with one centroid; by default ``DIKMeans(1)`` without search.
    """

    reference: Any = None

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> Judgement:
        """Fit on all images, then judge the partition."""
        fitted = estimator.fit(X)
        return Judgement(self.of_fitted(fitted, X), fitted)

    def of_fitted(self, fitted: Any, X: Any) -> float:
        """The score of an estimator fitted on X."""
        one_cluster = clone(self.reference) if self.reference is not None else _default_reference(fitted)
        members = (np.flatnonzero(fitted.labels_ == label) for label in np.unique(fitted.labels_))
        costs = [one_cluster.fit(_safe_indexing(X, rows)).inertia_ for rows in members]
        return -float(np.sum(costs)) / _num_samples(X)


def _default_reference(fitted: Any) -> DIKMeans:
    # a flat X has to be cut into pictures the same way
    shape = getattr(fitted, "image_shape_", None)
    n_jobs = getattr(fitted, "n_jobs", -1)
    return DIKMeans(
        1,
        n_prototypes=1,
        curriculum=False,
        n_swaps=0,
        max_iter=10,
        image_shape=shape,
        random_state=0,
        n_jobs=n_jobs,
    )


@dataclass(frozen=True)
class Stability:
    """Agreement of two partitions of all images, each predicted from one half of them.

    The agreement is the adjusted Rand index: 1 for equal partitions, 0 for what chance would give.
    """

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> Judgement:
        """Fit on both halves, predict all."""
        return Judgement(self.of_halves(fit_halves(estimator, X, rng), X), None)

    def of_halves(self, fits: Sequence[Any], X: Any) -> float:
        """The score of two estimators that were fitted on halves of X."""
        return float(adjusted_rand_score(*(fitted.predict(X) for fitted in fits)))


def fit_halves(estimator: Any, X: Any, rng: np.random.RandomState) -> list[Any]:
    """Two estimators, each fitted on a random half of X."""
    order = rng.permutation(_num_samples(X))
    return [clone(estimator).fit(_safe_indexing(X, half)) for half in (order[::2], order[1::2])]


CRITERIA: dict[str, Criterion] = {
    "distortion": TrainingDistortion(),
    "held-out": HeldOutDistortion(),
    "reference": ReferenceDistortion(),
    "stability": Stability(),
}
"""The criteria by name."""
