"""Model files: one safetensors file with a versioned JSON header.

Layout: the tensors ``forms`` (M, rows, columns[, channels]), ``form_clusters`` (M,), ``form_weights`` (M,),
``init_centers`` (K, rows, columns[, channels]), ``labels`` (N,), where a stiffness was learned ``stiffness``,
where the first centroids were given ``init``, and arrays
that the normaliser has learned ``normaliser.*``; in the metadata one entry ``dikmeans`` with a JSON object:
format, version, parameters, and the fitted values that are not arrays.
Where the work was done (`device`) is not kept: a model fitted on a GPU is read where there is none.
Reading parses numbers and JSON and nothing else: a file cannot make code run. A file is written beside
its place first, and moved there when complete.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dikmeans.registration.solvers import make_solver
from dikmeans.io.atomic import atomic_write
from dikmeans.monitoring.history import History, Iteration
from dikmeans.preprocessing import NORMALISERS
from dikmeans.io.parameters import parameter_from_json, parameters_as_json, plain
from dikmeans.kmeans.deformation_prior import is_precision
from dikmeans.images import check_image_shape

FORMAT = "dikmeans-model"
VERSION = 5
_TENSORS = {"forms", "form_clusters", "form_weights", "init_centers", "labels"}
_HEADER = {"format", "version", "dikmeans", "parameters", "fitted", "feature_names_in"}
_FITTED = {
    "image_shape",
    "n_features_in",
    "inertia",
    "n_iter",
    "normalize",
    "normaliser",
    "learned_stiffness",
    "history",
}
# Before the names of arrays that the normaliser has learned.
_LEARNED = "normaliser."
# Parameters that belong to a machine and not to a model.
_OF_THE_MACHINE = {"device"}


class ModelFileError(ValueError):
    """A file that is not a model this version can read."""


def save_model(model: Any, path: Any) -> None:
    """Write a fitted `DIKMeans` to `path`."""
    parameters = model.get_params(deep=False)
    tensors = {
        "forms": np.ascontiguousarray(model.prototypes_),
        "form_clusters": np.ascontiguousarray(model.prototype_clusters_),
        "form_weights": np.ascontiguousarray(model.prototype_weights_),
        "init_centers": np.ascontiguousarray(model.init_centers_),
        "labels": np.ascontiguousarray(model.labels_),
    }
    if model.deformation_precision_ is not None:
        tensors["stiffness"] = np.ascontiguousarray(model.deformation_precision_)
    if not isinstance(parameters["init"], str):
        tensors["init"] = np.ascontiguousarray(parameters["init"], dtype=np.float64)
    learned = model.preprocessing_.learned
    arrays = {name for name, value in learned.items() if isinstance(value, np.ndarray)}
    tensors |= {_LEARNED + name: np.ascontiguousarray(learned[name]) for name in arrays}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "dikmeans": version("dikmeans"),
        "parameters": {
            name: value for name, value in parameters_as_json(model).items() if name not in _OF_THE_MACHINE
        },
        "fitted": {
            "image_shape": list(model.image_shape_),
            "n_features_in": int(model.n_features_in_),
            "inertia": model.inertia_,
            "n_iter": model.n_iter_,
            "normalize": model.normalize_,
            "normaliser": {name: learned[name] for name in set(learned) - arrays},
            "learned_stiffness": model.deformation_precision_ is not None,
            "history": asdict(model.history_),
        },
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
    }
    write_atomically(Path(path), save(tensors, metadata={"dikmeans": json.dumps(header, default=plain)}))


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, or leave it untouched if anything goes wrong."""
    refuse_missing_folder(path)
    with atomic_write(path) as stream:
        stream.write(content)


