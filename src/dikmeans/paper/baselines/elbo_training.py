"""VaDE's second phase: training by the evidence lower bound under a Gaussian-mixture prior."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import nn

from dikmeans._typing import FloatArray
from dikmeans.paper.baselines.losses import (
    bounded,
    log_responsibilities,
    mixture_divergence,
    reconstruction_error,
    unbounded,
)
from dikmeans.paper.baselines.networks import Autoencoder, VariationalAutoencoder
from dikmeans.paper.baselines.training import Training, TrainingPhase, map_chunks

# Variance of the first posterior, as a share of the variance within clusters of the embedding.
FIRST_POSTERIOR_SHARE = 0.1
# Smallest variance of the first mixture, as a share of the embedding's variance.
SMALLEST_VARIANCE_SHARE = 1e-4


@dataclass(kw_only=True)
class ElboTraining(TrainingPhase):
    """Minimize the negative ELBO, averaged over images, with one sample of the embedding each.

    Attributes
    ----------
    likelihood : {"bernoulli", "gaussian"}
        Of the pixels.
    n_init : int
        Runs of the Gaussian mixture that gives the first prior.
    """

    name = "elbo"
    likelihood: str
    n_init: int

    def parameters(self, network: Autoencoder) -> list[nn.Parameter]:
        """Return all parameters."""
        return list(network.parameters())

    def start(self, training: Training) -> None:
        """Take the prior from a Gaussian mixture in the embedding."""
        start_from_mixture(training, self.n_init)

    def epoch(self, training: Training) -> tuple[float, None]:
        """Train on all images once."""
        training.network.eval()  # fixed statistics: the ELBO of an image does not depend on others
        total = 0.0
        for indices in training.batches():
            images = training.images_at(indices)
            losses = negative_elbo(training.network, images, self.likelihood, training.generator)
            loss = losses.mean()
            training.step(loss)
            total += loss.item() * len(indices)
        return total / len(training.images), None


def negative_elbo(
    network: VariationalAutoencoder,
    images: torch.Tensor,
    likelihood: str,
    generator: torch.Generator,
) -> torch.Tensor:
    """Return reconstruction error plus divergence from the prior for each image; shape (N,).

    The error is minus the log-likelihood: a sum over pixels and not their mean, which would give
    the prior hundreds of times too much weight. For a Gaussian of unit variance it is half the
    squared error.
    """
    mean, raw = network.posterior(images)
    log_variance = bounded(raw)
    noise = torch.randn(mean.shape, generator=generator).to(mean.device)
    embedded = mean + torch.exp(0.5 * log_variance) * noise
    log_weights, prior_log_variances = prior(network)
    log_gamma = log_responsibilities(embedded, log_weights, network.centers, prior_log_variances)
    divergence = mixture_divergence(
        mean, log_variance, log_gamma, log_weights, network.centers, prior_log_variances
    )
    weight = 0.5 if likelihood == "gaussian" else 1.0
    return weight * reconstruction_error(network.decode(embedded), images, likelihood) + divergence


def prior(network: VariationalAutoencoder) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log-weights (K,) and log-variances (K, D) of the mixture."""
    return network.prior_logits.log_softmax(0), bounded(network.prior_log_variances)


def start_from_mixture(training: Training, n_init: int) -> None:
    """Set the prior to a Gaussian mixture of the embedding, and the posterior to fit in it.

    The prior's Gaussians are diagonal, but the clusters of an autoencoder need not be. An embedding
    is only defined up to a linear map, though, which encoder and decoder can share without changing
    any decoded image. So a mixture with one common covariance is fitted first, the embedding is
    mapped to where that covariance is the identity, and the diagonal mixture is fitted there, from
    these clusters.

    The posterior's variance is first the same for all images, a share of the variance within
    clusters: a fixed number would drown embeddings of a small scale in noise.
    """
    network = training.network
    assert isinstance(network, VariationalAutoencoder)
    embedded = map_chunks(network.encode, training.images, training.device).double().numpy()
    # One thread: a resumed training must start from the same bits. A mixture that has not converged
    # is good enough as a start.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        common = GaussianMixture(
            len(network.centers),
            covariance_type="tied",
            n_init=n_init,
            reg_covar=_smallest_variance(embedded),
            random_state=training.seed,
        ).fit(embedded)
        to_white = common.precisions_cholesky_.T  # (D, D), white = to_white @ embedded
        map_embedding(network, to_white)
        mixture = diagonal_mixture(embedded @ to_white.T, common.predict_proba(embedded))
    within = mixture.weights_ @ mixture.covariances_
    with torch.no_grad():
        network.centers.copy_(torch.as_tensor(mixture.means_))
        network.prior_logits.copy_(torch.as_tensor(np.log(mixture.weights_)))
        network.prior_log_variances.copy_(unbounded(torch.as_tensor(np.log(mixture.covariances_))))
        network.log_variance.weight.zero_()
        first_log_variance = torch.as_tensor(np.log(FIRST_POSTERIOR_SHARE * within))
        network.log_variance.bias.copy_(unbounded(first_log_variance))


def map_embedding(network: VariationalAutoencoder, matrix: FloatArray) -> None:
    """Multiply embeddings by an invertible `matrix` (D, D), and let the decoder undo it."""
    with torch.no_grad():
        forward = torch.as_tensor(matrix).to(network.embed.weight.device)
        backward = torch.linalg.inv(forward)
        network.embed.weight.copy_(forward @ network.embed.weight.double())
        network.embed.bias.copy_(forward @ network.embed.bias.double())
        network.decoder[0].weight.copy_(network.decoder[0].weight.double() @ backward)


def diagonal_mixture(points: FloatArray, responsibilities: FloatArray) -> GaussianMixture:
    """Return the diagonal Gaussian mixture that EM reaches from given `responsibilities` (N, K)."""
    smallest = _smallest_variance(points)
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


def _smallest_variance(points: FloatArray) -> float:
    mean_variance = float(points.var(axis=0).mean())
    return max(SMALLEST_VARIANCE_SHARE * mean_variance, float(np.finfo(np.float32).eps))
