"""The rows of the table: models in a registry, from this library and from elsewhere.

Another model joins by ``register(TableModel(name=..., title=..., make=...))``. The library it needs
should be imported in `make`, so that registering costs nothing: names and titles of the deep
baselines are known without importing PyTorch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dikmeans._typing import JSON
from dikmeans.errors import MissingExtraError
from dikmeans.evaluation.n_clusters import Clusterer
from dikmeans.paper.errors import look_up

# Not part of what a model is: the protocol sets the first two, and the others change at most the
# last bits of a result.
_NOT_PARAMETERS = ("n_clusters", "random_state", "n_jobs", "n_threads", "device", "verbose")
# What a phase of a deep model has on a small set, where an epoch is a few batches.
FEWEST_DEEP_STEPS = 2000
# Time between two writes of a training, at least: an epoch of a small set is shorter than a write.
CHECKPOINT_SECONDS = 60.0


def training_objective(estimator: Any) -> float | None:
    """Return a fitted estimator's ``inertia_``, None if it has none."""
    inertia = getattr(estimator, "inertia_", None)
    return None if inertia is None else float(inertia)


@dataclass(frozen=True)
class TrainingFolder:
    """Where a run keeps its unfinished training.

    Attributes
    ----------
    path : Path
        The folder.
    run : str
        The identity of the run.
    data : str
        Name of the data set.
    """

    path: Path
    run: str
    data: str

    def file(self, *identity: Any) -> Path:
        """Return the path of what is identified by JSON values; its folder exists."""
        self.path.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return self.path / digest[:16]


def fit_at_once(estimator: Any, images: Any, folder: TrainingFolder | None) -> None:
    """Fit an estimator that keeps nothing on the way."""
    estimator.fit(images)


@dataclass(frozen=True)
class TableModel:
    """A way to cluster, as the protocol sees it.

    Attributes
    ----------
    name : str
        Its name on the command line and in results files.
    title : str
        Its name in the table.
    make : callable (n_clusters, seed) -> Clusterer
        Makes a new estimator; ``fit`` and ``predict`` get images (N, rows, columns[, channels]).
    objective : callable (fitted estimator) -> float or None
        What training minimized, for the label-free choice among runs: smaller is better. By default
        ``inertia_``; None for a model that has nothing comparable.
    paper_row : str or None
        Row of the paper's Table 1 to compare with.
    library : str or None
        What `make` needs beyond the base installation, by the name it is imported by.
    extra : str or None
        The extra of this package that installs it.
    note : str
        What a reader of the table must know about this row; rows may share a note.
    limit : callable (steps) -> TableModel, optional
        Makes the same model, trained for so many batches in each phase.
    fit : callable (estimator, images, TrainingFolder) -> None
        Fits it; by default ``estimator.fit(images)``. A model that trains for hours keeps its
        state in the folder, where the next attempt at the same run finds it.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> model = TableModel("km", "KMeans", lambda k, seed: KMeans(k, n_init=1, random_state=seed))
    >>> model.parameters(n_clusters=3)["init"]
    'k-means++'
    """

    name: str
    title: str
    make: Callable[[int, int], Clusterer]
    objective: Callable[[Any], float | None] = training_objective
    paper_row: str | None = None
    library: str | None = None
    extra: str | None = None
    note: str = ""
    limit: Callable[[int], TableModel] | None = None
    fit: Callable[[Any, Any, TrainingFolder | None], None] = fit_at_once

    @property
    def is_installed(self) -> bool:
        """Whether the library it needs is installed."""
        try:
            return self.library is None or find_spec(self.library) is not None
        except (ModuleNotFoundError, ValueError):  # a broken installation, or a stub in its place
            return False

    def limited_to(self, steps: int) -> TableModel:
        """Return the model with its training limited to so many batches in each phase.

        A model without such a training is returned as it is.
        """
        return self if self.limit is None else self.limit(steps)

    def parameters(self, n_clusters: int) -> JSON:
        """Return the parameters that make a run of this model what it is, as JSON values."""
        return parameters_of(self.make(n_clusters, 0))


def parameters_of(estimator: Any) -> JSON:
    """Return an estimator's parameters as JSON values, without seed, threads and verbosity.

    Parameters
    ----------
    estimator : estimator
        Without ``get_params`` it has no parameters.
    """
    parameters = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    return {
        name: _as_json(value)
        for name, value in sorted(parameters.items())
        if name.rsplit("__", 1)[-1] not in _NOT_PARAMETERS
    }


def _as_json(value: Any) -> Any:
    if hasattr(value, "get_params"):  # its parameters are listed beside it, as solver__steps
        return type(value).__name__

    def plain(other: Any) -> Any:
        return other.tolist() if hasattr(other, "tolist") else repr(other)

    # Through JSON and back: what is compared must equal what a results file contains (lists, not
    # tuples).
    return json.loads(json.dumps(value, default=plain))


_MODELS: dict[str, TableModel] = {}


def register(model: TableModel) -> TableModel:
    """Make a model known to the protocol and the command line, and return it.

    Raises
    ------
    ValueError
        Another model has that name.
    """
    if _MODELS.get(model.name, model) != model:
        raise ValueError(
            f"There is a model {model.name!r} already; register this one under another name."
        )
    _MODELS[model.name] = model
    return model


def model_names() -> tuple[str, ...]:
    """Return the names of the known models, in the order of the table.

    Examples
    --------
    >>> "di-k-means" in model_names()
    True
    """
    return tuple(_MODELS)


