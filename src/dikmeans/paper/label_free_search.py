"""`LabelFreeSearch`: a grid search that needs no labels, and the criteria it can go by.

A criterion gets an unfitted estimator and all images, fits as it needs, and returns a score; larger
is better, as for scikit-learn's scores. Criteria differ in what they can compare:

- `training_distortion` (the paper's): settings under one measure, such as seeds or solver budgets.
  It falls with every landmark, cluster or weaker penalty, whether they help or not.
- `held_out_distortion`: the same on images that were not fitted. It shows when centroids overfit,
  not when the warp does: a warp is fitted anew to every image.
- `reference_distortion`: only the partition is judged, by one fixed measure, so settings with
  different measures can be compared. It still falls with the number of clusters.
- `stability`: whether two halves of the images lead to the same partition. For the number of
  clusters; a single cluster is always stable.

docs/results/selection.md has measurements of how well each ranks settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dikmeans._typing import Array, FloatArray, IntArray
from dikmeans.evaluation.n_clusters import agreement, fit_halves

PAPER_GRID: dict[str, list[Any]] = {
    "landmarks": [3, 4, 5, 6, 7, 8],
    "solver__learning_rate": [1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2],
}
"""The paper's grid, for ``DIKMeans.as_published``: 3² to 8² landmarks, Adam's learning rate."""


class CriterionScore(NamedTuple):
    """What a criterion says about one setting.

    Attributes
    ----------
    score : float
        Larger is better.
    fitted : estimator or None
        Fitted on all images, if the criterion made one: it need not be fitted again.
    """

    score: float
    fitted: Any | None


class Criterion(Protocol):
    """A function that scores a setting."""

    def __call__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> CriterionScore:
        """Score an unfitted estimator on the images; `rng` is the same for every setting."""
        ...


def training_distortion(estimator: Any, X: Any, rng: np.random.RandomState) -> CriterionScore:
    """Minus the mean cost of the training images to their centroids: the paper's criterion."""
    fitted = estimator.fit(X)
    if not hasattr(fitted, "inertia_"):
        raise TypeError(
            f"criterion='distortion' needs an estimator with `inertia_`; {type(fitted).__name__} "
            "has none. Use criterion='reference' or 'stability', which need labels only."
        )
    return CriterionScore(-float(fitted.inertia_) / _n_images(X), fitted)


def held_out_distortion(
    estimator: Any, X: Any, rng: np.random.RandomState, *, fraction: float = 0.3
) -> CriterionScore:
    """Minus the mean cost of a `fraction` of the images, which were not fitted."""
    order = rng.permutation(_n_images(X))
    n_held_out = max(1, round(fraction * len(order)))
    fitted = estimator.fit(_rows(X, order[n_held_out:]))
    return CriterionScore(float(fitted.score(_rows(X, order[:n_held_out]))) / n_held_out, None)


def reference_distortion(
    estimator: Any, X: Any, rng: np.random.RandomState, *, reference: Any = None
) -> CriterionScore:
    """Minus the mean cost of the partition under one fixed measure; see `partition_cost`."""
    fitted = estimator.fit(X)
    if reference is None:
        reference = _default_reference(fitted)
    return CriterionScore(-partition_cost(fitted.labels_, X, reference), fitted)


def partition_cost(labels: IntArray, X: Any, reference: Any) -> float:
    """Return the mean cost of images when `reference` is fitted to each cluster of `labels`.

    Parameters
    ----------
    labels : int array of shape (N,)
    X : array of shape (N, ...)
    reference : estimator with ``fit`` and ``inertia_``
        Makes one centroid, such as ``DIKMeans(1)``.
    """
    members = (np.flatnonzero(labels == label) for label in np.unique(labels))
    return float(sum(clone(reference).fit(_rows(X, rows)).inertia_ for rows in members)) / _n_images(X)


