"""An unfinished training as a file, so that it can continue after its process was killed.

A file belongs to one fit: estimator, parameters and images. It is refused for any other fit, as are
files that are damaged or something else. It stays when the fit is complete; fitting again only
reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic

import numpy as np
import torch

from dikmeans._typing import JSON, Array, PathLike
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file
from dikmeans.paper.baselines.saved_model import load_network_tensors, network_tensors
from dikmeans.paper.baselines.training import Epoch, Training, TrainingPhase

FORMAT, VERSION = "dikmeans-baseline-training", 1


class TrainingFile:
    """The file that a training is kept in; a `TrainingStore`.

    Parameters
    ----------
    path : path-like
        It may exist (then it must belong to this fit) or not; its folder must.
    identity : dict
        What the fit is of, such as "estimator", "parameters" and "images", as JSON values.
    argument : str
        Name of the argument that `path` was given as, for messages.
    interval : float
        Seconds between two writes, at least.
    """

    def __init__(
        self,
        path: PathLike,
        identity: JSON,
        *,
        argument: str = "checkpoint",
        interval: float = 0.0,
    ):
        self.path = Path(path)
        self.identity = identity
        self.interval = interval
        self._last_write = monotonic()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"{argument}={str(path)!r}: there is no folder {self.path.parent}."
            )
        self._content: tuple[JSON, dict[str, Array]] | None = None
        if self.path.exists():
            self._content = read_tensor_file(
                self.path, FORMAT, VERSION, "checkpoint of a deep baseline"
            )
            self._refuse_other_fits(self._content[0])

    def seed_and_learning_rate(self) -> tuple[int, float] | None:
        """Return seed and learning rate of the fit in the file, None if there is no file."""
        if self._content is None:
            return None
        header = self._content[0]
        try:
            seed, learning_rate = int(header["seed"]), float(header["learning_rate"])
            if not (0 <= seed < 2**63 and 0 < learning_rate < float("inf")):
                raise ValueError(f"seed {str(seed)[:20]}, learning rate {learning_rate}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._damaged(error) from error
        return seed, learning_rate

    def is_due(self) -> bool:
        """Return whether the last write is `interval` seconds ago."""
        return monotonic() - self._last_write >= self.interval

    def write(self, training: Training, phase: int) -> None:
        """Write the state of `training`, which is in the phase of that number."""
        assert training.optimizer is not None
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
        self._last_write = monotonic()

    def restore(self, training: Training, phases: Sequence[TrainingPhase]) -> int | None:
        """Set `training` to the state in the file; return the number of its phase, or None."""
        if self._content is None:
            return None
        header, tensors = self._content
        self._content = None  # frees the arrays
        try:
            load_network_tensors(training.network, tensors)
            number = int(header["phase"])
            training.history[:] = [Epoch(**epoch) for epoch in header["history"]]
            training.generator.set_state(torch.as_tensor(tensors["generator"]))
            phase = phases[number]
            training.optimizer = phase.make_optimizer(training.network)
            _restore_optimizer(training, phase, tensors)
        except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise self._damaged(error) from error
        return number

    def _refuse_other_fits(self, header: JSON) -> None:
        for name, expected in self.identity.items():
            stored = header.get(name)
            if stored == expected:
                continue
            difference = name
            if isinstance(expected, dict) and isinstance(stored, dict):
                keys = sorted({*expected, *stored})
                differing = [key for key in keys if expected.get(key) != stored.get(key)]
                difference = f"{name} ({', '.join(differing)})"
            raise TensorFileError(
                self.path,
                f"it is the checkpoint of another fit: it differs in {difference}. Use the same "
                "settings and images to continue it, or another path to start anew",
            )

    def _damaged(self, error: Exception) -> TensorFileError:
        return TensorFileError(self.path, f"damaged checkpoint: {type(error).__name__}: {error}")


def _restore_optimizer(training: Training, phase: TrainingPhase, tensors: dict[str, Array]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, array in tensors.items():
        if name.startswith("optimizer."):
            _, number, quantity = name.split(".")
            state.setdefault(int(number), {})[quantity] = torch.as_tensor(array)
    for i, parameter in enumerate(phase.parameters(training.network)):
        for quantity in ("exp_avg", "exp_avg_sq"):
            if state[i][quantity].shape != parameter.shape:
                raise ValueError(f"optimizer.{i}.{quantity} has the wrong shape")
    assert training.optimizer is not None
    groups = training.optimizer.state_dict()["param_groups"]
    training.optimizer.load_state_dict({"state": state, "param_groups": groups})


def image_digest(images: torch.Tensor) -> str:
    """Return a hash of the shape and all pixels of images."""
    digest = hashlib.sha256(str(tuple(images.shape)).encode())
    digest.update(np.ascontiguousarray(images.numpy()).data)
    return digest.hexdigest()
