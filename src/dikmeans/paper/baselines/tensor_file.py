"""Files of the rivals: tensor files (see `dikmeans.io.tensor_file`) that hold a network.

What is wrong with one is a `ModelFileError`, as with any other model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dikmeans import tensor_file
from dikmeans.io.model_file import ModelFileError, refuse_missing_folder


def write_tensor_file(
    path: Path, kind: str, version: int, header: dict[str, Any], tensors: dict[str, np.ndarray]
) -> None:
    """Write arrays and a JSON header under `path`, in one step."""
    refuse_missing_folder(path)
    tensor_file.write_tensor_file(path, kind, version, header, tensors)


def read_tensor_file(
    path: Path, kind: str, version: int, what: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file of format `kind`, or `ModelFileError`; see `dikmeans.io.tensor_file`."""
    try:
        return tensor_file.read_tensor_file(path, kind, version, what)
    except tensor_file.TensorFileError as error:
        raise ModelFileError(str(error)) from error


def network_tensors(network: Any) -> dict[str, np.ndarray]:
    """Weights and statistics of a network, by name."""
    return {f"network.{name}": value.cpu().numpy() for name, value in network.state_dict().items()}


def load_network_tensors(network: Any, tensors: dict[str, np.ndarray], path: Path) -> None:
    """Set a network to what `network_tensors` gave; every tensor must be there, fit, and be finite."""
    import torch

    found = checked_network_tensors(network, tensors, path)
    network.load_state_dict({name: torch.as_tensor(array) for name, array in found.items()})


def checked_network_tensors(
    network: Any, tensors: dict[str, np.ndarray], path: Path
) -> dict[str, np.ndarray]:
    """What `network_tensors` gave of a network like this one, which need not have memory for it yet."""
    wanted = network.state_dict()
    found = {name.removeprefix("network."): tensors[name] for name in tensors if name.startswith("network.")}
    if set(found) != set(wanted):
        odd = ", ".join(sorted(set(found) ^ set(wanted))[:5])
        raise ModelFileError(f"{path} does not hold this network: {odd} are missing or unknown.")
    for name, value in wanted.items():
        array = found[name]
        if array.shape != tuple(value.shape) or not np.isfinite(array).all():
            raise ModelFileError(f"{path}: {name} should be finite numbers of shape {tuple(value.shape)}.")
    return found
