"""Checkpoints: a training after its latest epoch, in a file, so that it can go on after a kill.

A checkpoint belongs to one fit: estimator, parameters and pictures. It is refused for any other, as are files
that are damaged or something else. It stays when the fit is complete; fitting again then only reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dikmeans.paper.baselines.tensor_file import (
    load_network_tensors,
    network_tensors,
    read_tensor_file,
    write_tensor_file,
)
from dikmeans.paper.baselines.training import Epoch, Phase, Training
from dikmeans.io.model_file import ModelFileError

FORMAT, VERSION = "dikmeans-rival-checkpoint", 1


class Checkpoint:
    """The file a training is kept in.

    Parameters
    ----------
    path : path-like
        It may exist (then it must belong to this fit) or not; its folder must.
    identity : dict
        What the fit is of: "estimator", "parameters" and "images", as JSON values.
    """

    def __init__(self, path: Any, identity: dict[str, Any]):
        self.path = Path(path)
        self.identity = identity
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}.")
        self._content: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None
        if self.path.exists():
            self._content = read_tensor_file(self.path, FORMAT, VERSION, "checkpoint of a rival's fit")
            self._refuse_foreign(self._content[0])

    @property
    def kept(self) -> dict[str, Any] | None:
        """Seed and learning rate of the fit in the file, if there is one."""
        if self._content is None:
            return None
        header = self._content[0]
        try:
            seed, learning_rate = int(header["seed"]), float(header["learning_rate"])
            if not (0 <= seed < 2**63 and 0 < learning_rate < float("inf")):
                raise ValueError(f"seed {str(seed)[:20]}, learning rate {learning_rate}")
            return {"seed": seed, "learning_rate": learning_rate}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._damaged(error) from error

    def write(self, training: Training, phase: int) -> None:
        """Put down the state of `training`, in the phase of that number."""
        tensors = network_tensors(training.network)
        for number, state in training.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{number}.{name}"] = value.cpu().numpy()
        tensors["generator"] = training.generator.get_state().numpy()
        header = {
            **self.identity,
            "phase": phase,
            "seed": training.seed,
            "learning_rate": training.learning_rate,
            "history": [asdict(epoch) for epoch in training.history],
        }
        write_tensor_file(self.path, FORMAT, VERSION, header, tensors)

    def restore(self, training: Training, phases: Sequence[Phase]) -> int | None:
        """Bring `training` to where the file has it; the number of its phase, or None without file."""
        if self._content is None:
            return None
        header, tensors = self._content
        self._content = None  # nobody needs the arrays twice
        load_network_tensors(training.network, tensors, self.path)
        try:
            number = int(header["phase"])
            training.history[:] = [Epoch(**epoch) for epoch in header["history"]]
            training.generator.set_state(torch.as_tensor(tensors["generator"]))
            phase = phases[number]
            training.optimizer = phase.make_optimizer(training.network)
            self._restore_optimizer(training, phase, tensors)
        except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise self._damaged(error) from error
        return number

    def _restore_optimizer(self, training: Training, phase: Phase, tensors: dict[str, np.ndarray]) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in tensors.items():
            if name.startswith("optimizer."):
                _, position, quantity = name.split(".")
                state.setdefault(int(position), {})[quantity] = torch.as_tensor(array)
        parameters = phase.parameters(training.network)
        for number, parameter in enumerate(parameters):
            for quantity in ("exp_avg", "exp_avg_sq"):
                if state[number][quantity].shape != parameter.shape:
                    raise ValueError(f"optimizer.{number}.{quantity} has the wrong shape")
        groups = training.optimizer.state_dict()["param_groups"]
        training.optimizer.load_state_dict({"state": state, "param_groups": groups})

    def _refuse_foreign(self, header: dict[str, Any]) -> None:
        for name, ours in self.identity.items():
            theirs = header.get(name)
            if theirs == ours:
                continue
            what = name
            if isinstance(ours, dict) and isinstance(theirs, dict):
                odd = sorted(k for k in {*ours, *theirs} if ours.get(k) != theirs.get(k))
                what = f"{name} ({', '.join(odd)})"
            raise ModelFileError(
                f"{self.path} is the checkpoint of another fit: it differs in {what}. "
                "Use the same settings and images to go on with it, or another path to start anew."
            )

    def _damaged(self, error: Exception) -> ModelFileError:
        return ModelFileError(f"{self.path} is a damaged checkpoint: {type(error).__name__}: {error}")


def image_digest(images: torch.Tensor) -> str:
    """A fingerprint of pictures: their shape and every bit of them."""
    digest = hashlib.sha256(str(tuple(images.shape)).encode())
    digest.update(np.ascontiguousarray(images.numpy()).data)
    return digest.hexdigest()