def stability(estimator: Any, X: Any, rng: np.random.RandomState) -> CriterionScore:
    """Adjusted Rand index of two partitions of all images, each predicted from one half of them."""
    images = np.asarray(X)
    return CriterionScore(agreement(fit_halves(estimator, images, rng), images), None)


def _default_reference(fitted: Any) -> Any:
    from dikmeans import DIKMeans
    from dikmeans.kmeans import Search

    return DIKMeans(
        1,
        n_prototypes=1,
        max_iter=10,
        search=Search(n_swaps=0, warm_up=False, max_iter=10),
        image_shape=getattr(fitted, "image_shape_", None),  # flat rows are the same pictures
        random_state=0,
        n_jobs=getattr(fitted, "n_jobs", -1),
    )


def _n_images(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(np.asarray(X))


def _rows(X: Any, indices: IntArray) -> Any:
    return X.iloc[indices] if hasattr(X, "iloc") else np.asarray(X)[indices]


CRITERIA: dict[str, Criterion] = {
    "distortion": training_distortion,
    "held-out": held_out_distortion,
    "reference": reference_distortion,
    "stability": stability,
}


Method = TypeVar("Method", bound=Callable[..., Any])


def _if_estimator_has(name: str) -> Callable[[Method], Method]:
    """Return a decorator that hides a method unless the estimator, fitted or not, has it."""

    def check(search: LabelFreeSearch) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    decorator: Callable[[Method], Method] = available_if(check)
    return decorator


class LabelFreeSearch(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose hyper-parameters of a clustering without labels.

    Every setting of the grid is scored by a criterion; the best one is fitted on all images.

    Parameters
    ----------
    estimator : estimator
        Cloned for each setting.
    param_grid : dict or list of dict
        As for `sklearn.model_selection.GridSearchCV`, with nested names such as
        ``solver__learning_rate``. `PAPER_GRID` is the paper's.
    criterion : {"distortion", "held-out", "reference", "stability"} or callable,
    default="distortion"
        What to go by; see the functions of this module. "distortion" is the paper's. If the grid
        changes the warp, use "reference"; if it changes the number of clusters, "stability". A
        callable gets (estimator, X, rng) and returns a `CriterionScore`.
    n_runs : int, default=1
        Fits of each setting, from the same seeds for all settings; their scores are averaged.
    refit : bool, default=True
        Provide `best_estimator_`, fitted on all images.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds and of the splits; by default the estimator's ``random_state``.
    verbose : int, default=0
        Print one line per setting.

    Attributes
    ----------
    best_params_ : dict
        The setting with the highest score; in a tie the first.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : estimator
        Fitted on all images with that setting; only with ``refit=True``.
    cv_results_ : dict of arrays
        ``params``, ``param_<name>``, ``run<i>_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``mean_seconds``: ready for ``pandas.DataFrame``.
    labels_ : array of shape (N,)
        Of `best_estimator_`.
    n_features_in_ : int
        Of `best_estimator_`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:90]
    >>> grid = {"n_clusters": [2, 3]}
    >>> kmeans = KMeans(n_init=1, random_state=0)
    >>> search = LabelFreeSearch(kmeans, grid, criterion="stability").fit(X)
    >>> sorted(search.best_params_), search.predict(X).shape
    (['n_clusters'], (90,))
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        criterion: str | Criterion = "distortion",
        n_runs: int = 1,
        refit: bool = True,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.criterion = criterion
        self.n_runs = n_runs
        self.refit = refit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score every setting, then fit the best.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
        y : ignored

        Returns
        -------
        self : LabelFreeSearch
        """
        criterion = self._check_parameters()
        settings: list[dict[str, Any]] = list(ParameterGrid(self.param_grid))
        random_state = self.random_state
        if random_state is None:
            random_state = getattr(self.estimator, "random_state", None)
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=self.n_runs)

        scores = np.empty((len(settings), self.n_runs))
        seconds = np.empty_like(scores)
        best_fitted, best_mean = None, -np.inf
        for i, setting in enumerate(settings):
            results = []
            for j, seed in enumerate(seeds):
                start = time.perf_counter()
                candidate = self._candidate(setting, seed)
                results.append(criterion(candidate, X, np.random.RandomState(seed)))
                scores[i, j], seconds[i, j] = results[-1].score, time.perf_counter() - start
            if scores[i].mean() > best_mean:  # only the best estimator is kept in memory
                best_mean = scores[i].mean()
                best_fitted = max(results, key=lambda result: result.score).fitted
            if self.verbose:
                print(f"{i + 1}/{len(settings)} {setting}: {scores[i].mean():.6g}", flush=True)

        self.cv_results_ = _as_columns(settings, scores, seconds)
        self.best_index_ = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_params_ = settings[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            if best_fitted is None:
                best_fitted = self._candidate(self.best_params_, seeds[0]).fit(X)
            self.best_estimator_ = best_fitted
            self.labels_ = best_fitted.labels_
            if hasattr(best_fitted, "n_features_in_"):
                self.n_features_in_ = best_fitted.n_features_in_
        return self

    def _check_parameters(self) -> Criterion:
        """Raise a ValueError for a parameter that cannot be used; return the criterion."""
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise ValueError(f"estimator={self.estimator!r} needs the methods `fit` and `predict`.")
        if self.n_runs < 1:
            raise ValueError(f"n_runs={self.n_runs!r}: expected a positive whole number.")
        if callable(self.criterion):
            return self.criterion
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"criterion={self.criterion!r}: expected a function or one of "
                f"{', '.join(CRITERIA)}."
            )
        return CRITERIA[self.criterion]

    def _candidate(self, setting: Mapping[str, Any], seed: int) -> Any:
        """Return an estimator with a setting; values are cloned, as settings may share a solver."""
        values = {name: clone(value, safe=False) for name, value in setting.items()}
        candidate = clone(self.estimator).set_params(**values)
        if "random_state" in candidate.get_params(deep=False) and "random_state" not in setting:
            candidate.set_params(random_state=int(seed))
        return candidate

    @_if_estimator_has("predict")
    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each image, by the best estimator."""
        labels: IntArray = self._best().predict(X)
        return labels

    @_if_estimator_has("transform")
    def transform(self, X: Any) -> Array:
        """Return the cost of each image to each centroid, by the best estimator."""
        costs: Array = self._best().transform(X)
        return costs

    @_if_estimator_has("transform")
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Search, then return the cost of each image to each centroid of the best estimator."""
        return self.fit(X).transform(X)

    @_if_estimator_has("score")
    def score(self, X: Any, y: Any = None) -> float:
        """Return the best estimator's own score of X."""
        return float(self._best().score(X))

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"This {type(self).__name__} was made with refit=False and has no best_estimator_: "
                "fit an estimator with best_params_, or search with refit=True."
            )
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.transformer_tags = inner.transformer_tags
        tags.array_api_support = False
        return tags


def _as_columns(
    settings: list[dict[str, Any]], scores: FloatArray, seconds: FloatArray
) -> dict[str, Any]:
    """Return scores as the dict of columns that scikit-learn's searches have."""
    means = scores.mean(axis=1)
    columns: dict[str, Any] = {"params": settings}
    for name in sorted({name for setting in settings for name in setting}):
        missing = [name not in setting for setting in settings]
        column = np.ma.MaskedArray(np.empty(len(settings), object), mask=missing)
        for i, setting in enumerate(settings):
            if name in setting:
                column[i] = setting[name]
        columns[f"param_{name}"] = column
    for j, run in enumerate(scores.T):
        columns[f"run{j}_test_score"] = run
    columns["mean_test_score"] = means
    columns["std_test_score"] = scores.std(axis=1)
    columns["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)
    columns["mean_seconds"] = seconds.mean(axis=1)
    return columns