def refuse_missing_folder(path: Path) -> None:
    """Raise if there is no folder for a file: a name that was mistyped should not become one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: there is no folder {path.parent}.")


def load_model(cls: type, path: Any) -> Any:
    """Read a model of class `cls` from `path`, or raise `ModelFileError`."""
    path = Path(path)
    content = path.read_bytes()
    header = _read_header(path, content)
    try:
        tensors = load(content)
    except (SafetensorError, KeyError, TypeError) as error:  # the last two: numbers that numpy does not know
        raise _damaged(path, str(error)) from error
    try:
        return _rebuild(cls, path, header, tensors)
    except ModelFileError:
        raise
    except (
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def _read_header(path: Path, content: bytes) -> dict[str, Any]:
    """The JSON object of the metadata, if it is one of ours in a version we know."""
    size = int.from_bytes(content[:8], "little") if len(content) >= 8 else -1
    if not 0 < size <= len(content) - 8:
        raise _damaged(path, "it has no safetensors header")
    try:
        metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, "its header holds no metadata") from error
    try:
        header = json.loads(metadata["dikmeans"])
        known = header["format"] == FORMAT and isinstance(header["version"], int)
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(f"{path} is a safetensors file, but not a model written by DIKMeans.save.")
    if header["version"] != VERSION:
        raise ModelFileError(
            f"{path} has model format version {header['version']}; this dikmeans "
            f"{version('dikmeans')} reads version {VERSION}. Update dikmeans, or save the model anew."
        )
    return header


def _rebuild(cls: Any, path: Path, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    parameters, fitted = dict(header["parameters"]), header["fitted"]
    known = set(cls._get_param_names()) - _OF_THE_MACHINE
    odd = (set(header) ^ _HEADER) | (set(parameters) ^ known) | (set(fitted) ^ _FITTED)
    if odd:
        raise ModelFileError(f"{path} has unknown or missing entries: {', '.join(sorted(odd))}.")
    optional = {"init": parameters["init"] is None, "stiffness": fitted["learned_stiffness"]}
    learned = {name for name in tensors if name.startswith(_LEARNED)}
    odd = (set(tensors) - learned) ^ (_TENSORS | {name for name, expected in optional.items() if expected})
    if odd:
        raise ModelFileError(f"{path} has unknown or missing tensors: {', '.join(sorted(odd))}.")

    if parameters["init"] is None:
        parameters["init"] = tensors["init"]
    elif not isinstance(parameters["init"], str):
        raise _damaged(path, "first centroids that were given should be a tensor")
    model = cls(**{name: parameter_from_json(name, value) for name, value in parameters.items()})
    try:
        model._validate_params()
        shape = model.image_shape_ = check_image_shape(fitted["image_shape"])
        model.solver_ = make_solver(model.solver)
        model.normalize_ = fitted["normalize"]
        if model.normalize_ not in NORMALISERS:
            raise ValueError(f"normalize={model.normalize_!r} is not known.")
        if model.normalize not in ("auto", model.normalize_):
            raise ValueError(f"normalize={model.normalize!r} cannot have become {model.normalize_!r}.")
        arrays = {name.removeprefix(_LEARNED): tensors[name] for name in learned}
        channels = shape[2] if len(shape) == 3 else 1
        model.preprocessing_ = NORMALISERS[model.normalize_].restore(
            {**fitted["normaliser"], **arrays}, (channels, *shape[:2])
        )
    except ValueError as error:
        raise ModelFileError(f"{path} holds parameters that make no sense: {error}") from error
    # before anything is made in a size that the header claims
    _check_pictures(path, tensors, (model.n_clusters, *shape))
    _check_forms(path, tensors, model.n_clusters, shape)
    try:
        n_parameters = 2 * model._measure(model.warp).n_basis
    except ValueError as error:
        raise ModelFileError(f"{path} holds parameters that make no sense: {error}") from error
    stiffness = tensors.get("stiffness")
    expected = (model.n_clusters, n_parameters, n_parameters)
    if stiffness is not None and not is_precision(stiffness, expected):
        raise _damaged(path, f"stiffness should be positive definite matrices, shape {expected}")
    labels = tensors["labels"]
    if labels.ndim != 1 or labels.dtype.kind != "i" or not _within(labels, model.n_clusters):
        raise _damaged(path, f"labels should be whole numbers from 0 to {model.n_clusters - 1}")
    if fitted["n_features_in"] != np.prod(shape):
        raise _damaged(path, "n_features_in does not fit image_shape")

    names, inertia = header["feature_names_in"], float(fitted["inertia"])
    if not np.isfinite(inertia):
        raise _damaged(path, f"inertia is {inertia}")
    check_feature_names(names, fitted["n_features_in"])

    model.n_features_in_ = int(fitted["n_features_in"])
    model.prototypes_ = tensors["forms"]
    model.prototype_clusters_ = tensors["form_clusters"].astype(np.int64)
    model.prototype_weights_ = tensors["form_weights"].astype(np.float64)
    model.init_centers_ = tensors["init_centers"]
    model.labels_ = labels
    model.inertia_ = inertia
    model.deformation_precision_ = stiffness
    model.n_iter_ = int(fitted["n_iter"])
    iterations = [_iteration(**iteration) for iteration in fitted["history"]["iterations"]]
    model.history_ = History(iterations, str(fitted["history"]["stopped"]))
    model._n_features_out = model.n_clusters
    model._first_images = None
    if names:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    return model


def check_feature_names(names: Any, n_features: int) -> None:
    """Raise ValueError unless it is a list of as many texts, or an empty one."""
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("feature names should be texts")
    if names and len(names) != n_features:
        raise ValueError(f"there are {len(names)} feature names for {n_features} features")


def _check_pictures(path: Path, tensors: dict[str, np.ndarray], expected: tuple[int, ...]) -> None:
    """Refuse centroids that are not finite numbers of the expected shape; given ones may be flat."""
    flat = (expected[0], math.prod(expected[1:]))
    for name in ("init_centers", "init"):
        array = tensors.get(name)
        if array is None:  # only the last may be absent
            continue
        fits = array.shape == expected or (name == "init" and array.shape == flat)
        if not fits or not _are_pixels(array):
            raise _damaged(path, f"{name} should be finite numbers of shape {expected}")


def _check_forms(path: Path, tensors: dict[str, np.ndarray], n_clusters: int, shape: tuple[int, ...]) -> None:
    """Refuse forms that are no pictures of that shape, without a weight, or that leave a cluster without."""
    forms, clusters, weights = (tensors[name] for name in ("forms", "form_clusters", "form_weights"))
    if forms.shape != (len(forms), *shape) or not _are_pixels(forms):
        raise _damaged(path, f"forms should be finite numbers of shape (forms, {', '.join(map(str, shape))})")
    complete = clusters.dtype.kind == "i" and np.array_equal(np.unique(clusters), np.arange(n_clusters))
    if clusters.shape != (len(forms),) or not complete or (np.diff(clusters) < 0).any():
        raise _damaged(path, f"form_clusters should name clusters 0 to {n_clusters - 1}, ascending")
    if weights.shape != (len(forms),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise _damaged(path, f"form_weights should be {len(forms)} weights")


def _are_pixels(array: np.ndarray) -> bool:
    return array.dtype in (np.float32, np.float64) and bool(np.isfinite(array).all())


def _iteration(phase: Any, distortion: Any, moved: Any, seconds: Any) -> Iteration:
    return Iteration(str(phase), float(distortion), int(moved), float(seconds))


def _within(labels: np.ndarray, n_clusters: int) -> bool:
    return bool(len(labels) == 0 or (labels.min() >= 0 and labels.max() < n_clusters))


def _damaged(path: Path, why: str) -> ModelFileError:
    return ModelFileError(f"{path} is damaged or not a dikmeans model: {why}.")