def get_model(name: str) -> TableModel:
    """Return the model of that name; raise `UnknownChoiceError` if there is none."""
    return look_up("model", name, _MODELS)


def get_models(names: Iterable[str] = ()) -> tuple[TableModel, ...]:
    """Return the models of those names, each once; if none is named, all that are installed.

    Raises
    ------
    UnknownChoiceError
        There is no model of that name.
    MissingExtraError
        There is, but the library it needs is not installed.
    """
    named = tuple(get_model(name) for name in dict.fromkeys(names))
    for model in named:
        if not model.is_installed:
            assert model.library is not None
            raise MissingExtraError(model.library, str(model.extra), f"The model {model.name!r}")
    return named or tuple(model for model in _MODELS.values() if model.is_installed)


def missing_models() -> tuple[TableModel, ...]:
    """Return the known models that need a library which is not installed."""
    return tuple(model for model in _MODELS.values() if not model.is_installed)


def _k_means(n_clusters: int, seed: int) -> Clusterer:
    from dikmeans import DIKMeans

    return DIKMeans(n_clusters, warp="none", preprocessing=None, n_init=1, random_state=seed)


def _ai_k_means(n_clusters: int, seed: int) -> Clusterer:
    from dikmeans import DIKMeans

    return DIKMeans(n_clusters, warp="affine", n_init=1, random_state=seed)


def _published(warp: str, n_clusters: int, seed: int) -> Clusterer:
    from dikmeans import DIKMeans

    return DIKMeans.as_published(n_clusters, warp=warp, random_state=seed)


def _di_k_means(n_clusters: int, seed: int) -> Clusterer:
    from dikmeans import DIKMeans

    return DIKMeans(n_clusters, n_init=1, random_state=seed)


def _umap(clusterer: str, n_clusters: int, seed: int) -> Clusterer:
    from dikmeans.paper.umap_clustering import UMAPClustering

    return UMAPClustering(n_clusters, clusterer, random_state=seed)


def _make_baseline(
    baseline: str, architecture: str, max_steps: int | None, n_clusters: int, seed: int
) -> Clusterer:
    from dikmeans.paper import baselines

    estimator: Clusterer = getattr(baselines, baseline)(
        n_clusters,
        architecture=architecture,
        min_steps=FEWEST_DEEP_STEPS,
        max_steps=max_steps,
        random_state=seed,
    )
    return estimator


def _fit_baseline(estimator: Any, images: Any, folder: TrainingFolder | None) -> None:
    """Fit a deep baseline: resumable, and with the pre-training of another row if it is the same.

    The file of the run is removed when it is fitted. That of the pre-training stays for the others.
    """
    if folder is None:
        estimator.fit(images)
        return
    checkpoint = folder.file(folder.run)
    estimator.fit(
        images,
        checkpoint=checkpoint,
        pretraining=folder.file(folder.data, estimator.pretraining_settings()),
        checkpoint_interval=CHECKPOINT_SECONDS,
    )
    checkpoint.unlink(missing_ok=True)


def _deep_model(
    name: str, title: str, baseline: str, paper_row: str, architecture: str, max_steps: int | None
) -> TableModel:
    length = f"{FEWEST_DEEP_STEPS:,} batches of 128 images or the epochs of the defaults, " + (
        "whichever are more, in each phase; DEC until its labels settle"
        if max_steps is None
        else f"at most {max_steps:,} batches, in each phase"
    )
    suffix = {"mlp": "MLP", "conv": "Conv"}[architecture]
    return TableModel(
        name=f"{name}-{architecture}",
        title=f"{title} ({suffix})",
        make=partial(_make_baseline, baseline, architecture, max_steps),
        paper_row=paper_row.format(suffix),
        library="torch",
        extra="deep",
        note=f"Deep models were trained from scratch for {length}. The phases are the pre-training "
        "and, of DEC and VaDE, the clustering.",
        limit=partial(_deep_model, name, title, baseline, paper_row, architecture),
        fit=_fit_baseline,
    )


register(TableModel("k-means", "K-means", _k_means, paper_row="K-means"))
for _name, _row, _warp, _make in (
    ("ai-k-means", "AI K-means", "affine", _ai_k_means),
    ("di-k-means", "DI K-means", "tps", _di_k_means),
):
    _as_published = partial(_published, _warp)
    register(
        TableModel(
            f"{_name}-published",
            f"{_row} as published",
            _as_published,
            paper_row=_row,
        )
    )
    register(TableModel(_name, _row, _make, paper_row=_row))
for _name, _title, _clusterer in (
    ("umap-k-means", "UMAP + K-means", "k-means"),
    ("umap-gmm", "UMAP + Gaussian mixture", "gaussian-mixture"),
):
    register(
        TableModel(
            _name,
            _title,
            partial(_umap, _clusterer),
            library="umap",
            extra="umap",
            note="UMAP embeds the pixels in 10 dimensions (15 neighbors, smallest distance 0); the "
            "mixture has full covariances. Its runs have no objective that can be compared, hence "
            "no label-free choice: compare its mean.",
        )
    )
for _name, _title, _baseline, _row in (
    ("ae-k-means", "AE + K-means", "AutoencoderKMeans", "AE + K-means"),  # one row in the paper
    ("dec", "DEC", "DEC", "DEC ({})"),
    ("vade", "VaDE", "VaDE", "VaDE ({})"),
):
    for _architecture in ("mlp", "conv"):
        register(_deep_model(_name, _title, _baseline, _row, _architecture, None))
