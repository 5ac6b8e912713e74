"""The phase that all baselines begin with: an autoencoder learns to reconstruct images.

All layers are trained together, not layer by layer. With `corruption` it is a denoising
autoencoder: that share of the input pixels is set to 0 and has to be filled in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from dikmeans.paper.baselines.losses import reconstruction_error
from dikmeans.paper.baselines.networks import Autoencoder
from dikmeans.paper.baselines.training import (
    Training,
    TrainingPhase,
    set_batch_norm_statistics,
    train,
)

# The learning rates among which the paper chooses, for all models.
LEARNING_RATES = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
PROBE_IMAGES, PROBE_EPOCHS = 4000, 5


@dataclass(kw_only=True)
class Pretraining(TrainingPhase):
    """Minimize the reconstruction error, averaged over pixels.

    Attributes
    ----------
    corruption : float
        Share of the input pixels set to 0.
    likelihood : {"gaussian", "bernoulli"}
        See `dikmeans.paper.baselines.losses.reconstruction_error`.
    """

    name = "pre-training"
    corruption: float
    likelihood: str

    def parameters(self, network: Autoencoder) -> list[nn.Parameter]:
        """Return encoder and decoder."""
        parts = (network.trunk, network.embed, network.decoder)
        return [parameter for part in parts for parameter in part.parameters()]

    def epoch(self, training: Training) -> tuple[float, None]:
        """Train on all images once."""
        training.network.train()
        total = 0.0
        for indices in training.batches():
            images = training.images_at(indices)
            decoded = training.network(self._corrupted(images, training))
            error = (
                reconstruction_error(decoded, images, self.likelihood).mean() / images[0].numel()
            )
            training.step(error)
            total += error.item() * len(indices)
        return total / len(training.images), None

    def finish(self, training: Training) -> None:
        """Make the embedding of an image independent of the others in its batch."""
        set_batch_norm_statistics(training)
        training.network.eval()

    def _corrupted(self, images: torch.Tensor, training: Training) -> torch.Tensor:
        if not self.corruption:
            return images
        kept = torch.rand(images.shape, generator=training.generator) >= self.corruption
        return images * kept.to(images.device)


def choose_learning_rate(
    begin: Callable[[], Training], make_phase: Callable[[float], Pretraining]
) -> tuple[float, dict[float, float]]:
    """Return the rate of `LEARNING_RATES` with the lowest objective after a short pre-training.

    Every rate starts from the same weights and sees the same batches of the same sample of at most
    `PROBE_IMAGES` images, for `PROBE_EPOCHS` epochs. No labels are involved. A short probe favors
    fast rates.

    Parameters
    ----------
    begin : callable
        Makes a new `Training`.
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
        sample = torch.randperm(len(training.images), generator=training.generator)[:PROBE_IMAGES]
        training = replace(training, images=training.images[sample])
        phase = replace(make_phase(rate), max_epochs=PROBE_EPOCHS)
        try:
            train(training, [phase])
            objectives[rate] = training.history[-1].objective
        except FloatingPointError:
            objectives[rate] = math.inf
    best = min(objectives, key=lambda rate: objectives[rate])
    if math.isinf(objectives[best]):
        raise FloatingPointError("The pre-training diverged with every learning rate of the grid.")
    return best, objectives
