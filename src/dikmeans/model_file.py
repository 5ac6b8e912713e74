"""Model files: one safetensors file with a versioned JSON header and a checksum.

Tensors: ``prototypes`` (M, rows, columns[, channels]), ``prototype_clusters`` (M,),
``prototype_weights`` (M,), ``init_centers`` (K, rows, columns[, channels]), the assignment of the
training images ``assignment.*`` and what a person has decided about them ``decided`` (N,), the rule
for outliers ``outlier_centers`` and ``outlier_spreads`` (K,), what preprocessing has learned
``preprocessing.*``, where a deformation prior was learned ``deformation_precision``, where clusters
were given weights ``cluster_surcharges`` (K,), and where the first centroids were given ``init``.
The JSON header has format, version, parameters, and the fitted values that are not arrays. The
device of the solver is not kept: a model fitted on a GPU is read where there is none.

Reading parses numbers and JSON and nothing else: a file cannot make code run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray, ImageShape, IntArray, PathLike
from dikmeans.checkpoint.folder import WRONG_CONTENT
from dikmeans.errors import DikmeansError
from dikmeans.images import check_image_shape
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file
from dikmeans.kmeans.guidance import FREE, REJECTED
from dikmeans.kmeans.history import History, IterationRecord
from dikmeans.kmeans.outliers import OutlierRule
from dikmeans.kmeans.schedule import Search
from dikmeans.kmeans.shard import Assignment
from dikmeans.parameters import Choice
from dikmeans.preprocessing import PREPROCESSORS, Chain, Preprocessor
from dikmeans.registration.solvers import SOLVERS, Solver, resolve_solver
from dikmeans.registration.specification import is_precision

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

FORMAT, VERSION = "dikmeans-model", 3
_ASSIGNMENT, _PREPROCESSING = "assignment.", "preprocessing."
_TENSORS = {
    "prototypes",
    "prototype_clusters",
    "prototype_weights",
    "init_centers",
    "decided",
    "outlier_centers",
    "outlier_spreads",
    *(_ASSIGNMENT + field for field in Assignment._fields if field != "warps"),
}
_OPTIONAL_TENSORS = {
    "init",
    "deformation_precision",
    "cluster_surcharges",
    _ASSIGNMENT + "warps",
}
_HEADER = {"format", "version", "dikmeans", "parameters", "fitted", "feature_names_in"}
_FITTED = {
    "image_shape",
    "n_features_in",
    "inertia",
    "n_iter",
    "preprocessing",
    "learned",
    "choices",
    "learned_prior",
    "history",
    "outlier_threshold",
    "cluster_names",
    "cluster_ids",
}

ModelT = TypeVar("ModelT", bound="DIKMeans")


class ModelFileError(DikmeansError, ValueError):
    """A file that is not a model this version can read.

    Attributes
    ----------
    path : pathlib.Path
    reason : str
    """

    def __init__(self, path: Path, reason: str):
        self.path, self.reason = path, reason
        super().__init__(f"{path} is not a model that can be read: {reason}.")


# -- parameters --------------------------------------------------------------------------------


def encode_parameters(model: DIKMeans) -> JSON:
    """A model's parameters as JSON; given centroids and generators are None there."""
    return {name: _encode(value) for name, value in model.get_params(deep=False).items()}


def _encode(value: object) -> object:
    if isinstance(value, Solver):
        settings = value.get_params()
        del settings["device"]  # a matter of the machine, not of the model
        return {"class": type(value).__name__, **settings}
    if isinstance(value, Search):
        return {"class": "Search", **value.get_params()}
    if isinstance(value, Chain):
        return {"class": "Chain", "steps": [_encode(step) for step in value.steps]}
    if isinstance(value, Preprocessor):
        return {"class": type(value).__name__, **value.get_params()}
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray | list | tuple) and np.ndim(value) > 1:
        return None  # first centroids: a tensor
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


_CLASSES: dict[str, Callable[..., object]] = {
    kind.__name__: kind for kind in (*SOLVERS.values(), Search, *PREPROCESSORS.values(), Chain)
}


def _decode(value: object) -> object:
    if isinstance(value, dict):
        settings = {name: _decode(setting) for name, setting in value.items()}
        return _CLASSES[str(settings.pop("class"))](**settings)
    return tuple(map(_decode, value)) if isinstance(value, list) else value


def plain(value: Any) -> object:
    """NumPy's scalars and arrays as JSON knows them: the `default` of ``json.dumps``."""
    converted: object = value.tolist()
    return converted


# -- writing -----------------------------------------------------------------------------------


