"""DEC's second phase: encoder and centres move so that soft assignments become sharp.

An epoch here is what lies between two updates of the target distribution, which is computed on the whole set:
`update_interval` batches, however many passes through the pictures that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch import nn

from dikmeans.paper.baselines.losses import assignment_divergence, log_soft_assignment, target_distribution
from dikmeans.paper.baselines.training import Epoch, Phase, Training, map_chunks


class Refinement(Phase):
    """Minimise KL(P || Q) of the soft assignments Q from their own sharpened version P.

    Parameters
    ----------
    learning_rate : float
    alpha : float
        Degrees of freedom of the Student-t kernel.
    update_interval : int
        Batches between two updates of P.
    max_updates : int
    tol : float
        Stop when the share of labels that change between two updates is lower.
    n_init : int
        Runs of the K-means the centres start from.
    """

    name = "refinement"

    def __init__(
        self,
        *,
        learning_rate: float,
        alpha: float,
        update_interval: int,
        max_updates: int,
        tol: float,
        n_init: int,
    ):
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.update_interval = update_interval
        self.max_epochs = max_updates
        self.tol = tol
        self.n_init = n_init
        self._q: torch.Tensor | None = None  # of the network as it is; a cache and no state

    def parameters(self, network: Any) -> list[nn.Parameter]:
        """Encoder and centres; the decoder has done its work."""
        return [*network.trunk.parameters(), *network.embed.parameters(), network.centers]

    def start(self, training: Training) -> None:
        """Centres from K-means in the embedding."""
        place_centers(training, self.n_init)

    def epoch(self, training: Training) -> tuple[float, float]:
        """Update P, then `update_interval` batches."""
        network = training.network
        network.eval()  # batch norm keeps its statistics: Q of a batch must be the Q that P was made of
        q = self._q if self._q is not None else self.soft_assignment(training)
        p = target_distribution(q)
        total = seen = 0.0
        endless = chain.from_iterable(training.batches() for _ in repeat(None))
        for rows in islice(endless, self.update_interval):
            log_q = log_soft_assignment(network.encode(training.pictures(rows)), network.centers, self.alpha)
            divergence = assignment_divergence(p[rows].to(training.device), log_q).mean()
            training.step(divergence)
            total += divergence.item() * len(rows)
            seen += len(rows)
        self._q = self.soft_assignment(training)
        moved = (self._q.argmax(1) != q.argmax(1)).double().mean().item()
        return total / seen, moved

    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """After `max_updates`, or when hardly any label moved."""
        settled = bool(epochs) and epochs[-1].moved is not None and epochs[-1].moved < self.tol
        return settled or len(epochs) >= self.max_epochs

    def steps_per_epoch(self, training: Training) -> int:
        """Batches between two updates."""
        return self.update_interval

    def soft_assignment(self, training: Training) -> torch.Tensor:
        """Q of the whole set."""
        network = training.network
        return map_chunks(
            lambda pictures: log_soft_assignment(network.encode(pictures), network.centers, self.alpha).exp(),
            training.images,
            training.device,
        )


def place_centers(training: Training, n_init: int) -> float:
    """Put the centres where K-means in the embedding has them; its inertia."""
    network = training.network
    embedded = map_chunks(network.encode, training.images, training.device).numpy()
    # one thread: sums over threads come in any order, and a resumed training must start from the same bits
    with threadpool_limits(1):
        kmeans = KMeans(len(network.centers), n_init=n_init, random_state=training.seed)
        kmeans.fit(embedded.astype(np.float64))
    with torch.no_grad():
        network.centers.copy_(torch.as_tensor(kmeans.cluster_centers_))
    return float(kmeans.inertia_)
