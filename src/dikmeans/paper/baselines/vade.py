"""`VaDE`: variational deep embedding (Jiang, Zheng, Tan, Tang and Zhou, 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from dikmeans.paper.baselines.deep_clusterer import DeepClusterer
from dikmeans.paper.baselines.elbo_training import ElboTraining, negative_elbo, prior
from dikmeans.paper.baselines.losses import LIKELIHOODS, log_responsibilities
from dikmeans.paper.baselines.networks import VariationalAutoencoder
from dikmeans.paper.baselines.training import Training, TrainingPhase, map_chunks
from dikmeans.parameters import Constraint, Number, OneOf, Whole


@dataclass(eq=False, repr=False, kw_only=True)
class VaDE(DeepClusterer):
    """Variational deep embedding: a variational autoencoder whose prior is a mixture of Gaussians.

    An autoencoder is trained, a diagonal Gaussian mixture is fitted in its embedding, and from
    there network and mixture learn together by the evidence lower bound;
    `dikmeans.paper.baselines.losses` has the formulas. An image belongs to the component most
    responsible for its posterior mean.

    Parameters
    ----------
    likelihood : {"bernoulli", "gaussian"}, default="bernoulli"
        Of the pixels: Bernoulli, the authors' choice for digits, or Gaussian of unit variance. Also
        used in the pre-training.
    cluster_learning_rate : float, default=2e-4
        Of the second phase; it is constant for the first half and falls to 0 in the second.
    epochs : int, default=30
        Passes through the images in the second phase.
    n_init : int, default=5
        Runs of the Gaussian mixture that gives the first prior.
    **others
        As in `DeepClusterer`. `max_steps` applies to both phases.

    Notes
    -----
    Fitted attributes are those of `DeepClusterer`. `inertia_` is the negative evidence lower bound
    in nats, averaged over the images, with one sample of the embedding each. `cluster_centers_` are
    the means of the mixture.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import VaDE
    >>> X = load_digits().images[:200]
    >>> model = VaDE(n_clusters=10, pretrain_epochs=2, epochs=2, random_state=0).fit(X)
    >>> model.predict(X).shape
    (200,)
    """

    likelihood: str = "bernoulli"
    cluster_learning_rate: float = 2e-4
    epochs: int = 30
    n_init: int = 5

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        **DeepClusterer.constraints,
        "likelihood": [OneOf(LIKELIHOODS)],
        "cluster_learning_rate": [Number(0, with_low=False)],
        "epochs": [Whole(1)],
    }
    _network_class = VariationalAutoencoder
    _cluster_parameters = DeepClusterer._cluster_parameters | {"cluster_learning_rate", "epochs"}

    @property
    def _pixel_likelihood(self) -> str:
        return self.likelihood

    def _cluster_phases(self) -> list[TrainingPhase]:
        return [
            ElboTraining(
                learning_rate=self.cluster_learning_rate,
                max_epochs=self.epochs,
                likelihood=self.likelihood,
                n_init=self.n_init,
            )
        ]

    def _finish_training(self, training: Training) -> float:
        network, generator = training.network, training.generator
        losses = map_chunks(
            lambda images: negative_elbo(network, images, self.likelihood, generator),
            training.images,
            training.device,
        )
        return float(losses.double().mean())

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        log_weights, log_variances = prior(self.network_)
        return -log_responsibilities(embedded, log_weights, self.network_.centers, log_variances)
