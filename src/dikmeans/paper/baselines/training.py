"""How a network is trained: a sequence of phases, each a sequence of epochs.

Everything that the rest of a training depends on is in `Training`: weights, optimizer, random
generator and history. Phases keep nothing that they could not compute again from it, so a training
restored from a file continues exactly as if it had not been interrupted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import ClassVar, Protocol

import torch
from torch import nn

from dikmeans.paper.baselines.networks import Autoencoder

# Limits of how much passes through the network at once where no gradient is needed.
CHUNK_PIXELS, CHUNK_IMAGES = 2**21, 512


@dataclass(frozen=True)
class Epoch:
    """The result of one epoch.

    Attributes
    ----------
    phase : str
        Name of the phase.
    objective : float
        What the phase minimizes, averaged over the images of the epoch.
    moved : float or None
        Share of the labels that changed, in phases that have labels.
    seconds : float
        Processor time of the process, in all its threads; that of the first epoch of a phase
        includes what prepared the phase.
    """

    phase: str
    objective: float
    moved: float | None
    seconds: float


@dataclass
class Training:
    """The state of a training.

    Attributes
    ----------
    network : Autoencoder
    images : tensor of shape (N, channels, rows, columns)
        In [0, 1], on the CPU.
    batch_size : int
    seed : int
        For what is drawn outside PyTorch.
    generator : torch.Generator
        For what is drawn in PyTorch; on the CPU, so that all devices get the same numbers.
    device : torch.device
    learning_rate : float
        Of the pre-training.
    mixed_precision : bool
        Whether hidden layers multiply in bfloat16 during epochs.
    history : list of Epoch
    optimizer : torch.optim.Adam
        Of the current phase.
    """

    network: Autoencoder
    images: torch.Tensor
    batch_size: int
    seed: int
    generator: torch.Generator
    device: torch.device
    learning_rate: float
    mixed_precision: bool = False
    history: list[Epoch] = field(default_factory=list)
    optimizer: torch.optim.Adam | None = None

    @property
    def n_batches(self) -> int:
        """Batches in one pass through the images."""
        return math.ceil(len(self.images) / self.batch_size)

    def batches(self) -> Iterator[torch.Tensor]:
        """Yield indices of all images in random order, in batches of nearly equal size.

        Equal, because batch normalization cannot work with a last batch of one image.
        """
        order = torch.randperm(len(self.images), generator=self.generator)
        yield from order.tensor_split(self.n_batches)

    def images_at(self, indices: torch.Tensor) -> torch.Tensor:
        """Return the images at some indices, on the device."""
        return self.images[indices].to(self.device)

    def step(self, loss: torch.Tensor) -> None:
        """Make one optimizer step down the gradient of `loss`."""
        if not math.isfinite(loss.item()):
            raise FloatingPointError(
                "The training diverged: its objective is not a finite number any more. "
                "Use a lower learning rate."
            )
        assert self.optimizer is not None
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def set_learning_rate(self, learning_rate: float) -> None:
        """Set the rate of the optimizer."""
        assert self.optimizer is not None
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    def epochs_of(self, phase: str) -> list[Epoch]:
        """Return the history of one phase."""
        return [epoch for epoch in self.history if epoch.phase == phase]


@dataclass(kw_only=True)
class TrainingPhase(ABC):
    """A part of a training with one objective and one optimizer.

    Attributes
    ----------
    learning_rate : float
        Of the first epoch.
    max_epochs : int
    """

    name: ClassVar[str]
    learning_rate: float
    max_epochs: int

    @abstractmethod
    def parameters(self, network: Autoencoder) -> list[nn.Parameter]:
        """Return what is learned in this phase."""

    @abstractmethod
    def epoch(self, training: Training) -> tuple[float, float | None]:
        """Train for one epoch; return its objective and the share of labels that changed."""

    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """Return whether `epochs`, those of this phase so far, are enough."""
        return len(epochs) >= self.max_epochs

    def learning_rate_of(self, epoch: int) -> float:
        """Return the rate of the epoch of that number, from 0.

        By default it is constant for the first half of the phase and falls linearly to 0 in the
        second: gradients of small batches are noisy, and without the fall the objective ends at
        what the noise allows.
        """
        return self.learning_rate * min(1.0, 2 * (1 - epoch / self.max_epochs))

    def steps_per_epoch(self, training: Training) -> int:
        """Return the batches in an epoch: by default one pass through all images."""
        return training.n_batches

    def start(self, training: Training) -> None:  # noqa: B027 -- optional
        """Prepare the first epoch."""

    def finish(self, training: Training) -> None:  # noqa: B027 -- optional
        """Complete the phase after its last epoch."""

    def make_optimizer(self, network: Autoencoder) -> torch.optim.Adam:
        """Return a new Adam optimizer, as the paper uses for all baselines."""
        return torch.optim.Adam(self.parameters(network), lr=self.learning_rate, fused=True)


class TrainingStore(Protocol):
    """Where the state of a training is kept between epochs."""

    def write(self, training: Training, phase: int) -> None:
        """Keep the state of `training`, which is in the phase of that number."""
        ...

    def is_due(self) -> bool:
        """Return whether the state should be written after this epoch; after the last it is."""
        ...

    def restore(self, training: Training, phases: Sequence[TrainingPhase]) -> int | None:
        """Set `training` to the kept state; return the number of its phase, or None."""
        ...


def train(
    training: Training,
    phases: Sequence[TrainingPhase],
    *,
    first: int = 0,
    store: TrainingStore | None = None,
    report: Callable[[TrainingPhase, Sequence[Epoch]], None] = lambda phase, epochs: None,
) -> None:
    """Go through the phases, or through those that are left of a training in `store`.

    Parameters
    ----------
    training : Training
    phases : sequence of TrainingPhase
    first : int, default=0
        Number of the first phase; `training` went through those before it.
    store : TrainingStore, optional
        Written after an epoch if it is due, and after the last epoch of a phase.
    report : callable
        Called after each epoch with the phase and its epochs so far.
    """
    resumed = store.restore(training, phases) if store is not None else None
    for number, phase in enumerate(phases):
        if number < (first if resumed is None else resumed):
            continue
        clock = process_time()
        if number != resumed:
            phase.start(training)
            training.optimizer = phase.make_optimizer(training.network)
        while not phase.is_over(epochs := training.epochs_of(phase.name)):
            training.set_learning_rate(phase.learning_rate_of(len(epochs)))
            with mixed_precision(training):
                objective, moved = phase.epoch(training)
            clock, start = process_time(), clock
            training.history.append(Epoch(phase.name, objective, moved, clock - start))
            epochs = training.epochs_of(phase.name)
            if store is not None and (store.is_due() or phase.is_over(epochs)):
                store.write(training, number)
            report(phase, epochs)
        phase.finish(training)


def limit_steps(
    training: Training, phases: Sequence[TrainingPhase], min_steps: int, max_steps: int | None
) -> None:
    """Set the epochs of each phase so that it has so many batches, rounded up to whole epochs."""
    for phase in phases:
        steps = phase.steps_per_epoch(training)
        phase.max_epochs = max(phase.max_epochs, math.ceil(min_steps / steps))
        if max_steps is not None:
            phase.max_epochs = min(phase.max_epochs, math.ceil(max_steps / steps))


def map_chunks(
    function: Callable[[torch.Tensor], torch.Tensor], images: torch.Tensor, device: torch.device
) -> torch.Tensor:
    """Return `function` of all images, computed in chunks and without gradients; on the CPU."""
    size = max(1, min(CHUNK_IMAGES, CHUNK_PIXELS // images[0].numel()))
    with torch.no_grad():
        return torch.cat([function(chunk.to(device)).cpu() for chunk in images.split(size)])


def set_batch_norm_statistics(training: Training) -> None:
    """Replace the running statistics of batch normalization by those of the whole set."""
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
        for indices in training.batches():
            network(training.images_at(indices))
    for layer in layers:
        layer.momentum = momentum


def choose_device(device: str) -> torch.device:
    """Return the device meant by "cpu", "cuda" or "auto"."""
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise ValueError("device='cuda': PyTorch finds no usable GPU. Use device='auto' or 'cpu'.")
    return torch.device("cuda" if available and device != "cpu" else "cpu")


def multiplies_bfloat16(device: torch.device) -> bool:
    """Return whether the device has instructions for products of bfloat16."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    tests = [getattr(torch.cpu, name, None) for name in names]  # private, and of later versions
    return any(test is not None and test() for test in tests)


@contextmanager
def mixed_precision(training: Training) -> Iterator[None]:
    """Let the network multiply in bfloat16 within the block, if the training is to."""
    training.network.mixed_precision = training.mixed_precision
    try:
        yield
    finally:
        training.network.mixed_precision = False


@contextmanager
def torch_threads(n_threads: int | None) -> Iterator[None]:
    """Limit PyTorch to `n_threads` threads within the block."""
    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
