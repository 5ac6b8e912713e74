"""VaDE's mixture starts where the clusters are round, without a change to decoded images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture
from torch import nn

from dikmeans.evaluation import clustering_accuracy
from dikmeans.paper.baselines.elbo_training import (
    diagonal_mixture,
    map_embedding,
    prior,
    start_from_mixture,
)
from dikmeans.paper.baselines.losses import bounded, log_responsibilities
from dikmeans.paper.baselines.networks import VariationalAutoencoder, make_network
from dikmeans.paper.baselines.training import Training
from tests.paper.baselines.baseline_fits import ARCHITECTURES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_mapped_embedding_gives_the_same_pictures_back(architecture):
    generator = torch.Generator().manual_seed(0)
    network = make_network(
        VariationalAutoencoder,
        generator,
        architecture=architecture,
        size=(1, 9, 8),
        embedding_dim=4,
        n_clusters=3,
    ).eval()
    pictures = torch.rand((5, 1, 9, 8), generator=generator)
    embedded, decoded = (
        network.encode(pictures).detach().numpy(),
        network(pictures).detach().numpy(),
    )
    matrix = np.random.default_rng(0).normal(size=(4, 4)) * 10
    map_embedding(network, matrix)
    np.testing.assert_allclose(
        network.encode(pictures).detach().numpy(), embedded @ matrix.T, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(network(pictures).detach().numpy(), decoded, atol=1e-4)


@pytest.fixture
def oblique() -> tuple[np.ndarray, np.ndarray]:
    """Three long clusters side by side, oblique to the axes; points (600, 2) and the answer."""
    rng = np.random.default_rng(0)
    answer = np.repeat(np.arange(3), 200)
    along, across = rng.normal(0, 2.5, 600), rng.normal(0, 0.4, 600) + 2.5 * answer
    return np.stack([along - across, along + across], axis=1), answer


def training_on(points: np.ndarray) -> Training:
    """A network whose pictures are their own embedding."""
    generator = torch.Generator().manual_seed(0)
    shape = {"architecture": "mlp", "size": (1, 1, 2), "embedding_dim": 2, "n_clusters": 3}
    network = make_network(VariationalAutoencoder, generator, **shape)
    network.trunk, network.embed, network.log_variance = (
        nn.Flatten(),
        nn.Linear(2, 2),
        nn.Linear(2, 2),
    )
    with torch.no_grad():
        network.embed.weight.copy_(torch.eye(2))
        network.embed.bias.zero_()
    images = torch.as_tensor(points, dtype=torch.float32).reshape(-1, 1, 1, 2)
    return Training(network, images, 64, 0, generator, torch.device("cpu"), 1e-3)


def test_clusters_that_lie_oblique_are_found(oblique):
    points, answer = oblique
    training = training_on(points)
    start_from_mixture(training, n_init=3)
    network = training.network
    embedded = network.encode(training.images).detach()
    log_weights, log_variances = prior(network)
    assigned = log_responsibilities(embedded, log_weights, network.centers, log_variances).argmax(1)
    assert clustering_accuracy(answer, assigned.numpy()) > 0.98
    plain = GaussianMixture(3, covariance_type="diag", n_init=3, random_state=0).fit_predict(points)
    assert clustering_accuracy(answer, plain) < 0.8  # what there was to gain


def test_the_clusters_are_round_there_and_the_posterior_is_narrower(oblique):
    points, answer = oblique
    training = training_on(points)
    start_from_mixture(training, n_init=3)
    embedded = training.network.encode(training.images).detach().numpy()
    covariance = np.mean([np.cov(embedded[answer == k].T) for k in range(3)], axis=0)
    np.testing.assert_allclose(covariance, np.eye(2), atol=0.1)
    _, raw = training.network.posterior(training.images)
    np.testing.assert_allclose(bounded(raw).exp().detach().numpy(), 0.1, rtol=0.15)


def test_the_diagonal_mixture_keeps_clusters_that_fit_and_survives_an_empty_one():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 100, axis=0)
    answer = np.eye(4)[np.repeat(np.arange(3), 100)]  # of four clusters, one has nothing
    mixture = diagonal_mixture(points, answer)
    assert np.isfinite(mixture.means_).all()
    assert clustering_accuracy(np.repeat(np.arange(3), 100), mixture.predict(points)) == 1
