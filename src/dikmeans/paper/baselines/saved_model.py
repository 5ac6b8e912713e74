"""A fitted baseline as a file: network and labels as tensors, the rest in the JSON header."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from dikmeans._typing import JSON, Array, PathLike
from dikmeans.images import check_image_shape
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file
from dikmeans.paper.baselines.networks import Autoencoder, make_network, network_without_memory
from dikmeans.paper.baselines.training import Epoch

if TYPE_CHECKING:
    from dikmeans.paper.baselines.deep_clusterer import DeepClusterer

FORMAT, VERSION = "dikmeans-baseline", 1

Model = TypeVar("Model", bound="DeepClusterer")


def save_baseline(model: DeepClusterer, path: PathLike) -> None:
    """Write a fitted baseline to `path`, whose folder must exist."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: there is no folder {path.parent}.")
    header = {
        "estimator": type(model).__name__,
        "dikmeans": version("dikmeans"),
        "parameters": parameters_as_json(model),
        "fitted": {
            "image_shape": list(model.image_shape_),
            "pixel_range": list(model.pixel_range_),
            "pixel_gain": model.pixel_gain_,
            "learning_rate": model.learning_rate_,
            "inertia": model.inertia_,
            "processor_seconds": model.processor_seconds_,
            "history": [asdict(epoch) for epoch in model.history_],
        },
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
    }
    tensors = {**network_tensors(model.network_), "labels": model.labels_}
    write_tensor_file(path, FORMAT, VERSION, header, tensors)


def load_baseline(cls: type[Model], path: PathLike) -> Model:
    """Read a baseline of class `cls` from `path`, or raise `TensorFileError`."""
    path = Path(path)
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "saved deep baseline")
    if header.get("estimator") != cls.__name__:
        raise TensorFileError(path, f"it holds a {header.get('estimator')!r}, not a {cls.__name__}")
    try:
        return _rebuild(cls, header, tensors)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise TensorFileError(path, f"damaged: {type(error).__name__}: {error}") from error


def _rebuild(cls: type[Model], header: JSON, tensors: dict[str, Array]) -> Model:
    """Return the model in a file; raise one of several errors if the content makes no sense."""
    parameters, fitted = header["parameters"], header["fitted"]
    known = set(cls().get_params(deep=False))
    if set(parameters) != known:
        different = ", ".join(sorted(set(parameters) ^ known))
        raise ValueError(f"unknown or missing parameters: {different}")
    values: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()
    }
    model = cls(**values)
    model._check_parameters()
    model.image_shape_ = check_image_shape(fitted["image_shape"])
    model.n_features_in_ = int(np.prod(model.image_shape_))
    low, high = fitted["pixel_range"]
    model.pixel_range_ = (float(low), float(high))
    model.pixel_gain_ = float(fitted["pixel_gain"])
    model.learning_rate_ = float(fitted["learning_rate"])
    model.inertia_ = float(fitted["inertia"])
    model.processor_seconds_ = float(fitted["processor_seconds"])
    model.history_ = [Epoch(**epoch) for epoch in fitted["history"]]
    model.n_iter_ = len(model.history_)
    model._n_features_out = model.embedding_dim
    names = header["feature_names_in"]
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("feature names should be strings")
    if names:
        if len(names) != model.n_features_in_:
            raise ValueError(f"{len(names)} names for {model.n_features_in_} features")
        model.feature_names_in_ = np.asarray(names, dtype=object)

    labels = tensors["labels"]
    is_label = (labels >= 0) & (labels < model.n_clusters)
    if labels.ndim != 1 or labels.dtype != np.int32 or not is_label.all():
        raise ValueError(f"labels should be whole numbers from 0 to {model.n_clusters - 1}")
    model.labels_ = labels
    shape = model._network_shape()
    # A header may claim any size: the tensors must have it before memory is allocated.
    checked_network_tensors(network_without_memory(model._network_class, **shape), tensors)
    model.network_ = make_network(model._network_class, torch.Generator(), **shape)
    load_network_tensors(model.network_, tensors)
    model.network_.eval()
    return model


def parameters_as_json(model: DeepClusterer) -> JSON:
    """Return the parameters of an estimator as JSON values; a random generator is not kept."""
    return {name: _to_json(value) for name, value in model.get_params(deep=False).items()}


def _to_json(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value


def network_tensors(network: Autoencoder) -> dict[str, Array]:
    """Return weights and statistics of a network, by name."""
    state = network.state_dict()
    return {f"network.{name}": value.cpu().numpy() for name, value in state.items()}


def load_network_tensors(network: Autoencoder, tensors: dict[str, Array]) -> None:
    """Set a network to what `network_tensors` returned."""
    checked = checked_network_tensors(network, tensors)
    network.load_state_dict({name: torch.as_tensor(array) for name, array in checked.items()})


def checked_network_tensors(network: Autoencoder, tensors: dict[str, Array]) -> dict[str, Array]:
    """Return the tensors of a network; raise ValueError unless all are there, finite, and fit."""
    expected = network.state_dict()
    arrays = {
        name.removeprefix("network."): array
        for name, array in tensors.items()
        if name.startswith("network.")
    }
    if set(arrays) != set(expected):
        different = ", ".join(sorted(set(arrays) ^ set(expected))[:5])
        raise ValueError(f"not this network: missing or unknown tensors: {different}")
    for name, value in expected.items():
        shape = tuple(value.shape)
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} should be finite numbers of shape {shape}")
    return arrays
