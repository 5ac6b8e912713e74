"""Fitted rivals in files: network and labels as tensors, the rest in the JSON header."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dikmeans.images import check_image_shape
from dikmeans.paper.baselines.networks import lay_out_network, make_network
from dikmeans.paper.baselines.tensor_file import (
    checked_network_tensors,
    load_network_tensors,
    network_tensors,
    read_tensor_file,
    write_tensor_file,
)
from dikmeans.paper.baselines.training import Epoch
from dikmeans.io.model_file import ModelFileError, check_feature_names

FORMAT, VERSION = "dikmeans-rival", 1


def save_rival(model: Any, path: Any) -> None:
    """Write a fitted rival to `path`."""
    header = {
        "estimator": type(model).__name__,
        "dikmeans": version("dikmeans"),
        "parameters": json_parameters(model),
        "fitted": {
            "image_shape": list(model.image_shape_),
            "pixel_range": list(model.pixel_range_),
            "pixel_gain": model.pixel_gain_,
            "learning_rate": model.learning_rate_,
            "inertia": model.inertia_,
            "history": [asdict(epoch) for epoch in model.history_],
        },
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
    }
    tensors = {**network_tensors(model.network_), "labels": model.labels_}
    write_tensor_file(Path(path), FORMAT, VERSION, header, tensors)


def load_rival(cls: Any, path: Any) -> Any:
    """Read a rival of class `cls` from `path`, or raise `ModelFileError`."""
    path = Path(path)
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "model written by a rival's save")
    if header.get("estimator") != cls.__name__:
        raise ModelFileError(f"{path} holds a model of {header.get('estimator')!r}, not of {cls.__name__}.")
    try:
        return _rebuild(cls, path, header, tensors)
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise ModelFileError(
            f"{path} is damaged or not a dikmeans model: {type(error).__name__}: {error}"
        ) from error


def _rebuild(cls: Any, path: Path, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    parameters, fitted = header["parameters"], header["fitted"]
    known = set(cls._get_param_names())
    if set(parameters) != known:
        odd = ", ".join(sorted(set(parameters) ^ known))
        raise ModelFileError(f"{path} has unknown or missing parameters: {odd}.")
    model = cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()})
    model._validate_params()
    model.image_shape_ = check_image_shape(fitted["image_shape"])
    model.n_features_in_ = int(np.prod(model.image_shape_))
    low, high = fitted["pixel_range"]
    model.pixel_range_ = (float(low), float(high))
    model.pixel_gain_ = float(fitted["pixel_gain"])
    model.learning_rate_ = float(fitted["learning_rate"])
    model.inertia_ = float(fitted["inertia"])
    model.history_ = [Epoch(**epoch) for epoch in fitted["history"]]
    model.n_iter_ = len(model.history_)
    model._n_features_out = model.embedding_dim
    check_feature_names(header["feature_names_in"], model.n_features_in_)
    if header["feature_names_in"]:
        model.feature_names_in_ = np.asarray(header["feature_names_in"], dtype=object)

    labels = tensors["labels"]
    if (
        labels.ndim != 1
        or labels.dtype != np.int32
        or (labels < 0).any()
        or (labels >= model.n_clusters).any()
    ):
        raise ModelFileError(f"{path}: labels should be whole numbers from 0 to {model.n_clusters - 1}.")
    model.labels_ = labels
    shape = model._network_shape()
    # a header may claim any size: the tensors have to have it before memory is taken
    checked_network_tensors(lay_out_network(model._network_kind, **shape), tensors, path)
    model.network_ = make_network(model._network_kind, torch.Generator(), **shape)
    load_network_tensors(model.network_, tensors, path)
    model.network_.eval()
    return model


def json_parameters(model: Any) -> dict[str, Any]:
    """The parameters of an estimator as JSON values; a random generator is not kept."""
    return {name: _to_json(value) for name, value in model.get_params(deep=False).items()}


def _to_json(value: Any) -> Any:
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, (tuple, np.ndarray)):
        return [_to_json(entry) for entry in value]
    return None if isinstance(value, np.random.RandomState) else value
