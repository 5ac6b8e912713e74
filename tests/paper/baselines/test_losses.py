"""Loss terms against values computed by hand, closed forms, SciPy and Monte Carlo."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from dikmeans.paper.baselines.elbo_training import negative_elbo
from dikmeans.paper.baselines.losses import (
    LARGEST_LOG_VARIANCE,
    assignment_divergence,
    bounded,
    gaussian_divergence,
    log_responsibilities,
    log_soft_assignment,
    mixture_divergence,
    reconstruction_error,
    target_distribution,
    unbounded,
)


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def mixture():
    """Weights, means and variances of three components in two dimensions; two posteriors."""
    rng = np.random.default_rng(3)
    return SimpleNamespace(
        weights=np.array([0.5, 0.3, 0.2]),
        centers=rng.normal(size=(3, 2)),
        variances=rng.uniform(0.3, 2, size=(3, 2)),
        mean=rng.normal(size=(2, 2)),
        variance=rng.uniform(0.2, 1, size=(2, 2)),
        gamma=np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]]),
    )


def test_soft_assignment_of_two_centers_is_what_a_pencil_gives():
    # squared distances 1 and 3, alpha 1: kernels 1/2 and 1/4
    q = log_soft_assignment(tensor([[0.0]]), tensor([[1.0], [3**0.5]]), alpha=1.0).exp()
    np.testing.assert_allclose(q, [[2 / 3, 1 / 3]])


def test_soft_assignment_has_the_students_exponent():
    # alpha 3: (1 + d / 3) ** -2, squared distances 3 and 6: 1/4 and 1/9
    q = log_soft_assignment(tensor([[0.0]]), tensor([[3**0.5], [6**0.5]]), alpha=3.0).exp()
    np.testing.assert_allclose(q, [[9 / 13, 4 / 13]])


def test_target_distribution_is_what_a_pencil_gives():
    # column sums 1.4 and 0.6; weights .64/1.4, .04/.6 and .36/1.4, .16/.6
    p = target_distribution(tensor([[0.8, 0.2], [0.6, 0.4]]))
    first, second = (0.64 / 1.4, 0.04 / 0.6), (0.36 / 1.4, 0.16 / 0.6)
    expected = [
        [first[0] / sum(first), first[1] / sum(first)],
        [second[0] / sum(second), second[1] / sum(second)],
    ]
    np.testing.assert_allclose(p, expected)


def test_target_distribution_survives_an_empty_cluster():
    p = target_distribution(tensor([[1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(p, [[1, 0], [1, 0]])


def test_divergence_of_assignments_is_what_a_pencil_gives():
    p, q = tensor([[0.5, 0.5], [1.0, 0.0]]), tensor([[0.25, 0.75], [0.5, 0.5]])
    expected = [0.5 * np.log(2) + 0.5 * np.log(2 / 3), np.log(2)]
    np.testing.assert_allclose(assignment_divergence(p, q.log()), expected)


def test_divergence_of_assignments_is_zero_only_for_equal_ones():
    p = tensor([[0.2, 0.8]])
    assert assignment_divergence(p, p.log()).item() == pytest.approx(0, abs=1e-15)
    assert assignment_divergence(p, tensor([[0.3, 0.7]]).log()).item() > 0


def test_gaussian_divergence_has_its_closed_form():
    # KL(N(1, 4) || N(0, 1)) = (4 + 1 - 1 - log 4) / 2
    result = gaussian_divergence(
        tensor([[1.0]]), tensor([[np.log(4)]]), tensor([[0.0]]), tensor([[0.0]])
    )
    assert result.item() == pytest.approx((4 - np.log(4)) / 2)


def test_gaussian_divergence_agrees_with_torchs_own(mixture):
    result = gaussian_divergence(
        *map(torch.tensor, (mixture.mean, np.log(mixture.variance))),
        *map(torch.tensor, (mixture.centers, np.log(mixture.variances))),
    )
    for i in range(2):
        for k in range(3):
            ours = torch.distributions.Normal(
                *map(torch.tensor, (mixture.mean[i], mixture.variance[i] ** 0.5))
            )
            other = torch.distributions.Normal(
                *map(torch.tensor, (mixture.centers[k], mixture.variances[k] ** 0.5))
            )
            assert result[i, k].item() == pytest.approx(
                torch.distributions.kl_divergence(ours, other).sum().item()
            )


def test_responsibilities_are_bayes_rule(mixture):
    result = log_responsibilities(
        *map(
            torch.tensor,
            (mixture.mean, np.log(mixture.weights), mixture.centers, np.log(mixture.variances)),
        )
    )
    density = norm(mixture.centers, mixture.variances**0.5).pdf(mixture.mean[:, None]).prod(2)
    joint = mixture.weights * density
    np.testing.assert_allclose(result.exp(), joint / joint.sum(1, keepdims=True))


def test_responsibilities_far_from_all_components_are_finite():
    result = log_responsibilities(
        tensor([[1e6, -1e6]]),
        tensor([0.5, 0.5]).log(),
        torch.eye(2).double(),
        tensor([[-9.0, -9.0]] * 2),
    )
    assert torch.isfinite(result).all()
    assert result.exp().sum().item() == pytest.approx(1)


def test_divergence_from_the_mixture_agrees_with_monte_carlo(mixture):
    closed = mixture_divergence(
        *map(
            torch.tensor,
            (
                mixture.mean,
                np.log(mixture.variance),
                np.log(mixture.gamma),
                np.log(mixture.weights),
                mixture.centers,
                np.log(mixture.variances),
            ),
        )
    )
    rng = np.random.default_rng(0)
    for i in range(2):
        posterior = norm(mixture.mean[i], mixture.variance[i] ** 0.5)
        z = posterior.rvs(size=(200_000, 2), random_state=rng)
        log_q = posterior.logpdf(z).sum(1)[:, None] + np.log(mixture.gamma[i])
        log_p = norm(mixture.centers, mixture.variances**0.5).logpdf(z[:, None]).sum(2) + np.log(
            mixture.weights
        )
        samples = (mixture.gamma[i] * (log_q - log_p)).sum(1)
        assert closed[i].item() == pytest.approx(
            samples.mean(), abs=5 * samples.std() / len(samples) ** 0.5
        )


def test_reconstruction_error_is_summed_over_pixels_for_each_picture():
    pictures, decoded = torch.zeros(2, 1, 3, 4), torch.ones(2, 1, 3, 4)
    assert reconstruction_error(decoded, pictures, "gaussian").tolist() == [12, 12]
    result = reconstruction_error(torch.zeros(2, 1, 3, 4), pictures, "bernoulli")
    np.testing.assert_allclose(result, 12 * np.log(2), rtol=1e-6)


def test_bounded_log_variances_keep_small_values_and_a_gradient_for_large_ones():
    x = tensor([-100.0, -1.0, 0.0, 1.0, 30.0]).requires_grad_()
    y = bounded(x)
    assert y.abs().max() <= LARGEST_LOG_VARIANCE
    np.testing.assert_allclose(y.detach()[1:4], [-1, 0, 1], atol=0.01)
    y.sum().backward()
    assert x.grad[4] > 0
    np.testing.assert_allclose(bounded(unbounded(tensor([-9.0, 0.3, 5.0]))), [-9, 0.3, 5])


# -- the whole bound, of a model small enough to integrate -----------------------------------------

PIXELS = 3


def tiny_model(mean, log_variance, *, slope, weights, centers, log_variances) -> SimpleNamespace:
    """One picture, a one-dimensional embedding, and logits that are `slope` times it."""
    return SimpleNamespace(
        posterior=lambda pictures: (
            mean.expand(len(pictures), 1),
            unbounded(log_variance).expand(len(pictures), 1),
        ),
        decode=lambda z: slope * z[:, :, None, None].expand(-1, 1, 1, PIXELS),
        prior_logits=weights.log(),
        prior_log_variances=unbounded(log_variances),
        centers=centers,
    )


def test_the_bound_is_tight_when_the_posterior_is_exact():
    # the picture says nothing about z, and there is one component: posterior = prior, ELBO = log
    # p(x)
    model = tiny_model(
        tensor([[0.4]]), tensor([[0.6]]), slope=0.0, weights=tensor([1.0]), centers=tensor([[0.4]]),
        log_variances=tensor([[0.6]]),
    )  # fmt: skip
    result = negative_elbo(
        model, torch.ones(50, 1, 1, PIXELS).double(), "bernoulli", torch.Generator().manual_seed(0)
    )
    np.testing.assert_allclose(result, PIXELS * np.log(2))


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_bound_agrees_with_integration_and_stays_below_the_evidence(likelihood):
    weights, centers, log_variances = (
        np.array([0.6, 0.4]),
        np.array([-1.0, 1.5]),
        np.array([0.2, -0.5]),
    )
    mean, log_variance, slope = 0.8, -0.7, 1.3
    model = tiny_model(
        tensor([[mean]]),
        tensor([[log_variance]]),
        slope=slope,
        weights=tensor(weights),
        centers=tensor(centers[:, None]),
        log_variances=tensor(log_variances[:, None]),
    )
    n = 40_000
    pictures = torch.ones(n, 1, 1, PIXELS).double()
    samples = negative_elbo(model, pictures, likelihood, torch.Generator().manual_seed(0)).numpy()

    z = np.linspace(-12, 12, 20_001)
    step = z[1] - z[0]
    if likelihood == "bernoulli":
        log_x = -PIXELS * np.logaddexp(0, -slope * z)
        constant = 0.0
    else:
        log_x = PIXELS * norm(slope * z, 1).logpdf(1)
        constant = PIXELS * 0.5 * np.log(2 * np.pi)  # left out of the error, which starts at 0
    log_joint = np.log(weights) + norm(centers, np.exp(log_variances / 2)).logpdf(z[:, None])
    gamma = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    posterior = norm(mean, np.exp(log_variance / 2)).pdf(z)
    # E log p(z | c) over the posterior, in closed form, weighted by gamma at z: the authors'
    # estimator
    expected_log_prior = -0.5 * (
        np.log(2 * np.pi)
        + log_variances
        + (np.exp(log_variance) + (mean - centers) ** 2) / np.exp(log_variances)
    )
    entropy = 0.5 * (1 + np.log(2 * np.pi) + log_variance)
    integrand = (
        log_x + (gamma * (expected_log_prior + np.log(weights) - np.log(gamma))).sum(1) + entropy
    )
    elbo = (posterior * integrand).sum() * step
    assert -samples.mean() - constant == pytest.approx(elbo, abs=5 * samples.std() / n**0.5)

    evidence = np.log((np.exp(log_x) * np.exp(logsumexp(log_joint, axis=1))).sum() * step)
    assert elbo < evidence
