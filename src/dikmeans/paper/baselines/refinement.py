"""DEC's second phase: encoder and centers move so that soft assignments become sharp.

An epoch of this phase is what lies between two updates of the target distribution, which is
computed on the whole set: `update_interval` batches, however many passes through the images that
is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat

import numpy as np
import torch
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch import nn

from dikmeans.paper.baselines.losses import (
    assignment_divergence,
    log_soft_assignment,
    target_distribution,
)
from dikmeans.paper.baselines.networks import Autoencoder
from dikmeans.paper.baselines.training import Epoch, Training, TrainingPhase, map_chunks

# The authors' interval, and what few images need: a pass of a few batches moves no label, and the
# phase would end.
FEWEST_BATCHES_BETWEEN_UPDATES = 140


@dataclass(kw_only=True)
class Refinement(TrainingPhase):
    """Minimize KL(P || Q) between the soft assignments Q and their sharpened version P.

    Attributes
    ----------
    alpha : float
        Degrees of freedom of the Student-t kernel.
    update_interval : int or None
        Batches between two updates of P; None for half a pass, but at least
        `FEWEST_BATCHES_BETWEEN_UPDATES`.
    tol : float
        Stop when the share of labels that change between two updates is lower.
    n_init : int
        Runs of the K-means that gives the first centers.
    """

    name = "refinement"
    alpha: float
    update_interval: int | None
    tol: float
    n_init: int
    # Q of the current network: a cache, not state.
    _q: torch.Tensor | None = field(default=None, init=False, repr=False)

    def parameters(self, network: Autoencoder) -> list[nn.Parameter]:
        """Return encoder and centers; the decoder is not needed any more."""
        return [*network.trunk.parameters(), *network.embed.parameters(), network.centers]

    def start(self, training: Training) -> None:
        """Take the centers from K-means in the embedding."""
        place_centers(training, self.n_init)

    def epoch(self, training: Training) -> tuple[float, float]:
        """Update P, then train until the next update."""
        network = training.network
        network.eval()  # fixed statistics: Q of a batch must be the Q that P was made from
        q = self._q if self._q is not None else self.soft_assignment(training)
        p = target_distribution(q)
        total, n_seen = 0.0, 0
        endless = chain.from_iterable(training.batches() for _ in repeat(None))
        for indices in islice(endless, self.steps_per_epoch(training)):
            embedded = network.encode(training.images_at(indices))
            log_q = log_soft_assignment(embedded, network.centers, self.alpha)
            divergence = assignment_divergence(p[indices].to(training.device), log_q).mean()
            training.step(divergence)
            total += divergence.item() * len(indices)
            n_seen += len(indices)
        self._q = self.soft_assignment(training)
        moved = (self._q.argmax(1) != q.argmax(1)).double().mean().item()
        return total / n_seen, moved

    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """Return whether there were `max_epochs` updates, or hardly any label moved."""
        settled = bool(epochs) and epochs[-1].moved is not None and epochs[-1].moved < self.tol
        return settled or len(epochs) >= self.max_epochs

    def learning_rate_of(self, epoch: int) -> float:
        """Return the same rate for all epochs: labels end this phase, nobody knows when."""
        return self.learning_rate

    def steps_per_epoch(self, training: Training) -> int:
        """Return the batches between two updates."""
        half_a_pass = math.ceil(training.n_batches / 2)
        return self.update_interval or max(half_a_pass, FEWEST_BATCHES_BETWEEN_UPDATES)

    def soft_assignment(self, training: Training) -> torch.Tensor:
        """Return Q of the whole set."""
        network = training.network
        return map_chunks(
            lambda images: log_soft_assignment(
                network.encode(images), network.centers, self.alpha
            ).exp(),
            training.images,
            training.device,
        )


def place_centers(training: Training, n_init: int) -> float:
    """Set the centers to those of K-means in the embedding; return its inertia."""
    network = training.network
    embedded = map_chunks(network.encode, training.images, training.device).numpy()
    # Sums over several threads come in any order; a resumed training must start from the same bits.
    with threadpool_limits(1):
        kmeans = KMeans(len(network.centers), n_init=n_init, random_state=training.seed)
        kmeans.fit(embedded.astype(np.float64))
    with torch.no_grad():
        network.centers.copy_(torch.as_tensor(kmeans.cluster_centers_))
    return float(kmeans.inertia_)
