"""`DistortionSearch`: a grid search that needs no labels, with the habits of scikit-learn's searches."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dikmeans.evaluation.criteria import CRITERIA, Criterion

PAPER_GRID: dict[str, list[Any]] = {
    "landmarks": [3, 4, 5, 6, 7, 8],
    "solver__learning_rate": [1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2],
}
"""The grid of the paper, for ``DIKMeans.as_published(...)``: 3^2 to 8^2 landmarks, Adam's learning rate."""


def _best_can(method: str) -> Any:
    """Whether the estimator, fitted or not yet, has a method; for `available_if`."""

    def has_it(search: DistortionSearch) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)  # its AttributeError says why
        return True

    return has_it


class DistortionSearch(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose hyper-parameters of a clustering without labels.

    Every setting of the grid is judged by a criterion; the best one is fitted on all images.

    Parameters
    ----------
    estimator : estimator
        Cloned for each setting.
    param_grid : dict or list of dict
        As for `sklearn.model_selection.GridSearchCV`; parts of parts are named
        ``solver__learning_rate``. `PAPER_GRID` is the paper's.
    criterion : {"distortion", "held-out", "reference", "stability"} or callable, default="distortion"
        What to go by; see `dikmeans.evaluation.criteria`. "distortion" is the paper's, and falls
        with every landmark and cluster: when the grid changes the measure itself, "reference" is the
        one to use, and when it changes the number of clusters, "stability". A callable gets
        (estimator, X, rng) and returns a `Judgement`.
    n_runs : int, default=1
        Fits of each setting, from the same seeds for all settings; their scores are averaged.
    refit : bool, default=True
        Provide `best_estimator_`, fitted on all images.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds and of the splits; by default the estimator's own ``random_state``.
    verbose : int, default=0
        Print a line for each setting.

    Attributes
    ----------
    best_params_ : dict
        The setting with the highest score, the first of them if there are several.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : estimator
        Fitted on all images with that setting; only with ``refit=True``.
    cv_results_ : dict of arrays
        ``params``, ``param_<name>``, ``run<i>_test_score``, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, ``mean_seconds``: ready for ``pandas.DataFrame``.
    labels_ : array of shape (N,)
        Of `best_estimator_`.
    n_features_in_ : int
        Of `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans
    >>> from dikmeans.paper import DistortionSearch
    >>> X = load_digits().images[:90]
    >>> search = DistortionSearch(
    ...     DIKMeans(3, n_swaps=0, random_state=0), {"smoothness": [0.1, 1.0]}, criterion="reference"
    ... ).fit(X)
    >>> sorted(search.best_params_)
    ['smoothness']
    >>> search.predict(X).shape
    (90,)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 -- scikit-learn's way
        "estimator": [HasMethods(["fit", "predict"])],
        "param_grid": [dict, list],
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        criterion: str | Criterion = "distortion",
        n_runs: int = 1,
        refit: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.criterion = criterion
        self.n_runs = n_runs
        self.refit = refit
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Judge every setting, then fit the best.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
        y : ignored

        Returns
        -------
        self : DistortionSearch
        """
        criterion = CRITERIA[self.criterion] if isinstance(self.criterion, str) else self.criterion
        settings = list(ParameterGrid(self.param_grid))
        own = getattr(self.estimator, "random_state", None)
        source = check_random_state(self.random_state if self.random_state is not None else own)
        seeds = source.randint(np.iinfo(np.int32).max, size=self.n_runs)

        scores = np.empty((len(settings), self.n_runs))
        seconds = np.empty_like(scores)
        best, best_mean = None, -np.inf
        for i, setting in enumerate(settings):
            fits = []
            for j, seed in enumerate(seeds):
                begin = time.perf_counter()
                judgement = criterion(self._candidate(setting, seed), X, np.random.RandomState(seed))
                scores[i, j], seconds[i, j] = judgement.score, time.perf_counter() - begin
                fits.append((judgement.score, judgement.fitted))
            if scores[i].mean() > best_mean:  # one fitted estimator is kept at a time, not one a setting
                best_mean, best = scores[i].mean(), max(fits, key=lambda fit: fit[0])[1]
            if self.verbose:
                print(f"{i + 1}/{len(settings)} {setting}: {scores[i].mean():.6g}", flush=True)

        self.cv_results_ = _as_results(settings, scores, seconds)
        self.best_index_ = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_params_ = settings[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            self.best_estimator_ = best or self._candidate(self.best_params_, seeds[0]).fit(X)
            self.labels_ = self.best_estimator_.labels_
            if hasattr(self.best_estimator_, "n_features_in_"):
                self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def _candidate(self, setting: Mapping[str, Any], seed: int) -> Any:
        """The estimator with a setting; values are cloned, for a solver in a grid is shared by settings."""
        values = {name: clone(value, safe=False) for name, value in setting.items()}
        candidate = clone(self.estimator).set_params(**values)
        if "random_state" in candidate.get_params(deep=False) and "random_state" not in setting:
            candidate.set_params(random_state=int(seed))
        return candidate

    @available_if(_best_can("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each image, by the best estimator."""
        return self._best().predict(X)

    @available_if(_best_can("transform"))
    def transform(self, X: Any) -> np.ndarray:
        """The cost of each image to each centroid, by the best estimator."""
        return self._best().transform(X)

    @available_if(_best_can("transform"))
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Search, then the cost of each image to each centroid of the best estimator."""
        return self.fit(X).transform(X)

    @available_if(_best_can("score"))
    def score(self, X: Any, y: Any = None) -> float:
        """The best estimator's own score of X."""
        return self._best().score(X)

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"This {type(self).__name__} was made with refit=False and has no best_estimator_: fit an "
                "estimator with best_params_, or search with refit=True."
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


def _as_results(settings: list[dict[str, Any]], scores: np.ndarray, seconds: np.ndarray) -> dict[str, Any]:
    """Scores as the dict of columns that scikit-learn's searches have."""
    means = scores.mean(axis=1)
    results: dict[str, Any] = {"params": settings}
    for name in sorted({name for setting in settings for name in setting}):
        missing = [name not in setting for setting in settings]
        column = np.ma.MaskedArray(np.empty(len(settings), object), mask=missing)
        for i, setting in enumerate(settings):
            if name in setting:
                column[i] = setting[name]
        results[f"param_{name}"] = column
    for j, run in enumerate(scores.T):
        results[f"run{j}_test_score"] = run
    results["mean_test_score"] = means
    results["std_test_score"] = scores.std(axis=1)
    results["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)
    results["mean_seconds"] = seconds.mean(axis=1)
    return results
