"""`AutoencoderKMeans`: K-means on the features of an autoencoder, the simplest deep rival."""

from __future__ import annotations

from typing import Any

import torch

from dikmeans.paper.baselines.estimator import DeepClusterer
from dikmeans.paper.baselines.losses import squared_distances
from dikmeans.paper.baselines.refinement import place_centers
from dikmeans.paper.baselines.training import Phase, Training, map_chunks


class AutoencoderKMeans(DeepClusterer):
    """AE + K-means: an autoencoder is trained, then K-means is run in its embedding.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    architecture : {"mlp", "conv"}, default="mlp"
        The paper's fully connected or convolutional network, see `dikmeans.paper.baselines.networks`.
    embedding_dim : int, default=10
        Size of the embedding; 10 in the paper.
    learning_rate : float or "auto", default=1e-3
        Of Adam. "auto" tries the paper's grid on a sample and takes the rate with the lowest
        reconstruction error, see `dikmeans.paper.baselines.pretraining.choose_learning_rate`.
    pretrain_epochs : int, default=100
        Passes through the images, at most.
    patience : int or None, default=10
        Stop after so many epochs that lowered the error by less than 0.1 %; None for never.
    max_steps : int or None, default=None
        Batches in each phase of the training, in place of the limits in epochs and of `patience`: the
        same effort for small and large sets. The epoch that reaches it is the last. None for the limits
        in epochs.
    corruption : float, default=0.0
        Share of the input pixels set to 0, for a denoising autoencoder.
    batch_size : int, default=64
        At most; batches have nearly equal sizes.
    n_init : int, default=20
        Runs of K-means, of which the best is kept.
    image_shape : tuple of int, optional
        (rows, columns) or (rows, columns, channels) of the pictures, if X is flat. A flat X
        without `image_shape` is taken as pictures of one row: signals.
    random_state : int, RandomState instance or None, default=None
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one. The fitted network is on the CPU.
    n_threads : int or None, default=None
        Threads of PyTorch during the call; None leaves its setting alone. Another number may change the
        last bits of a result.
    verbose : int, default=0
        Print a line an epoch on standard error.

    Attributes
    ----------
    labels_ : int32 array of shape (N,)
        The cluster of each image; equal to ``predict(X)``.
    cluster_centers_ : array of shape (K, embedding_dim)
        In the embedding.
    inertia_ : float
        Label-free objective, the lower the better: the share of the embedding's scatter that is within
        clusters, K-means' inertia over that of a single cluster. A share, because the scale of an embedding
        means nothing and differs from run to run.
    history_ : list of Epoch
        Phase, objective and seconds of each epoch.
    n_iter_ : int
        Epochs.
    learning_rate_ : float
        The one used.
    network_ : torch.nn.Module
    image_shape_ : tuple of int
    pixel_range_ : (float, float)
        Lowest and highest pixel of the training images, which are taken to 0 and 1.
    pixel_gain_ : float
        What they are multiplied by then: it makes the mean square of all pixels 1.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import AutoencoderKMeans
    >>> X = load_digits().images[:200]
    >>> model = AutoencoderKMeans(n_clusters=10, pretrain_epochs=2, random_state=0).fit(X)
    >>> model.transform(X).shape
    (200, 10)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        architecture: str = "mlp",
        embedding_dim: int = 10,
        learning_rate: float | str = 1e-3,
        pretrain_epochs: int = 100,
        patience: int | None = 10,
        max_steps: int | None = None,
        corruption: float = 0.0,
        batch_size: int = 64,
        n_init: int = 20,
        image_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
        device: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.architecture = architecture
        self.embedding_dim = embedding_dim
        self.learning_rate = learning_rate
        self.pretrain_epochs = pretrain_epochs
        self.patience = patience
        self.max_steps = max_steps
        self.corruption = corruption
        self.batch_size = batch_size
        self.n_init = n_init
        self.image_shape = image_shape
        self.random_state = random_state
        self.device = device
        self.n_threads = n_threads
        self.verbose = verbose

    def _cluster_phases(self) -> list[Phase]:
        return []

    def _conclude(self, training: Training) -> float:
        inertia = place_centers(training, self.n_init)
        embedded = map_chunks(training.network.encode, training.images, training.device).double()
        scatter = float((embedded - embedded.mean(0)).square().sum())
        return inertia / scatter if scatter else 0.0

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        return squared_distances(embedded, self.network_.centers)
