r"""Every formula of the baselines, as a function of tensors.

DEC compares an embedding z with centers by a Student-t kernel, sharpens the result over the whole
set, and minimizes the divergence between both:

.. math::
    q_{ik} \propto (1 + \|z_i - \mu_k\|^2 / \alpha)^{-(\alpha + 1) / 2}, \qquad
    p_{ik} \propto q_{ik}^2 / \textstyle\sum_i q_{ik}, \qquad
    \mathrm{KL}(p_i \,\|\, q_i) = \textstyle\sum_k p_{ik} \log (p_{ik} / q_{ik}).

VaDE maximizes a lower bound of the likelihood under a mixture prior, with posterior
:math:`q(z, c | x) = N(z; m, s^2) \, \gamma_c`, where :math:`\gamma_c = p(c | z)`:

.. math::
    \mathrm{ELBO} = E_q [\log p(x | z)] - \mathrm{KL}(q(z, c | x) \,\|\, p(z, c)), \qquad
    \mathrm{KL} = \sum_c \gamma_c \, \mathrm{KL}(N(m, s^2) \,\|\, N(\mu_c, \sigma_c^2))
    + \sum_c \gamma_c \log (\gamma_c / \pi_c).
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional

LIKELIHOODS = ("gaussian", "bernoulli")

# Variances stay between exp(-10) and exp(10): a trained model is well within, and float32 can
# divide by them.
LARGEST_LOG_VARIANCE = 10.0


def bounded(log_variance: torch.Tensor) -> torch.Tensor:
    """Return log-variances limited smoothly to +-`LARGEST_LOG_VARIANCE`.

    Near 0 it is the identity; unlike a hard clamp it has a gradient everywhere.
    """
    return LARGEST_LOG_VARIANCE * torch.tanh(log_variance / LARGEST_LOG_VARIANCE)


def unbounded(log_variance: torch.Tensor) -> torch.Tensor:
    """Return the inverse of `bounded`; values that it cannot reach become 95 % of the limit."""
    share = (log_variance / LARGEST_LOG_VARIANCE).clamp(-0.95, 0.95)
    return LARGEST_LOG_VARIANCE * torch.atanh(share)


def reconstruction_error(
    decoded: torch.Tensor, images: torch.Tensor, likelihood: str
) -> torch.Tensor:
    """Return the error of decoded images, summed over pixels; shape (N,).

    Parameters
    ----------
    decoded, images : tensors of shape (N, channels, rows, columns)
    likelihood : {"gaussian", "bernoulli"}
        "gaussian": squared error, `decoded` are pixels. "bernoulli": cross-entropy, `decoded` are
        logits and `images` in [0, 1].
    """
    if likelihood == "bernoulli":
        error = functional.binary_cross_entropy_with_logits(decoded, images, reduction="none")
    else:
        error = (decoded - images).square()
    return error.flatten(1).sum(1)


def squared_distances(embedded: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """Return the squared distance of each embedding to each center, shape (N, K)."""
    return (embedded[:, None] - centers).square().sum(2)


def log_soft_assignment(
    embedded: torch.Tensor, centers: torch.Tensor, alpha: float
) -> torch.Tensor:
    """Return the log of DEC's q, shape (N, K): Student-t with `alpha` degrees of freedom."""
    kernel = -(alpha + 1) / 2 * torch.log1p(squared_distances(embedded, centers) / alpha)
    return kernel.log_softmax(1)


def target_distribution(q: torch.Tensor) -> torch.Tensor:
    """Return DEC's p for the soft assignments `q` of the whole set, shape (N, K).

    Squaring sharpens; dividing by the cluster sizes keeps large clusters from absorbing small ones.
    """
    weight = q.square() / q.sum(0).clamp_min(torch.finfo(q.dtype).tiny)
    return weight / weight.sum(1, keepdim=True)


def assignment_divergence(p: torch.Tensor, log_q: torch.Tensor) -> torch.Tensor:
    """Return KL(p || q) of each row, shape (N,)."""
    return (torch.special.xlogy(p, p) - p * log_q).sum(1)


def gaussian_divergence(
    mean: torch.Tensor,
    log_variance: torch.Tensor,
    centers: torch.Tensor,
    prior_log_variances: torch.Tensor,
) -> torch.Tensor:
    """Return the KL of each diagonal Gaussian (N, D) from each prior (K, D), shape (N, K)."""
    log_ratio = prior_log_variances - log_variance[:, None]
    scaled = (mean[:, None] - centers).square() * torch.exp(-prior_log_variances)
    return 0.5 * (log_ratio + torch.exp(-log_ratio) + scaled - 1).sum(2)


def log_responsibilities(
    embedded: torch.Tensor,
    log_weights: torch.Tensor,
    centers: torch.Tensor,
    prior_log_variances: torch.Tensor,
) -> torch.Tensor:
    """Return the log of p(c | z) under the mixture, shape (N, K)."""
    scaled = (embedded[:, None] - centers).square() * torch.exp(-prior_log_variances)
    log_density = -0.5 * (math.log(2 * math.pi) + prior_log_variances + scaled).sum(2)
    return (log_weights + log_density).log_softmax(1)


def mixture_divergence(
    mean: torch.Tensor,
    log_variance: torch.Tensor,
    log_gamma: torch.Tensor,
    log_weights: torch.Tensor,
    centers: torch.Tensor,
    prior_log_variances: torch.Tensor,
) -> torch.Tensor:
    """Return KL(q(z, c | x) || p(z, c)) of each image under the mixture prior, shape (N,)."""
    to_each = gaussian_divergence(mean, log_variance, centers, prior_log_variances)
    return (log_gamma.exp() * (to_each + log_gamma - log_weights)).sum(1)