def save_model(model: DIKMeans, path: PathLike) -> None:
    """Write a fitted `DIKMeans` to `path`."""
    place = Path(path)
    refuse_missing_folder(place)
    tensors: dict[str, Array] = {
        "prototypes": model.prototypes_,
        "prototype_clusters": model.prototype_clusters_,
        "prototype_weights": model.prototype_weights_,
        "init_centers": model.init_centers_,
        "decided": model.decided_,
        "outlier_centers": model.outlier_rule_.centers,
        "outlier_spreads": model.outlier_rule_.spreads,
    }
    for field, column in model.assignment_._asdict().items():
        if column is not None:
            tensors[_ASSIGNMENT + field] = column
    if model.deformation_precision_ is not None:
        tensors["deformation_precision"] = model.deformation_precision_
    if model.cluster_surcharges_.any():
        tensors["cluster_surcharges"] = model.cluster_surcharges_
    if not isinstance(model.init, str):
        tensors["init"] = np.asarray(model.init, dtype=np.float64)
    numbers: dict[str, float] = {}
    for name, value in model.preprocessing_.learned.items():
        if isinstance(value, np.ndarray):
            tensors[_PREPROCESSING + name] = value
        else:
            numbers[name] = float(value)
    header = {
        "dikmeans": version("dikmeans"),
        "parameters": encode_parameters(model),
        "fitted": {
            "image_shape": list(model.image_shape_),
            "n_features_in": int(model.n_features_in_),
            "inertia": model.inertia_,
            "n_iter": model.n_iter_,
            "preprocessing": _encode(model.preprocessing_),
            "learned": numbers,
            "choices": {name: list(choice) for name, choice in model.choices_.items()},
            "learned_prior": model.deformation_precision_ is not None,
            "history": asdict(model.history_),
            "outlier_threshold": _finite_or_none(model.outlier_rule_.threshold),
            "cluster_names": list(model.cluster_names_),
            "cluster_ids": list(model.cluster_ids_),
        },
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
    }
    encoded: JSON = json.loads(json.dumps(header, default=plain))
    write_tensor_file(place, FORMAT, VERSION, encoded, tensors)


def refuse_missing_folder(path: Path) -> None:
    """Raise if there is no folder for a file: a mistyped name should not become one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: there is no folder {path.parent}.")


# -- reading -----------------------------------------------------------------------------------


def load_model(cls: type[ModelT], path: PathLike) -> ModelT:
    """Read a model of class `cls` from `path`, or raise `ModelFileError`."""
    place = Path(path)
    try:
        header, tensors = read_tensor_file(place, FORMAT, VERSION, "model written by DIKMeans.save")
        return _rebuild(cls, header, tensors)
    except TensorFileError as error:
        raise ModelFileError(place, error.reason) from error
    except FileNotFoundError:
        raise
    except WRONG_CONTENT as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(place, reason.rstrip(".")) from error


def _rebuild(cls: type[ModelT], header: JSON, tensors: dict[str, Array]) -> ModelT:
    """The model; raises ValueError, KeyError and the like if header or tensors are no model's."""
    fitted = header["fitted"]
    _check_names(cls, header, tensors)
    model = _restore_settings(cls, header, tensors)
    measure = model.measure_.build(model.image_shape_)
    n_parameters = 2 * measure.n_basis
    precision = tensors.get("deformation_precision")
    expected = (model.n_clusters, n_parameters, n_parameters)
    if precision is not None and not is_precision(precision, expected):
        raise ValueError(
            f"deformation_precision should be positive definite matrices of shape {expected}"
        )
    if fitted["n_features_in"] != np.prod(model.image_shape_):
        raise ValueError("n_features_in does not fit image_shape")
    if not np.isfinite(float(fitted["inertia"])):
        raise ValueError(f"inertia is {fitted['inertia']}")
    check_feature_names(header["feature_names_in"], fitted["n_features_in"])

    model.n_features_in_ = int(fitted["n_features_in"])
    model.prototypes_ = tensors["prototypes"]
    model.prototype_clusters_ = tensors["prototype_clusters"].astype(np.int64)
    model.prototype_weights_ = tensors["prototype_weights"].astype(np.float64)
    model.init_centers_ = tensors["init_centers"]
    model.assignment_ = _read_assignment(
        tensors, model.n_clusters, measure.n_basis, len(measure.orientations)
    )
    model.labels_ = model.assignment_.labels
    model.decided_ = _read_decided(tensors["decided"], len(model.labels_), model.n_clusters)
    model.outlier_rule_ = _read_outlier_rule(tensors, fitted, model.n_clusters)
    model.cluster_surcharges_ = _read_surcharges(tensors, model.n_clusters)
    model.cluster_names_ = _read_texts(fitted["cluster_names"], model.n_clusters, "cluster_names")
    ids = _read_texts(fitted["cluster_ids"], model.n_clusters, "cluster_ids")
    model.cluster_ids_ = tuple(text for text in ids if text is not None)
    if len(set(model.cluster_ids_)) < model.n_clusters:
        raise ValueError("cluster_ids should be different texts")
    model.inertia_ = float(fitted["inertia"])
    model.deformation_precision_ = precision
    model.n_iter_ = int(fitted["n_iter"])
    model.history_ = _read_history(fitted["history"])
    model.choices_ = _read_choices(fitted["choices"])
    model._n_features_out = model.n_clusters
    if header["feature_names_in"]:
        model.feature_names_in_ = np.asarray(header["feature_names_in"], dtype=object)
    return model


