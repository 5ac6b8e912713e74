"""`DEC`: deep embedded clustering (Xie, Girshick and Farhadi, 2016)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import torch
from sklearn.utils._param_validation import Interval

from dikmeans.paper.baselines.estimator import DeepClusterer
from dikmeans.paper.baselines.losses import assignment_divergence, squared_distances, target_distribution
from dikmeans.paper.baselines.refinement import Refinement
from dikmeans.paper.baselines.training import Phase, Training


class DEC(DeepClusterer):
    """Deep embedded clustering: an autoencoder's embedding, refined by its own confident assignments.

    After the pre-training and K-means of `AutoencoderKMeans`, encoder and centres are trained to bring soft
    assignments nearer to a sharpened version of themselves, computed on the whole set every
    `update_interval` batches; see `dikmeans.paper.baselines.losses` for the formulas.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    architecture : {"mlp", "conv"}, default="mlp"
        The paper's fully connected or convolutional network, see `dikmeans.paper.baselines.networks`.
    embedding_dim : int, default=10
        Size of the embedding; 10 in the paper.
    learning_rate : float or "auto", default=1e-3
        Of the pre-training; "auto" as in `AutoencoderKMeans`.
    pretrain_epochs, patience, corruption
        Of the pre-training, as in `AutoencoderKMeans`.
    max_steps
        Of the pre-training and again of the refinement, in place of `pretrain_epochs`, `patience` and
        `max_updates`; as in `AutoencoderKMeans`.
    cluster_learning_rate : float, default=1e-4
        Of the refinement. There is no "auto": its objective falls the faster the more clusters collapse, so
        it cannot choose.
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel.
    update_interval : int, default=140
        Batches between two updates of the target distribution.
    max_updates : int, default=150
        Updates, at most.
    tol : float, default=1e-3
        Stop when the share of labels that change between two updates is lower.
    batch_size : int, default=64
        At most; batches have nearly equal sizes.
    n_init : int, default=20
        Runs of the K-means the centres start from.
    image_shape, random_state, device, n_threads, verbose
        As in `AutoencoderKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (N,)
        The cluster of each image; equal to ``predict(X)``.
    cluster_centers_ : array of shape (K, embedding_dim)
        In the embedding.
    inertia_ : float
        Label-free objective, the lower the better: KL(P || Q) in nats, averaged over the images. It says how
        undecided the assignments are; clusters that merged are decided too, so compare it between runs of
        the same settings only.
    history_ : list of Epoch
        Phase, objective, share of moved labels and seconds of each epoch (of the refinement: of each update).
    n_iter_ : int
        Epochs of both phases.
    learning_rate_, network_, image_shape_, pixel_range_, pixel_gain_, n_features_in_
        As in `AutoencoderKMeans`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import DEC
    >>> X = load_digits().images[:200]
    >>> model = DEC(n_clusters=10, pretrain_epochs=2, update_interval=4, max_updates=2, random_state=0).fit(X)
    >>> [epoch.phase for epoch in model.history_]
    ['pre-training', 'pre-training', 'refinement', 'refinement']
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 -- scikit-learn's way
        **DeepClusterer._parameter_constraints,
        "cluster_learning_rate": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "update_interval": [Interval(Integral, 1, None, closed="left")],
        "max_updates": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

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
        cluster_learning_rate: float = 1e-4,
        alpha: float = 1.0,
        update_interval: int = 140,
        max_updates: int = 150,
        tol: float = 1e-3,
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
        self.cluster_learning_rate = cluster_learning_rate
        self.alpha = alpha
        self.update_interval = update_interval
        self.max_updates = max_updates
        self.tol = tol
        self.batch_size = batch_size
        self.n_init = n_init
        self.image_shape = image_shape
        self.random_state = random_state
        self.device = device
        self.n_threads = n_threads
        self.verbose = verbose

    def _refinement(self) -> Refinement:
        return Refinement(
            learning_rate=self.cluster_learning_rate,
            alpha=self.alpha,
            update_interval=self.update_interval,
            max_updates=self.max_updates,
            tol=self.tol,
            n_init=self.n_init,
        )

    def _cluster_phases(self) -> list[Phase]:
        return [self._refinement()]

    def _conclude(self, training: Training) -> float:
        q = self._refinement().soft_assignment(training)
        return float(assignment_divergence(target_distribution(q), q.log()).mean())

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        return squared_distances(embedded, self.network_.centers)
