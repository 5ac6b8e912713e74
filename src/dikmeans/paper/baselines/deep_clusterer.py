"""What the deep baselines share as scikit-learn estimators: parameters, fitting, files."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dikmeans._typing import JSON, Array, ImageShape, IntArray, PathLike
from dikmeans.images import flatten, refuse_non_finite, stack, table_rules, to_channels_first
from dikmeans.paper.baselines.networks import ARCHITECTURES, Autoencoder, make_network
from dikmeans.paper.baselines.pretraining import Pretraining, choose_learning_rate
from dikmeans.paper.baselines.saved_model import load_baseline, parameters_as_json, save_baseline
from dikmeans.paper.baselines.training import (
    Epoch,
    Training,
    TrainingPhase,
    choose_device,
    limit_steps,
    map_chunks,
    torch_threads,
    train,
)
from dikmeans.paper.baselines.training_file import TrainingFile, image_digest
from dikmeans.parameters import ARRAY_LIKE, Constraint, Number, OneOf, Whole, check_parameters

# Parameters that do not change what is computed: a checkpoint may be continued with others.
_INCIDENTAL = {"device", "n_threads", "verbose"}


@dataclass(eq=False, repr=False)
class DeepClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC
):
    """Base of `AutoencoderKMeans`, `DEC` and `VaDE`.

    The parameters are the fields of a dataclass: each is written once, and a subclass adds its own.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    architecture : {"mlp", "conv"}, default="mlp"
        The paper's fully connected or convolutional network, see
        `dikmeans.paper.baselines.networks`.
    embedding_dim : int, default=10
        Size of the embedding; 10 in the paper.
    learning_rate : float or "auto", default=1e-3
        Of Adam in the pre-training. "auto" tries the paper's grid on a sample and takes the rate
        with the lowest error, see `dikmeans.paper.baselines.pretraining.choose_learning_rate`.
    pretrain_epochs : int, default=100
        Passes through the images in the pre-training, at most.
    patience : int or None, default=10
        Stop after so many epochs that lowered the objective by less than 0.1 %; None for never.
    max_steps : int or None, default=None
        Batches in each phase of the training, in place of the limits in epochs and of `patience`:
        the same effort for small and large sets. The epoch that reaches it is the last. None for
        the limits in epochs.
    corruption : float, default=0.0
        Share of the input pixels set to 0 in the pre-training, for a denoising autoencoder.
    batch_size : int, default=64
        At most; batches have nearly equal sizes.
    n_init : int, default=20
        Runs of the K-means that gives the first centers.
    image_shape : tuple of int, optional
        (rows, columns) or (rows, columns, channels) of the images, if X is flat. A flat X without
        `image_shape` holds signals: images of one row.
    random_state : int, RandomState instance or None, default=None
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one. The fitted network is on the CPU.
    n_threads : int or None, default=None
        Threads of PyTorch during the call; None leaves its setting alone. Another number may change
        the last bits of a result.
    verbose : int, default=0
        Print one line per epoch on standard error.

    Attributes
    ----------
    labels_ : int32 array of shape (N,)
        The cluster of each image; equal to ``predict(X)``.
    cluster_centers_ : array of shape (K, embedding_dim)
        In the embedding.
    inertia_ : float
        Label-free objective, the lower the better; each estimator defines its own.
    history_ : list of Epoch
        Phase, objective, share of changed labels and seconds of each epoch.
    n_iter_ : int
        Epochs of all phases.
    learning_rate_ : float
        The one used.
    network_ : torch.nn.Module
    image_shape_ : tuple of int
    pixel_range_ : (float, float)
        Lowest and highest pixel of the training images, which become 0 and 1.
    pixel_gain_ : float
        Factor by which images are multiplied then: it makes the mean square of all pixels 1, or is
        1 with a Bernoulli likelihood.
    n_features_in_ : int
    """

    n_clusters: int = 8
    _: KW_ONLY
    architecture: str = "mlp"
    embedding_dim: int = 10
    learning_rate: float | str = 1e-3
    pretrain_epochs: int = 100
    patience: int | None = 10
    max_steps: int | None = None
    corruption: float = 0.0
    batch_size: int = 64
    n_init: int = 20
    image_shape: ImageShape | None = None
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    n_threads: int | None = None
    verbose: int = 0

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        "n_clusters": [Whole(1)],
        "architecture": [OneOf(ARCHITECTURES)],
        "embedding_dim": [Whole(1)],
        "learning_rate": [OneOf(("auto",)), Number(0, with_low=False)],
        "pretrain_epochs": [Whole(1)],
        "patience": [OneOf((None,)), Whole(1)],
        "max_steps": [OneOf((None,)), Whole(1)],
        "corruption": [Number(0, 0.99)],
        "batch_size": [Whole(2)],
        "n_init": [Whole(1)],
        "image_shape": [OneOf((None,)), ARRAY_LIKE],
        "device": [OneOf(("auto", "cpu", "cuda"))],
        "n_threads": [OneOf((None,)), Whole(1)],
    }
    _network_class: ClassVar[type[Autoencoder]] = Autoencoder

    # -- what a subclass defines -----------------------------------------------------------------

    @property
    def _pixel_likelihood(self) -> str:
        """Likelihood under which the autoencoder reconstructs images."""
        return "gaussian"

    @abstractmethod
    def _cluster_phases(self) -> list[TrainingPhase]:
        """Return the phases after the pre-training."""

    @abstractmethod
    def _finish_training(self, training: Training) -> float:
        """Complete the network after the last phase; return the label-free objective."""

    @abstractmethod
    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return an array (N, K) that is lowest for the cluster of an embedding."""

    def _check_parameters(self) -> None:
        check_parameters(self, self.constraints)
        check_random_state(self.random_state)

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, checkpoint: PathLike | None = None) -> Self:
        """Train the network and assign clusters.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
        y : ignored
        checkpoint : path-like, optional
            A file to keep the training in, written after each epoch. If it exists, the fit
            continues from it; on the CPU, with the same number of threads, the result then equals
            that of an uninterrupted fit to the last bit. The file of another fit, or a damaged one,
            is refused.

        Returns
        -------
        self
        """
        self._check_parameters()
        device = choose_device(self.device)
        images = self._check_images(X, reset=True)
        if len(images) < self.n_clusters:
            raise ValueError(f"n_samples={len(images)} should be >= n_clusters={self.n_clusters}.")
        store = None if checkpoint is None else TrainingFile(checkpoint, self._identity(images))
        with torch_threads(self.n_threads):
            training = self._begin(images, device, store)
            phases = [self._pretraining(training.learning_rate), *self._cluster_phases()]
            limit_steps(training, phases, self.max_steps)
            train(training, phases, store=store, report=self._report)
            training.network.eval()
            self.inertia_ = self._finish_training(training)
            self.network_ = training.network.to("cpu")
            self.history_ = training.history
            self.n_iter_ = len(training.history)
            self.learning_rate_ = training.learning_rate
            self._n_features_out = self.embedding_dim
            self.labels_ = self._labels(self._embed(images))
        return self

    def _begin(
        self, images: torch.Tensor, device: torch.device, store: TrainingFile | None
    ) -> Training:
        """Return a training at its start; seed and learning rate are those in `store`, if any."""
        stored = None if store is None else store.seed_and_learning_rate()
        if stored is not None:
            return self._new_training(images, device, *stored)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        rate = self.learning_rate
        if rate == "auto":
            rate, probes = choose_learning_rate(
                lambda: self._new_training(images, device, seed, 0.0), self._pretraining
            )
            if self.verbose:
                tried = ", ".join(f"{probe:g}: {error:.4g}" for probe, error in probes.items())
                print(f"{type(self).__name__} learning rate {rate:g} of {tried}", file=sys.stderr)
        return self._new_training(images, device, seed, float(rate))

    def _new_training(
        self, images: torch.Tensor, device: torch.device, seed: int, learning_rate: float
    ) -> Training:
        generator = torch.Generator().manual_seed(seed)
        network = make_network(self._network_class, generator, **self._network_shape()).to(device)
        return Training(network, images, self.batch_size, seed, generator, device, learning_rate)

    def _network_shape(self) -> dict[str, Any]:
        rows, columns, *channels = self.image_shape_
        return {
            "architecture": self.architecture,
            "size": (channels[0] if channels else 1, rows, columns),
            "embedding_dim": int(self.embedding_dim),
            "n_clusters": int(self.n_clusters),
        }

    def _pretraining(self, learning_rate: float) -> Pretraining:
        return Pretraining(
            learning_rate=learning_rate,
            max_epochs=self.pretrain_epochs,
            patience=self.patience,
            corruption=self.corruption,
            likelihood=self._pixel_likelihood,
        )

    def _identity(self, images: torch.Tensor) -> JSON:
        parameters = parameters_as_json(self)
        return {
            "estimator": type(self).__name__,
            "parameters": {k: v for k, v in parameters.items() if k not in _INCIDENTAL},
            "images": image_digest(images),
        }

    def _report(self, phase: TrainingPhase, epochs: Sequence[Epoch]) -> None:
        if self.verbose:
            last = epochs[-1]
            moved = "" if last.moved is None else f" · {last.moved:.2%} moved"
            print(
                f"{type(self).__name__} {phase.name} · epoch {len(epochs)}/{phase.max_epochs} · "
                f"objective {last.objective:.6g}{moved} · {last.seconds:.1f} s",
                file=sys.stderr,
            )

    # -- images ----------------------------------------------------------------------------------

    def _check_images(self, X: Any, *, reset: bool) -> torch.Tensor:
        """Return X, checked, as float32 images (N, C, rows, columns), scaled like the training set.

        The range of the pixels becomes [0, 1], as a Bernoulli likelihood needs. For squared errors
        images are then divided by the root mean square of all pixels, as DEC's authors do: the
        Student-t kernel has a fixed scale, and embeddings must not be small against it.
        """
        X = stack(X)
        expected: ImageShape | None = self.image_shape if reset else self.image_shape_
        if not reset and X.ndim == 2 and X.shape[1] != self.n_features_in_:
            expected = None  # scikit-learn has the usual message for that
        table, shape = flatten(X, expected)
        rules = {**table_rules(table), "ensure_min_samples": 2 if reset else 1}
        table = validate_data(self, table, reset=reset, **rules)
        refuse_non_finite(table)
        if reset:
            self.image_shape_: ImageShape = shape
            self.pixel_range_ = (float(table.min()), float(table.max()))
        low, high = self.pixel_range_
        scaled = ((table - low) / ((high - low) or 1.0)).clip(0, 1).astype(np.float32)
        if reset:
            power = float(np.square(scaled, dtype=np.float64).mean())
            is_gaussian = self._pixel_likelihood == "gaussian"
            self.pixel_gain_ = power**-0.5 if is_gaussian and power else 1.0
        return torch.as_tensor(to_channels_first(scaled * np.float32(self.pixel_gain_), shape))

    def _embed(self, images: torch.Tensor) -> torch.Tensor:
        return map_chunks(self.network_.encode, images, torch.device("cpu"))

    def _labels(self, embedded: torch.Tensor) -> IntArray:
        with torch.no_grad():
            labels: IntArray = self._cluster_costs(embedded).argmin(1).numpy().astype(np.int32)
        return labels

    # -- new data --------------------------------------------------------------------------------

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each image, an int32 array of shape (N,)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            return self._labels(self._embed(images))

    def transform(self, X: Any) -> Array:
        """Return the embedding of each image, a float32 array of shape (N, embedding_dim)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            embedded: Array = self._embed(images).numpy()
        return embedded

    def fit_transform(self, X: Any, y: Any = None, *, checkpoint: PathLike | None = None) -> Array:
        """Fit, then return the embedding of each image."""
        return self.fit(X, checkpoint=checkpoint).transform(X)

    def fit_predict(self, X: Any, y: Any = None, *, checkpoint: PathLike | None = None) -> IntArray:
        """Fit, then return the cluster of each image."""
        return self.fit(X, checkpoint=checkpoint).labels_

    @property
    def cluster_centers_(self) -> Array:
        """Centers of the clusters in the embedding, shape (K, embedding_dim)."""
        check_is_fitted(self)
        centers: Array = self.network_.centers.detach().numpy()
        return centers

    # -- files and scikit-learn ------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the fitted model to one safetensors file."""
        check_is_fitted(self)
        save_baseline(self, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a model written by `save`. Anything else is refused; no code is ever executed."""
        return load_baseline(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.three_d_array = True
        return tags
