"""The phase all rivals begin with: an autoencoder learns to give pictures back.

It is trained end to end, all layers at once, and not layer by layer. With `corruption` it is a denoising
autoencoder: that share of the input pixels is set to 0 and has to be filled in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from dikmeans.paper.baselines.losses import reconstruction_error
from dikmeans.paper.baselines.training import Epoch, Phase, Training, has_stalled, settle_batch_norm, train

# The learning rates the paper chooses among, for all models.
LEARNING_RATES = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
PROBE_PICTURES, PROBE_EPOCHS = 2000, 5


class Pretraining(Phase):
    """Minimise the reconstruction error, averaged over pixels.

    Parameters
    ----------
    learning_rate : float
    max_epochs : int
    patience : int or None
        Stop after so many epochs without progress.
    corruption : float
        Share of the input pixels set to 0.
    likelihood : {"gaussian", "bernoulli"}
        Of the reconstruction, see `dikmeans.paper.baselines.losses.reconstruction_error`.
    """

    name = "pre-training"

    def __init__(
        self,
        *,
        learning_rate: float,
        max_epochs: int,
        patience: int | None,
        corruption: float,
        likelihood: str,
    ):
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.corruption = corruption
        self.likelihood = likelihood

    def parameters(self, network: Any) -> list[nn.Parameter]:
        """Encoder and decoder."""
        return [p for part in (network.trunk, network.embed, network.decoder) for p in part.parameters()]

    def epoch(self, training: Training) -> tuple[float, None]:
        """Once through all pictures."""
        training.network.train()
        total = 0.0
        for rows in training.batches():
            pictures = training.pictures(rows)
            decoded = training.network(self._corrupted(pictures, training))
            error = reconstruction_error(decoded, pictures, self.likelihood).mean() / pictures[0].numel()
            training.step(error)
            total += error.item() * len(rows)
        return total / len(training.images), None

    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """After `max_epochs`, or `patience` epochs without progress."""
        return len(epochs) >= self.max_epochs or has_stalled([e.objective for e in epochs], self.patience)

    def finish(self, training: Training) -> None:
        """From here on a picture's embedding does not depend on the others in its batch."""
        settle_batch_norm(training)
        training.network.eval()

    def _corrupted(self, pictures: torch.Tensor, training: Training) -> torch.Tensor:
        if not self.corruption:
            return pictures
        kept = torch.rand(pictures.shape, generator=training.generator) >= self.corruption
        return pictures * kept.to(pictures.device)


def choose_learning_rate(
    begin: Callable[[], Training], make_phase: Callable[[float], Pretraining]
) -> tuple[float, dict[float, float]]:
    """The rate of `LEARNING_RATES` with the lowest pre-training objective after a short probe.

    Every rate starts from the same weights and sees the same batches of the same sample of at most
    `PROBE_PICTURES` pictures, for `PROBE_EPOCHS` epochs. No labels are involved. A short probe leans
    towards the fast rates, as any such choice does.

    Parameters
    ----------
    begin : callable
        Makes a fresh `Training`.
    make_phase : callable
        Makes the pre-training with a given rate.

    Returns
    -------
    float, dict
        The rate, and the objective of each; infinity for a rate that diverged.
    """
    objectives = {}
    for rate in LEARNING_RATES:
        training = begin()
        sample = torch.randperm(len(training.images), generator=training.generator)[:PROBE_PICTURES]
        training = replace(training, images=training.images[sample])
        phase = make_phase(rate)
        phase.max_epochs = PROBE_EPOCHS
        try:
            train(training, [phase])
            objectives[rate] = training.history[-1].objective
        except FloatingPointError:
            objectives[rate] = math.inf
    best = min(objectives, key=lambda rate: objectives[rate])
    if math.isinf(objectives[best]):
        raise FloatingPointError("The pre-training diverged with every learning rate of the grid.")
    return best, objectives
