"""Architectures: the paper's sizes, any image size, gradients, and the random state."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dikmeans.paper.baselines.elbo_training import ElboTraining, negative_elbo
from dikmeans.paper.baselines.losses import (
    assignment_divergence,
    log_soft_assignment,
    reconstruction_error,
)
from dikmeans.paper.baselines.networks import Autoencoder, VariationalAutoencoder, make_network
from dikmeans.paper.baselines.pretraining import Pretraining
from dikmeans.paper.baselines.refinement import Refinement
from tests.paper.baselines.baseline_fits import ARCHITECTURES

SIZES = [
    (1, 28, 28),
    (1, 24, 64),
    (1, 64, 24),
    (1, 48, 48),
    (3, 32, 32),
    (3, 17, 5),
    (1, 1, 7),
    (2, 1, 1),
]


def network(architecture: str, size=(1, 12, 12), kind=Autoencoder, seed=0):
    return make_network(
        kind,
        torch.Generator().manual_seed(seed),
        architecture=architecture,
        size=size,
        embedding_dim=10,
        n_clusters=3,
    )


def widths(sequential: nn.Module) -> list[int]:
    return [m.out_features for m in sequential.modules() if isinstance(m, nn.Linear)]


def test_the_mlp_has_the_papers_layers():
    mlp = network("mlp", (1, 28, 28))
    assert [*widths(mlp.trunk), *widths(mlp.embed)] == [500, 500, 2000, 10]
    assert widths(mlp.decoder) == [2000, 500, 500, 784]


def test_the_conv_net_has_the_papers_layers():
    conv = network("conv", (1, 28, 28))
    for part, kind in ((conv.trunk, nn.Conv2d), (conv.decoder, nn.ConvTranspose2d)):
        layers = [m for m in part.modules() if isinstance(m, kind)]
        assert [layer.kernel_size for layer in layers] == [(5, 5)] * 3
    assert [m.out_channels for m in conv.trunk.modules() if isinstance(m, nn.Conv2d)] == [
        32,
        32,
        32,
    ]
    assert [*widths(conv.trunk), *widths(conv.embed)] == [400, 10]
    assert sum(isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) for m in conv.trunk.modules()) == 4


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("size", SIZES)
def test_pictures_of_any_size_come_back_in_their_size(architecture, size):
    pictures = torch.rand(2, *size, generator=torch.Generator().manual_seed(0))
    made = network(architecture, size)
    assert made.encode(pictures).shape == (2, 10)
    assert made(pictures).shape == pictures.shape


def test_the_conv_net_takes_pictures_of_300_by_300():
    made = network("conv", (3, 300, 300))
    assert made(torch.zeros(2, 3, 300, 300)).shape == (2, 3, 300, 300)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_reach_every_parameter_of_every_phase(architecture):
    generator = torch.Generator().manual_seed(1)
    pictures = torch.rand(20, 1, 12, 12, generator=generator)
    made = network(architecture, kind=VariationalAutoencoder)
    with torch.no_grad():  # cluster parameters start at zero, where some gradients cancel
        for parameter in (made.centers, made.prior_logits, made.prior_log_variances):
            parameter.normal_(generator=generator)
    pretraining = Pretraining(
        learning_rate=1e-3, max_epochs=1, corruption=0.0, likelihood="gaussian"
    )
    refinement = Refinement(
        learning_rate=1e-3, alpha=1.0, update_interval=1, max_epochs=1, tol=0.0, n_init=1
    )
    elbo = ElboTraining(learning_rate=1e-3, max_epochs=1, likelihood="bernoulli", n_init=1)
    target = torch.softmax(torch.randn(20, 3, generator=generator), 1)
    losses = [
        (pretraining, lambda: reconstruction_error(made(pictures), pictures, "gaussian")),
        (
            refinement,
            lambda: assignment_divergence(
                target, log_soft_assignment(made.encode(pictures), made.centers, 1.0)
            ),
        ),
        (elbo, lambda: negative_elbo(made, pictures, "bernoulli", generator)),
    ]
    for phase, loss in losses:
        made.zero_grad()
        loss().mean().backward()
        learned = {id(parameter) for parameter in phase.parameters(made)}
        for name, parameter in made.named_parameters():
            if id(parameter) in learned:
                assert parameter.grad is not None, (phase.name, name)
                assert parameter.grad.abs().max() > 0, (phase.name, name)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_first_weights_depend_on_the_generator_alone(architecture):
    before = torch.get_rng_state()
    first, same, other = (network(architecture, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["embed.weight"], other["embed.weight"])
    assert all(torch.isfinite(value).all() for value in first.values())
