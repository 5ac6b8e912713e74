"""The models of the table: small objects in a registry, one door for ours and for rivals.

A rival joins with ``register(Model(name=..., title=..., make=...))``; whatever library it needs should be
imported in `make`, so that registering costs nothing. The deep ones do so in `deep_models`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator

from dikmeans.kmeans import DIKMeans
from dikmeans.paper.names import look_up

# Not part of what a model is: the protocol sets the first two, and the others change no result but, at
# most, its last bits.
_NOT_PARAMETERS = ("n_clusters", "random_state", "n_jobs", "n_threads", "device", "verbose")


def training_distortion(estimator: Any) -> float | None:
    """A fitted estimator's ``inertia_``; None if it has none."""
    inertia = getattr(estimator, "inertia_", None)
    return None if inertia is None else float(inertia)


@dataclass(frozen=True)
class Model:
    """A way to cluster, as the protocol sees it.

    Attributes
    ----------
    name : str
        What to ask for on the command line, and what results are filed under.
    title : str
        What the table calls it.
    make : callable (n_clusters, seed) -> estimator
        A new estimator with ``fit(X)`` and ``predict(X)``; X has shape (N, rows, columns[, channels]).
    objective : callable (fitted estimator) -> float or None
        What training minimised, the smaller the better, for the label-free choice among runs. By default
        ``inertia_``; None for a model that has nothing comparable.
    paper_row : str or None
        Row of the paper's Table 1 to stand beside it.
    library : str or None
        What `make` needs beyond the base installation, by the name it is imported by.
    extra : str or None
        The extra of this package that installs it.
    note : str
        What a reader of the table must know about this row; rows may share a note.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> model = Model("km", "scikit-learn", lambda k, seed: KMeans(k, n_init=1, random_state=seed))
    >>> model.parameters(n_clusters=3)["init"]
    'k-means++'
    """

    name: str
    title: str
    make: Callable[[int, int], Any]
    objective: Callable[[Any], float | None] = training_distortion
    paper_row: str | None = None
    library: str | None = None
    extra: str | None = None
    note: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether what it needs is there."""
        return self.library is None or _is_there(self.library)

    def limited_to(self, steps: int) -> Model:
        """The same model, trained for at most so many batches a phase; itself if it has no such training."""
        return self

    def parameters(self, n_clusters: int) -> dict[str, Any]:
        """The parameters that make a run of this model what it is, fit for JSON."""
        return parameters_of(self.make(n_clusters, 0))


def _is_there(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except (ModuleNotFoundError, ValueError):  # something stands in its place
        return False


def parameters_of(estimator: Any) -> dict[str, Any]:
    """An estimator's parameters, fit for JSON; without number of clusters, seed, threads and talk.

    Parameters
    ----------
    estimator : estimator
        Without ``get_params`` it has none to tell.
    """
    given = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    return {
        name: _as_json(value)
        for name, value in sorted(given.items())
        if name.rsplit("__", 1)[-1] not in _NOT_PARAMETERS
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, BaseEstimator):  # its own parameters stand beside it, as solver__steps
        return type(value).__name__
    # through JSON and back, so that what is compared is what a results file gives: lists, not tuples
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


_MODELS: dict[str, Model] = {}


def register(model: Model) -> Model:
    """Make a model known to the protocol and the command line.

    Parameters
    ----------
    model : Model

    Returns
    -------
    Model
        The same.

    Raises
    ------
    ValueError
        Another model has that name.
    """
    if _MODELS.get(model.name, model) != model:
        raise ValueError(f"There is a model {model.name!r} already; register this one under another name.")
    _MODELS[model.name] = model
    return model


def model_names() -> tuple[str, ...]:
    """Names of the known models, in the order of the table.

    Examples
    --------
    >>> "di-k-means" in model_names()
    True
    """
    return tuple(_MODELS)


def get_model(name: str) -> Model:
    """The model of that name; `UnknownChoiceError` if there is none."""
    return look_up("model", name, _MODELS)


def get_models(names: Iterable[str] = ()) -> tuple[Model, ...]:
    """The models of those names, each once; if none is named, all that are installed.

    Raises
    ------
    UnknownChoiceError
        There is no model of that name.
    ImportError
        There is, but what it needs is not installed.
    """
    named = tuple(get_model(name) for name in dict.fromkeys(names))
    for model in named:
        if not model.is_installed:
            raise ImportError(
                f"The model {model.name!r} needs {model.library}, which is not installed. "
                f"Install it with: pip install 'dikmeans[{model.extra}]'",
                name=model.library,
            )
    return named or tuple(model for model in _MODELS.values() if model.is_installed)


def missing_models() -> tuple[Model, ...]:
    """The known models that cannot be run, because what they need is not installed."""
    return tuple(model for model in _MODELS.values() if not model.is_installed)


def _k_means(n_clusters: int, seed: int) -> Any:
    return DIKMeans(n_clusters, warp="none", normalize=None, random_state=seed)


def _ai_k_means(n_clusters: int, seed: int) -> Any:
    return DIKMeans(n_clusters, warp="affine", random_state=seed)


def _di_k_means_published(n_clusters: int, seed: int) -> Any:
    return DIKMeans.as_published(n_clusters, random_state=seed)


def _di_k_means(n_clusters: int, seed: int) -> Any:
    return DIKMeans(n_clusters, random_state=seed)


register(Model("k-means", "K-means", _k_means, paper_row="K-means"))
register(Model("ai-k-means", "AI K-means", _ai_k_means, paper_row="AI K-means"))
register(
    Model("di-k-means-published", "DI K-means as published", _di_k_means_published, paper_row="DI K-means")
)
register(Model("di-k-means", "DI K-means", _di_k_means, paper_row="DI K-means"))
