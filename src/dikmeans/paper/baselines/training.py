"""How a network is trained: a row of phases, each a row of epochs, and a state that can be written down.

All that the future of a training depends on is in `Training`: weights, optimiser, random generator and the
history so far. Phases keep nothing of their own that they could not compute again from it, so a training
restored from a checkpoint goes on exactly as the one that was interrupted would have.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

if TYPE_CHECKING:
    from dikmeans.paper.baselines.checkpoint import Checkpoint
    from dikmeans.paper.baselines.networks import Autoencoder

# An epoch counts as progress if the objective falls by more than this share of itself.
WORTHWHILE = 1e-3
# How many pixels pass through the network at once where no gradient is wanted, and how many pictures.
CHUNK_PIXELS, CHUNK_PICTURES = 2**21, 512


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to.

    Attributes
    ----------
    phase : str
        Name of the phase.
    objective : float
        What the phase minimises, averaged over the pictures of the epoch.
    moved : float or None
        Share of the labels that changed, in phases that have labels.
    seconds : float
    """

    phase: str
    objective: float
    moved: float | None
    seconds: float


@dataclass
class Training:
    """A network being trained, and all its future depends on.

    Attributes
    ----------
    network : Autoencoder
    images : tensor of shape (N, channels, rows, columns)
        In [0, 1], on the CPU.
    batch_size : int
    seed : int
        Of what is drawn outside PyTorch.
    generator : torch.Generator
        Of all that is drawn in PyTorch; on the CPU, so that devices see the same numbers.
    device : torch.device
    learning_rate : float
        Of the pre-training.
    history : list of Epoch
    optimizer : torch.optim.Adam
        Of the running phase.
    """

    network: Autoencoder
    images: torch.Tensor
    batch_size: int
    seed: int
    generator: torch.Generator
    device: torch.device
    learning_rate: float
    history: list[Epoch] = field(default_factory=list)
    optimizer: Any = None

    @property
    def n_batches(self) -> int:
        """Batches in one pass through the pictures."""
        return math.ceil(len(self.images) / self.batch_size)

    def batches(self) -> Iterator[torch.Tensor]:
        """Rows of the pictures in random order, in batches of nearly equal size.

        Equal, so that no batch is left with the one picture batch norm cannot work with.
        """
        order = torch.randperm(len(self.images), generator=self.generator)
        yield from order.tensor_split(self.n_batches)

    def pictures(self, rows: torch.Tensor) -> torch.Tensor:
        """Some pictures, on the device."""
        return self.images[rows].to(self.device)

    def step(self, loss: torch.Tensor) -> None:
        """One step of the optimiser down the gradient of `loss`."""
        if not math.isfinite(loss.item()):
            raise FloatingPointError(
                "The training diverged: its objective is not a finite number any more. "
                "Use a lower learning rate."
            )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def epochs_of(self, phase: str) -> list[Epoch]:
        """The history of one phase."""
        return [epoch for epoch in self.history if epoch.phase == phase]


class Phase(ABC):
    """A part of a training with one objective and one optimiser.

    Attributes
    ----------
    name : str
    learning_rate : float
    max_epochs : int
    patience : int or None
        Stop after so many epochs without progress, in phases that look for it.
    """

    name: ClassVar[str]
    learning_rate: float
    max_epochs: int
    patience: int | None = None

    @abstractmethod
    def parameters(self, network: Any) -> list[nn.Parameter]:
        """What is learned in this phase."""

    @abstractmethod
    def epoch(self, training: Training) -> tuple[float, float | None]:
        """Train for one epoch; its objective, and the share of labels that moved (if there are any)."""

    @abstractmethod
    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """Whether `epochs`, this phase's so far, are enough."""

    def steps_per_epoch(self, training: Training) -> int:
        """Batches in an epoch: by default, once through all pictures."""
        return training.n_batches

    def start(self, training: Training) -> None:  # noqa: B027 -- most phases have nothing to do
        """What has to be done before the first epoch."""

    def finish(self, training: Training) -> None:  # noqa: B027
        """What has to be done after the last epoch."""

    def make_optimizer(self, network: Any) -> torch.optim.Adam:
        """Adam, which the paper trains all rivals with."""
        return torch.optim.Adam(self.parameters(network), lr=self.learning_rate, fused=True)


def train(
    training: Training,
    phases: Sequence[Phase],
    *,
    checkpoint: Checkpoint | None = None,
    report: Callable[[Phase, Sequence[Epoch]], None] = lambda phase, epochs: None,
) -> None:
    """Go through the phases, or through what `checkpoint` says is left of them.

    Parameters
    ----------
    training : Training
    phases : sequence of Phase
    checkpoint : Checkpoint, optional
        Written after each epoch.
    report : callable
        Told, after each epoch, the phase and its epochs so far.
    """
    resumed = checkpoint.restore(training, phases) if checkpoint is not None else None
    for number, phase in enumerate(phases):
        if resumed is not None and number < resumed:
            continue
        if number != resumed:
            phase.start(training)
            training.optimizer = phase.make_optimizer(training.network)
        while not phase.is_over(training.epochs_of(phase.name)):
            began = perf_counter()
            objective, moved = phase.epoch(training)
            training.history.append(Epoch(phase.name, objective, moved, perf_counter() - began))
            if checkpoint is not None:
                checkpoint.write(training, number)
            report(phase, training.epochs_of(phase.name))
        phase.finish(training)


def limit_steps(training: Training, phases: Sequence[Phase], max_steps: int | None) -> None:
    """Let each phase have `max_steps` batches, up to a whole epoch, however many epochs that is.

    Patience, which counts epochs, too, does not apply then: where an epoch is a few batches, it runs out
    while the network still gives back the mean of all pictures. With None phases keep the limits they have.
    """
    if max_steps is not None:
        for phase in phases:
            phase.max_epochs = math.ceil(max_steps / phase.steps_per_epoch(training))
            phase.patience = None


def has_stalled(objectives: Sequence[float], patience: int | None) -> bool:
    """Whether the last `patience` epochs brought nothing over the best before them."""
    if patience is None or len(objectives) <= patience:
        return False
    before, recent = min(objectives[:-patience]), min(objectives[-patience:])
    return recent >= before - WORTHWHILE * abs(before)


def map_chunks(
    function: Callable[[torch.Tensor], torch.Tensor], images: torch.Tensor, device: torch.device
) -> torch.Tensor:
    """`function` of all pictures, a chunk at a time and without gradients; on the CPU."""
    size = max(1, min(CHUNK_PICTURES, CHUNK_PIXELS // images[0].numel()))
    with torch.no_grad():
        return torch.cat([function(chunk.to(device)).cpu() for chunk in images.split(size)])


def settle_batch_norm(training: Training) -> None:
    """Give batch norm the statistics of the whole set, and no more a trace of the way there."""
    network = training.network
    layers = [m for m in network.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    if not layers:
        return
    momentum = layers[0].momentum
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # plain average over batches
    network.train()
    with torch.no_grad():
        for rows in training.batches():
            network(training.pictures(rows))
    for layer in layers:
        layer.momentum = momentum


def choose_device(device: str) -> torch.device:
    """The device meant by "cpu", "cuda" or "auto"."""
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise ValueError("device='cuda': PyTorch finds no usable GPU here. Use device='auto' or 'cpu'.")
    return torch.device("cuda" if available and device != "cpu" else "cpu")


@contextmanager
def torch_threads(n_threads: int | None) -> Iterator[None]:
    """Let PyTorch use `n_threads` threads, and leave its setting as it was."""
    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