def _check_names(cls: type[DIKMeans], header: JSON, tensors: dict[str, Array]) -> None:
    """Raise ValueError unless header and tensors are those of a model, by their names."""
    parameters, fitted = dict(header["parameters"]), header["fitted"]
    known = set(cls._get_param_names())
    _refuse_odd("entries", (set(header) ^ _HEADER) | (set(parameters) ^ known))
    _refuse_odd("fitted values", set(fitted) ^ _FITTED)
    fixed = {name for name in tensors if not name.startswith(_PREPROCESSING)}
    _refuse_odd("tensors", (fixed - _OPTIONAL_TENSORS) ^ _TENSORS)
    is_given = not isinstance(parameters["init"], str)
    if is_given != ("init" in tensors) or (is_given and parameters["init"] is not None):
        raise ValueError("given first centroids should be a tensor")
    if fitted["learned_prior"] != ("deformation_precision" in tensors):
        raise ValueError("unknown or missing tensors: deformation_precision")


def _restore_settings(cls: type[ModelT], header: JSON, tensors: dict[str, Array]) -> ModelT:
    """A model with its parameters, its preprocessing and its measure."""
    fitted = header["fitted"]
    decoded = {name: _decode(value) for name, value in dict(header["parameters"]).items()}
    if decoded["init"] is None:
        decoded["init"] = tensors["init"]
    model = cls(**decoded)  # type: ignore[arg-type]  # checked right now
    model._check_parameters()
    shape = model.image_shape_ = check_image_shape(fitted["image_shape"])
    resolve_solver(model.solver)
    preprocessing = _decode(fitted["preprocessing"])
    if not isinstance(preprocessing, Preprocessor):
        raise ValueError(f"{preprocessing!r} is no preprocessing")
    asked = model.preprocessing
    is_other = isinstance(asked, str) and asked not in ("auto", preprocessing.name)
    if is_other or (asked is None and preprocessing.name is not None):
        raise ValueError(f"preprocessing={asked!r} cannot have become {preprocessing.name!r}")
    learned = {
        name.removeprefix(_PREPROCESSING): tensor
        for name, tensor in tensors.items()
        if name.startswith(_PREPROCESSING)
    }
    model.preprocessing_ = preprocessing.restore({**fitted["learned"], **learned}, shape)
    _check_pictures(tensors, model.n_clusters, model.compared_shape_, shape)
    model.measure_ = model.measure_for(model.preprocessing_)
    return model


def _refuse_odd(what: str, names: set[str]) -> None:
    if names:
        raise ValueError(f"unknown or missing {what}: {', '.join(sorted(names))}")


def _finite_or_none(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _read_decided(decided: Array, n: int, n_clusters: int) -> IntArray:
    is_whole = decided.shape == (n,) and decided.dtype.kind == "i"
    if not is_whole or (n and not FREE <= decided.min() <= decided.max() < n_clusters):
        raise ValueError(f"decided should be {n} whole numbers from {FREE} to {n_clusters - 1}")
    return decided.astype(np.int64)


def _read_outlier_rule(tensors: dict[str, Array], fitted: JSON, n_clusters: int) -> OutlierRule:
    centers, spreads = tensors["outlier_centers"], tensors["outlier_spreads"]
    for name, column in (("outlier_centers", centers), ("outlier_spreads", spreads)):
        if column.shape != (n_clusters,) or not _are_pixels(column):
            raise ValueError(f"{name} should be {n_clusters} finite numbers")
    if not (spreads > 0).all():
        raise ValueError("outlier_spreads should be positive")
    threshold = fitted["outlier_threshold"]
    return OutlierRule(centers, spreads, math.inf if threshold is None else float(threshold))


def _read_surcharges(tensors: dict[str, Array], n_clusters: int) -> FloatArray:
    surcharges = tensors.get("cluster_surcharges", np.zeros(n_clusters))
    is_whole = surcharges.shape == (n_clusters,) and _are_pixels(surcharges)
    if not is_whole or (surcharges < 0).any():
        raise ValueError(f"cluster_surcharges should be {n_clusters} numbers of at least 0")
    return surcharges


def _read_texts(texts: object, n: int, what: str) -> tuple[str | None, ...]:
    if not isinstance(texts, list) or len(texts) != n:
        raise ValueError(f"{what} should be {n} texts")
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"{what} should be {n} texts")
    return tuple(texts)


