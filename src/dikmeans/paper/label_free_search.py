"""The choice of hyper-parameters without labels: a grid search by one of four criteria.

A criterion is a scikit-learn scorer, ``criterion(fitted estimator, X) -> float``; larger is better.
Criteria differ in what they can compare:

- "distortion" (the paper's): settings under one measure, such as seeds or solver budgets. It falls
  with every landmark, cluster or weaker penalty, whether they help or not.
- "held-out": the same on images that were not fitted. It shows when centroids overfit, not when the
  warp does: a warp is fitted anew to every image.
- "reference": only the partition is judged, by one fixed measure, so settings with different
  measures can be compared. It still falls with the number of clusters.
- "stability": whether two halves of the images lead to the same partition. For the number of
  clusters; a single cluster is always stable.

docs/results/selection.md has measurements of how well each ranks settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from dikmeans._typing import Array, IntArray
from dikmeans.evaluation.n_clusters import Clusterer, agreement, fit_halves

Criterion: TypeAlias = Callable[..., float]

PAPER_GRID: dict[str, list[Any]] = {
    "landmarks": [3, 4, 5, 6, 7, 8],
    "solver__learning_rate": [1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2],
}
"""The paper's grid, for ``DIKMeans.as_published``: 3² to 8² landmarks, Adam's learning rate."""

HELD_OUT_SHARE = 0.3


def training_distortion(fitted: Any, X: Array, y: None = None) -> float:
    """Return minus the mean cost of the training images X to their centroids."""
    return -float(fitted.inertia_) / len(X)


def held_out_distortion(fitted: Any, X: Array, y: None = None) -> float:
    """Return minus the mean cost of images X that were not fitted."""
    return float(fitted.score(X)) / len(X)


def reference_distortion(fitted: Any, X: Array, y: None = None, *, reference: Any = None) -> float:
    """Return minus the mean cost of a partition when `reference` is fitted to each cluster.

    Parameters
    ----------
    fitted : estimator
        Fitted on X; only its ``labels_`` are judged.
    X : array of shape (N, ...)
    y : ignored
    reference : estimator with ``fit`` and ``inertia_``, optional
        Makes one centroid; by default a `DIKMeans` without search.
    """
    if reference is None:
        reference = _default_reference(fitted)
    labels: IntArray = fitted.labels_
    costs = [clone(reference).fit(X[labels == label]).inertia_ for label in np.unique(labels)]
    return -float(np.sum(costs)) / len(X)


def stability(fitted: Clusterer, X: Array, y: None = None, *, seed: int = 0) -> float:
    """Return the adjusted Rand index of two partitions of X, each predicted from one half of it."""
    return agreement(fit_halves(fitted, X, np.random.RandomState(seed)), X)


def _default_reference(fitted: Any) -> Any:
    from dikmeans import DIKMeans, Search

    return DIKMeans(
        1,
        n_prototypes=1,
        max_iter=10,
        search=Search(n_swaps=0, warm_up=False, max_iter=10),
        image_shape=getattr(fitted, "image_shape_", None),  # flat rows are the same images
        random_state=0,
        n_jobs=getattr(fitted, "n_jobs", -1),
    )


CRITERIA: dict[str, Criterion] = {
    "distortion": training_distortion,
    "held-out": held_out_distortion,
    "reference": reference_distortion,
    "stability": stability,
}


class AllImages:
    """A splitter for scikit-learn's searches: settings are fitted and scored on all images."""

    def get_n_splits(self, X: Any = None, y: None = None, groups: None = None) -> int:
        """Return 1."""
        return 1

    def split(
        self, X: Array, y: None = None, groups: None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the indices of all images, to fit and to score."""
        indices = np.arange(len(X))
        yield indices, indices


def label_free_search(
    estimator: Clusterer,
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    criterion: str | Criterion = "distortion",
    *,
    random_state: int = 0,
) -> GridSearchCV:
    """Return a grid search that needs no labels, to be fitted on images.

    Parameters
    ----------
    estimator : estimator
        Cloned for each setting. Give it a ``random_state``: all settings then have the same start.
    param_grid : dict or list of dict
        As for `sklearn.model_selection.GridSearchCV`, with nested names such as
        ``solver__learning_rate``. `PAPER_GRID` is the paper's; ``"random_state": [0, 1, 2]``
        chooses among runs.
    criterion : {"distortion", "held-out", "reference", "stability"} or callable
        What to go by. "distortion", the default, is the paper's. If the grid changes the warp, use
        "reference"; if it changes the number of clusters, "stability". A callable gets an
        estimator fitted on all images, and X.
    random_state : int, default=0
        Of the images that are held out.

    Returns
    -------
    sklearn.model_selection.GridSearchCV
        After ``fit(X)`` it has ``best_params_``, ``best_estimator_`` (fitted on all images) and
        ``cv_results_``.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_digits
    >>> X, grid = load_digits().data[:90], {"n_init": [1, 5]}
    >>> search = label_free_search(KMeans(3, random_state=0), grid).fit(X)
    >>> sorted(search.best_params_), search.predict(X).shape
    (['n_init'], (90,))
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise ValueError(
                f"criterion={criterion!r}: expected a function or one of {', '.join(CRITERIA)}."
            )
        criterion = CRITERIA[criterion]
    cv: AllImages | ShuffleSplit = AllImages()
    if criterion is held_out_distortion:
        cv = ShuffleSplit(1, test_size=HELD_OUT_SHARE, random_state=random_state)
    return GridSearchCV(estimator, param_grid, scoring=criterion, cv=cv, error_score="raise")
