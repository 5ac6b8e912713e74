"""From a device's name to the device, or to words about why it cannot be had."""

from __future__ import annotations

import re
from typing import Any

EXTRA = "pip install 'dikmeans[deep]'"


def torch_device(name: Any) -> Any:
    """The `torch.device` called `name`: "cpu", "cuda" or, for a certain one, "cuda:1".

    Others PyTorch knows are refused: sums over images need double precision, which not all of them have.
    """
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError(
            f"device={name!r}: expected 'cuda', 'cuda:1' or 'cpu' (PyTorch on the processor). "
            "Without a device, compiled loops do the work."
        )
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":  # something else is broken: do not hide what
            raise
        raise ImportError(
            f"device={name!r} needs PyTorch, which is not installed. Install it with: {EXTRA}", name="torch"
        ) from error
    device = torch.device(name)
    if device.type == "cuda":
        _check_cuda(name, device.index, torch.cuda)
    return device


def _check_cuda(name: str, index: int | None, cuda: Any) -> None:
    if not cuda.is_available():
        raise ValueError(
            f"device={name!r}: this PyTorch finds no CUDA device. Check the driver and that PyTorch was "
            "installed with CUDA, or do without a device."
        )
    if index is not None and index >= cuda.device_count():
        raise ValueError(
            f"device={name!r}: there are {cuda.device_count()} CUDA devices, numbered from 0. Choose another."
        )
