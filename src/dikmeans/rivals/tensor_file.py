"""Files of the rivals: safetensors with a versioned JSON header, written whole or not at all.

Reading parses numbers and JSON and nothing else: a file cannot make code run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from dikmeans.store.model_file import ModelFileError, write_atomically

_ENTRY = "dikmeans"  # of the safetensors metadata, which holds strings only


def write_tensor_file(
    path: Path, kind: str, version: int, header: dict[str, Any], tensors: dict[str, np.ndarray]
) -> None:
    """Write arrays and a JSON header under `path`, in one step."""
    full = {"format": kind, "version": version, **header}
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    write_atomically(path, save(arrays, metadata={_ENTRY: json.dumps(full)}))


def read_tensor_file(
    path: Path, kind: str, version: int, what: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file of format `kind`, or `ModelFileError`.

    Parameters
    ----------
    path : Path
    kind : str
        The format that is expected.
    version : int
        The version of it that can be read.
    what : str
        What to call such a file in messages.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- no mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged or not a {what}: {error}") from error
    try:
        header = json.loads(metadata[_ENTRY])
        known = header["format"] == kind
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(f"{path} is a safetensors file, but not a {what}.")
    if header.get("version") != version:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}, but of a {what} this dikmeans reads "
            f"version {version}."
        )
    return header, tensors


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
