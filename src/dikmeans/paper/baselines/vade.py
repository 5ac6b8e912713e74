"""`VaDE`: variational deep embedding (Jiang, Zheng, Tan, Tang and Zhou, 2017)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import torch
from sklearn.utils._param_validation import Interval, StrOptions

from dikmeans.paper.baselines.elbo_training import ElboTraining, negative_elbo, prior
from dikmeans.paper.baselines.estimator import DeepClusterer
from dikmeans.paper.baselines.losses import LIKELIHOODS, log_responsibilities
from dikmeans.paper.baselines.networks import VariationalAutoencoder
from dikmeans.paper.baselines.training import Phase, Training, map_chunks


class VaDE(DeepClusterer):
    """Variational deep embedding: a variational autoencoder whose prior is a mixture of Gaussians.

    An autoencoder is trained, a diagonal Gaussian mixture is fitted in its embedding, and from there network
    and mixture learn together by the evidence lower bound; see `dikmeans.paper.baselines.losses` for the formulas.
    An image belongs to the component most responsible for its posterior mean.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    architecture : {"mlp", "conv"}, default="mlp"
        The paper's fully connected or convolutional network, see `dikmeans.paper.baselines.networks`.
    embedding_dim : int, default=10
        Size of the embedding; 10 in the paper.
    likelihood : {"bernoulli", "gaussian"}, default="bernoulli"
        Of the pixels: Bernoulli, the authors' choice for digits, or Gaussian of unit variance. Also used in
        the pre-training.
    learning_rate : float or "auto", default=1e-3
        Of the pre-training; "auto" as in `AutoencoderKMeans`.
    pretrain_epochs, corruption
        Of the pre-training, as in `AutoencoderKMeans`.
    cluster_learning_rate : float, default=5e-4
        Of the second phase.
    epochs : int, default=100
        Passes through the images in the second phase, at most.
    patience : int or None, default=10
        Either phase stops after so many epochs that lowered its objective by less than 0.1 %; None for
        never.
    max_steps
        Of either phase, in place of `pretrain_epochs`, `patience` and `epochs`; as in `AutoencoderKMeans`.
    batch_size : int, default=64
        At most; batches have nearly equal sizes.
    n_init : int, default=5
        Runs of the Gaussian mixture the prior starts from.
    image_shape, random_state, device, n_threads, verbose
        As in `AutoencoderKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (N,)
        The cluster of each image; equal to ``predict(X)``.
    cluster_centers_ : array of shape (K, embedding_dim)
        Means of the mixture.
    inertia_ : float
        Label-free objective, the lower the better: the negative evidence lower bound in nats, averaged over
        the images, with one sample of the embedding each.
    history_ : list of Epoch
        Phase, objective and seconds of each epoch.
    n_iter_ : int
        Epochs of both phases.
    learning_rate_, network_, image_shape_, pixel_range_, pixel_gain_, n_features_in_
        As in `AutoencoderKMeans`. With a Bernoulli likelihood the gain is 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import VaDE
    >>> X = load_digits().images[:200]
    >>> model = VaDE(n_clusters=10, pretrain_epochs=2, epochs=2, random_state=0).fit(X)
    >>> model.predict(X).shape
    (200,)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 -- scikit-learn's way
        **DeepClusterer._parameter_constraints,
        "likelihood": [StrOptions(set(LIKELIHOODS))],
        "cluster_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
    }
    _network_kind = VariationalAutoencoder

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        architecture: str = "mlp",
        embedding_dim: int = 10,
        likelihood: str = "bernoulli",
        learning_rate: float | str = 1e-3,
        pretrain_epochs: int = 100,
        patience: int | None = 10,
        max_steps: int | None = None,
        corruption: float = 0.0,
        cluster_learning_rate: float = 5e-4,
        epochs: int = 100,
        batch_size: int = 64,
        n_init: int = 5,
        image_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
        device: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.architecture = architecture
        self.embedding_dim = embedding_dim
        self.likelihood = likelihood
        self.learning_rate = learning_rate
        self.pretrain_epochs = pretrain_epochs
        self.patience = patience
        self.max_steps = max_steps
        self.corruption = corruption
        self.cluster_learning_rate = cluster_learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.n_init = n_init
        self.image_shape = image_shape
        self.random_state = random_state
        self.device = device
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def _pixel_likelihood(self) -> str:
        return self.likelihood

    def _cluster_phases(self) -> list[Phase]:
        return [
            ElboTraining(
                learning_rate=self.cluster_learning_rate,
                max_epochs=self.epochs,
                patience=self.patience,
                likelihood=self.likelihood,
                n_init=self.n_init,
            )
        ]

    def _conclude(self, training: Training) -> float:
        losses = map_chunks(
            lambda pictures: negative_elbo(training.network, pictures, self.likelihood, training.generator),
            training.images,
            training.device,
        )
        return float(losses.double().mean())

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        log_weights, log_variances = prior(self.network_)
        return -log_responsibilities(embedded, log_weights, self.network_.centers, log_variances)