def _read_assignment(
    tensors: dict[str, Array], n_clusters: int, n_basis: int, n_orientations: int
) -> Assignment:
    fields = {field: tensors.get(_ASSIGNMENT + field) for field in Assignment._fields}
    labels, prototypes, costs, margins, orientations, warps = fields.values()
    n = len(tensors[_ASSIGNMENT + "labels"])
    for name, column, low, n_values in (
        ("labels", labels, REJECTED, n_clusters),
        ("prototypes", prototypes, 0, len(tensors["prototypes"])),
        ("orientations", orientations, 0, n_orientations),
    ):
        assert column is not None
        is_whole = column.shape == (n,) and column.dtype.kind == "i"
        if not is_whole or (n and not low <= column.min() <= column.max() < n_values):
            raise ValueError(f"{name} should be whole numbers from {low} to {n_values - 1}")
    for name, column in (("costs", costs), ("margins", margins)):
        assert column is not None
        if column.shape != (n,) or column.dtype != np.float64 or np.isinf(column).any():
            raise ValueError(f"{name} should be {n} numbers")
    if warps is not None and (
        warps.shape != (n, 2, n_basis) or warps.dtype != np.float32 or not np.isfinite(warps).all()
    ):
        raise ValueError(f"warps should be finite numbers of shape {(n, 2, n_basis)}")
    return Assignment(**fields)  # type: ignore[arg-type]  # only warps may be None


def _read_history(record: JSON) -> History:
    iterations = [
        IterationRecord(
            str(entry["phase"]),
            float(entry["inertia"]),
            int(entry["n_images"]),
            int(entry["moved"]),
            float(entry["seconds"]),
        )
        for entry in record["iterations"]
    ]
    return History(iterations, str(record["stopped"]))


def _read_choices(record: JSON) -> dict[str, Choice]:
    return {
        str(name): Choice(_decode(value), str(reason)) for name, (value, reason) in record.items()
    }


def check_feature_names(names: object, n_features: int) -> None:
    """Raise ValueError unless it is a list of as many texts, or an empty one."""
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("feature names should be texts")
    if names and len(names) != n_features:
        raise ValueError(f"there are {len(names)} feature names for {n_features} features")


def _check_pictures(
    tensors: dict[str, Array], n_clusters: int, shape: ImageShape, given_shape: ImageShape
) -> None:
    """Raise ValueError unless centroids and prototypes are pictures, and every cluster has one.

    Given first centroids are of `given_shape`, that of images before preprocessing, or flat.
    """
    centers, given = tensors["init_centers"], tensors.get("init")
    if centers.shape != (n_clusters, *shape) or not _are_pixels(centers):
        raise ValueError(f"init_centers should be finite numbers of shape {(n_clusters, *shape)}")
    flat = (n_clusters, math.prod(given_shape))
    fits = given is None or given.shape in ((n_clusters, *given_shape), flat)
    if not fits or not (given is None or _are_pixels(given)):
        raise ValueError(f"init should be finite numbers of shape {(n_clusters, *given_shape)}")
    prototypes, clusters = tensors["prototypes"], tensors["prototype_clusters"]
    weights = tensors["prototype_weights"]
    if prototypes.shape != (len(prototypes), *shape) or not _are_pixels(prototypes):
        raise ValueError(f"prototypes should be finite pictures of shape {tuple(shape)}")
    is_whole = clusters.shape == (len(prototypes),) and clusters.dtype.kind == "i"
    complete = is_whole and np.array_equal(np.unique(clusters), np.arange(n_clusters))
    if not complete or (np.diff(clusters) < 0).any():
        raise ValueError(
            f"prototype_clusters should name clusters 0 to {n_clusters - 1}, ascending"
        )
    if weights.shape != (len(prototypes),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"prototype_weights should be {len(prototypes)} weights")


def _are_pixels(array: Array) -> bool:
    return array.dtype in (np.float32, np.float64) and bool(np.isfinite(array).all())
