"""The paper's two architectures as autoencoders, for images of any size and number of channels.

    mlp    pixels - 500 - 500 - 2000 - embedding, ReLU between layers
    conv   3 x (32 filters 5x5 with stride 2, ReLU, batch norm) - 400 (ReLU, batch norm) - embedding

Decoders mirror encoders layer by layer. A stride of 2 with a padding of 2 reduces a side of n
pixels to ceil(n / 2), and its transpose restores it exactly, so every size works. The embedding and
the decoded image are linear: a ReLU would forbid negative values.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import nn

ARCHITECTURES = ("mlp", "conv")
MLP_HIDDEN = (500, 500, 2000)
CONV_LAYERS, FILTERS, KERNEL, STRIDE = 3, 32, 5, 2
CONV_HIDDEN = 400

ImageSize = tuple[int, int, int]  # channels, rows, columns


class Autoencoder(nn.Module):
    """Encoder and decoder with `n_clusters` centers in the embedding.

    Parameters
    ----------
    architecture : {"mlp", "conv"}
    size : (channels, rows, columns)
        Of the images.
    embedding_dim : int
    n_clusters : int

    Attributes
    ----------
    mixed_precision : bool
        Whether hidden layers multiply in bfloat16; see `dikmeans.paper.baselines.training.train`.
        Weights, embeddings and losses are float32 in any case.
    """

    mixed_precision = False

    def __init__(self, architecture: str, size: ImageSize, embedding_dim: int, n_clusters: int):
        super().__init__()
        build = {"mlp": _mlp, "conv": _conv}[architecture]
        self.trunk, width, self.decoder = build(size, embedding_dim)
        self.embed = nn.Linear(width, embedding_dim)
        self.centers = nn.Parameter(torch.zeros(n_clusters, embedding_dim))

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """Return the last hidden layer of the encoder, (N, width)."""
        return self._run(self.trunk, images)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return the embeddings (N, embedding_dim) of images (N, channels, rows, columns)."""
        return self.embed(self.features(images))

    def decode(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return the images of embeddings; logits of pixels, if the likelihood is Bernoulli."""
        return self._run(self.decoder, embedded)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the reconstructed images."""
        return self.decode(self.encode(images))

    def _run(self, part: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
        if not self.mixed_precision:
            return part(inputs)
        with torch.autocast(inputs.device.type, torch.bfloat16):
            return part(inputs).float()


class VariationalAutoencoder(Autoencoder):
    """An `Autoencoder` whose embedding is a Gaussian, and whose prior is a mixture of Gaussians.

    `embed` gives the posterior mean, `log_variance` the logarithm of its variance; `centers` are
    the means of the mixture. Both log-variances are raw: `dikmeans.paper.baselines.losses.bounded`
    is applied where they are used.
    """

    def __init__(self, architecture: str, size: ImageSize, embedding_dim: int, n_clusters: int):
        super().__init__(architecture, size, embedding_dim, n_clusters)
        self.log_variance = nn.Linear(self.embed.in_features, embedding_dim)
        self.prior_logits = nn.Parameter(torch.zeros(n_clusters))
        self.prior_log_variances = nn.Parameter(torch.zeros(n_clusters, embedding_dim))

    def posterior(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return mean and raw log-variance of the embedding of each image."""
        features = self.features(images)
        return self.embed(features), self.log_variance(features)


def network_without_memory(kind: type[Autoencoder], **shape: Any) -> Autoencoder:
    """Return a network that knows the shapes of its weights but allocates no memory for them."""
    with torch.device("meta"):
        return kind(**shape)


def make_network(kind: type[Autoencoder], generator: torch.Generator, **shape: Any) -> Autoencoder:
    """Return a network with initial weights drawn from `generator`.

    Weights are uniform within 1/sqrt(fan in), biases and cluster parameters zero. PyTorch's global
    random state is neither used nor changed: building modules without memory skips their own
    initialization.
    """
    network = network_without_memory(kind, **shape)
    network.to_empty(device="cpu")
    for module in network.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.kaiming_uniform_(module.weight, a=math.sqrt(5), generator=generator)
            nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.reset_parameters()
    for parameter in network.parameters(recurse=False):
        nn.init.zeros_(parameter)
    return network


def _mlp(size: ImageSize, embedding_dim: int) -> tuple[nn.Module, int, nn.Module]:
    pixels = math.prod(size)
    trunk: list[nn.Module] = [nn.Flatten()]
    for fan_in, fan_out in pairwise((pixels, *MLP_HIDDEN)):
        trunk += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    decoder: list[nn.Module] = []
    for fan_in, fan_out in pairwise((embedding_dim, *reversed(MLP_HIDDEN))):
        decoder += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    decoder += [nn.Linear(MLP_HIDDEN[0], pixels), nn.Unflatten(1, size)]
    return nn.Sequential(*trunk), MLP_HIDDEN[-1], nn.Sequential(*decoder)


def _conv(size: ImageSize, embedding_dim: int) -> tuple[nn.Module, int, nn.Module]:
    channels, *sides = size
    layer_sides = [tuple(sides)]  # before the first convolution, after it, ...
    for _ in range(CONV_LAYERS):
        layer_sides.append(tuple(math.ceil(side / STRIDE) for side in layer_sides[-1]))
    smallest = (FILTERS, *layer_sides[-1])
    geometry = {"kernel_size": KERNEL, "stride": STRIDE, "padding": KERNEL // 2}

    trunk: list[nn.Module] = []
    for fan_in in (channels, *[FILTERS] * (CONV_LAYERS - 1)):
        trunk += [nn.Conv2d(fan_in, FILTERS, **geometry), nn.ReLU(), nn.BatchNorm2d(FILTERS)]
    trunk += [nn.Flatten(), nn.Linear(math.prod(smallest), CONV_HIDDEN)]
    trunk += [nn.ReLU(), nn.BatchNorm1d(CONV_HIDDEN)]

    decoder: list[nn.Module] = [
        nn.Linear(embedding_dim, CONV_HIDDEN),
        nn.ReLU(),
        nn.BatchNorm1d(CONV_HIDDEN),
    ]
    decoder += [nn.Linear(CONV_HIDDEN, math.prod(smallest)), nn.Unflatten(1, smallest)]
    for layer_side, fan_out in zip(
        reversed(layer_sides[:-1]), (*[FILTERS] * (CONV_LAYERS - 1), channels), strict=True
    ):
        # The stride takes one pixel of an even side, which the transpose has to add again.
        missing = tuple((side + 1) % STRIDE for side in layer_side)
        decoder += [nn.ReLU(), nn.BatchNorm2d(FILTERS)]
        decoder += [nn.ConvTranspose2d(FILTERS, fan_out, output_padding=missing, **geometry)]
    return nn.Sequential(*trunk), CONV_HIDDEN, nn.Sequential(*decoder)
