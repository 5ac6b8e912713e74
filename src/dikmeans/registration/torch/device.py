"""From a device's name to the device, or to words about why it cannot be had."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dikmeans.errors import MissingExtraError
from dikmeans.parameters import InvalidParameterError

if TYPE_CHECKING:
    import torch


def torch_device(name: str) -> torch.device:
    """The `torch.device` called `name`: "cpu", "cuda" or, for a certain one, "cuda:1".

    Others PyTorch knows are refused: sums over images need double precision, which not all of them
    have.
    """
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise InvalidParameterError(
            "device", name, "'cuda', 'cuda:1', 'cpu' (PyTorch on the processor) or None"
        )
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":  # something else is broken: do not hide what
            raise
        raise MissingExtraError("torch", "deep", f"device={name!r}") from error
    device = torch.device(name)
    if device.type == "cuda":
        _check_cuda(name, device.index)
    return device


def _check_cuda(name: str, index: int | None) -> None:
    from torch import cuda

    if not cuda.is_available():
        raise InvalidParameterError(
            "device",
            name,
            "None, as this PyTorch finds no CUDA device; check the driver, and that PyTorch was "
            "installed with CUDA",
        )
    if index is not None and index >= cuda.device_count():
        raise InvalidParameterError(
            "device", name, f"one of the {cuda.device_count()} CUDA devices, numbered from 0"
        )
