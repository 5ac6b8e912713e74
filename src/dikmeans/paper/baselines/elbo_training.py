"""VaDE's second phase: the evidence lower bound under a Gaussian-mixture prior, per picture and in full."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import nn

from dikmeans.paper.baselines.losses import (
    bounded,
    log_responsibilities,
    mixture_divergence,
    reconstruction_error,
    unbounded,
)
from dikmeans.paper.baselines.training import Epoch, Phase, Training, has_stalled, map_chunks

# The posterior starts this much narrower (in variance) than the clusters of the embedding it lives in.
FIRST_POSTERIOR_SHARE = 0.1
# The mixture the prior starts from may have no variance below this share of the embedding's.
SMALLEST_VARIANCE_SHARE = 1e-4


class ElboTraining(Phase):
    """Minimise the negative ELBO, averaged over pictures, with one sample of the embedding each.

    Parameters
    ----------
    learning_rate : float
    max_epochs : int
    patience : int or None
        Stop after so many epochs without progress.
    likelihood : {"bernoulli", "gaussian"}
        Of the pixels.
    n_init : int
        Runs of the Gaussian mixture the prior starts from.
    """

    name = "elbo"

    def __init__(
        self, *, learning_rate: float, max_epochs: int, patience: int | None, likelihood: str, n_init: int
    ):
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.likelihood = likelihood
        self.n_init = n_init

    def parameters(self, network: Any) -> list[nn.Parameter]:
        """All there is."""
        return list(network.parameters())

    def start(self, training: Training) -> None:
        """The prior from a Gaussian mixture in the embedding."""
        start_from_mixture(training, self.n_init)

    def epoch(self, training: Training) -> tuple[float, None]:
        """Once through all pictures."""
        training.network.eval()  # batch norm keeps its statistics: the ELBO of a picture is its own
        total = 0.0
        for rows in training.batches():
            pictures = training.pictures(rows)
            loss = negative_elbo(training.network, pictures, self.likelihood, training.generator).mean()
            training.step(loss)
            total += loss.item() * len(rows)
        return total / len(training.images), None

    def is_over(self, epochs: Sequence[Epoch]) -> bool:
        """After `max_epochs`, or `patience` epochs without progress."""
        return len(epochs) >= self.max_epochs or has_stalled([e.objective for e in epochs], self.patience)


def negative_elbo(
    network: Any, pictures: torch.Tensor, likelihood: str, generator: torch.Generator
) -> torch.Tensor:
    """Reconstruction error plus divergence from the prior, of each picture; shape (N,).

    The error is minus the log-likelihood: summed over pixels and not averaged, or the prior would weigh
    hundreds of times too much. For a Gaussian of unit variance it is half the squared error.
    """
    mean, raw = network.posterior(pictures)
    log_variance = bounded(raw)
    noise = torch.randn(mean.shape, generator=generator).to(mean.device)
    embedded = mean + torch.exp(0.5 * log_variance) * noise
    log_weights, prior_log_variances = prior(network)
    log_gamma = log_responsibilities(embedded, log_weights, network.centers, prior_log_variances)
    divergence = mixture_divergence(
        mean, log_variance, log_gamma, log_weights, network.centers, prior_log_variances
    )
    weight = 0.5 if likelihood == "gaussian" else 1.0
    return weight * reconstruction_error(network.decoder(embedded), pictures, likelihood) + divergence


def prior(network: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-weights (K,) and log-variances (K, D) of the mixture."""
    return network.prior_logits.log_softmax(0), bounded(network.prior_log_variances)


def start_from_mixture(training: Training, n_init: int) -> None:
    """Set the prior to a Gaussian mixture of the embedding, and the posterior to fit in it.

    The prior's Gaussians are diagonal, but nothing makes the clusters of an autoencoder so. An embedding is
    only defined up to a linear map, though, which encoder and decoder can share without changing a single
    decoded picture. So clusters of one common covariance are found first, the embedding is mapped to where
    that covariance is the identity, and the diagonal mixture is fitted there, from these clusters.

    The posterior's variance is first the same for all pictures, a share of the clusters' own: a fixed number
    would drown embeddings of a small scale in noise.
    """
    network: Any = training.network
    embedded = map_chunks(network.encode, training.images, training.device).double().numpy()
    spread = float(embedded.var(axis=0).mean())
    smallest = max(SMALLEST_VARIANCE_SHARE * spread, np.finfo(np.float32).eps)
    # one thread: a resumed training must start from the same bits
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only a start; the ELBO takes it from here
        alike = GaussianMixture(
            len(network.centers),
            covariance_type="tied",
            n_init=n_init,
            reg_covar=smallest,
            random_state=training.seed,
        ).fit(embedded)
        to_white = alike.precisions_cholesky_.T  # (D, D), white = to_white @ embedded
        map_embedding(network, to_white)
        mixture = diagonal_mixture(embedded @ to_white.T, alike.predict_proba(embedded))
    within = mixture.weights_ @ mixture.covariances_
    with torch.no_grad():
        network.centers.copy_(torch.as_tensor(mixture.means_))
        network.prior_logits.copy_(torch.as_tensor(np.log(mixture.weights_)))
        network.prior_log_variances.copy_(unbounded(torch.as_tensor(np.log(mixture.covariances_))))
        network.log_variance.weight.zero_()
        network.log_variance.bias.copy_(unbounded(torch.as_tensor(np.log(FIRST_POSTERIOR_SHARE * within))))


def map_embedding(network: Any, matrix: np.ndarray) -> None:
    """Multiply embeddings by an invertible `matrix` (D, D), and let the decoder undo it."""
    with torch.no_grad():
        forth = torch.as_tensor(matrix).to(network.embed.weight.device)
        back = torch.linalg.inv(forth)
        network.embed.weight.copy_(forth @ network.embed.weight.double())
        network.embed.bias.copy_(forth @ network.embed.bias.double())
        network.decoder[0].weight.copy_(network.decoder[0].weight.double() @ back)


def diagonal_mixture(points: np.ndarray, responsibilities: np.ndarray) -> GaussianMixture:
    """The diagonal Gaussian mixture that EM reaches from given `responsibilities` (N, K)."""
    smallest = max(SMALLEST_VARIANCE_SHARE * float(points.var(axis=0).mean()), np.finfo(np.float32).eps)
    sizes = responsibilities.sum(0) + np.finfo(np.float64).tiny
    means = responsibilities.T @ points / sizes[:, None]
    variances = (responsibilities.T @ points**2 / sizes[:, None] - means**2).clip(0) + smallest
    return GaussianMixture(
        len(sizes),
        covariance_type="diag",
        weights_init=sizes / sizes.sum(),
        means_init=means,
        precisions_init=1 / variances,
        reg_covar=smallest,
    ).fit(points)
