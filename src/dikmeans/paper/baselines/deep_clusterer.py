"""What the deep baselines share as scikit-learn estimators: parameters, fitting, files."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass
from time import process_time
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

from dikmeans._typing import JSON, Array, ArrayLike, ImageShape, IntArray, PathLike
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
    multiplies_bfloat16,
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
    pretrain_epochs : int, default=20
        Passes through the images in the pre-training.
    min_steps : int, default=0
        Batches in each phase of the training, at least, whatever its number of epochs: a few
        hundred images need more passes than many thousands.
    max_steps : int or None, default=None
        Batches in each phase, at most. An epoch that was begun is completed. None for no limit.
    corruption : float, default=0.0
        Share of the input pixels set to 0 in the pre-training, for a denoising autoencoder.
    batch_size : int, default=128
        At most; batches have nearly equal sizes.
    n_init : int, default=20
        Runs of the K-means that gives the first centers.
    image_shape : tuple of int, optional
        (rows, columns) or (rows, columns, channels) of the images, if X is flat. A flat X without
        `image_shape` holds signals: images of one row.
    random_state : int, RandomState instance or None, default=None
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one. The fitted network is on the CPU.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Of the products in hidden layers of the MLP during the training. Weights, embeddings, losses
        and convolutions are float32, and so is everything after the training. "auto" is bfloat16
        where the processor or GPU has instructions for it.
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
        Phase, objective, share of changed labels and processor seconds of each epoch.
    n_iter_ : int
        Epochs of all phases.
    learning_rate_ : float
        The one used.
    processor_seconds_ : float
        Processor time of the whole training, in all threads, also of what was done before it was
        continued from a file.
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
    pretrain_epochs: int = 20
    min_steps: int = 0
    max_steps: int | None = None
    corruption: float = 0.0
    batch_size: int = 128
    n_init: int = 20
    image_shape: ImageShape | None = None
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    precision: str = "auto"
    n_threads: int | None = None
    verbose: int = 0

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        "n_clusters": [Whole(1)],
        "architecture": [OneOf(ARCHITECTURES)],
        "embedding_dim": [Whole(1)],
        "learning_rate": [OneOf(("auto",)), Number(0, with_low=False)],
        "pretrain_epochs": [Whole(1)],
        "min_steps": [Whole(0)],
        "max_steps": [OneOf((None,)), Whole(1)],
        "corruption": [Number(0, 0.99)],
        "batch_size": [Whole(2)],
        "n_init": [Whole(1)],
        "image_shape": [OneOf((None,)), ARRAY_LIKE],
        "device": [OneOf(("auto", "cpu", "cuda"))],
        "precision": [OneOf(("auto", "float32", "bfloat16"))],
        "n_threads": [OneOf((None,)), Whole(1)],
    }
    _network_class: ClassVar[type[Autoencoder]] = Autoencoder
    # Parameters that play no part before the pre-training is over. The number of clusters does: its
    # centers are part of the network.
    _cluster_parameters: ClassVar[AbstractSet[str]] = frozenset({"n_init"})

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

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        checkpoint: PathLike | None = None,
        pretraining: PathLike | None = None,
        checkpoint_interval: float = 0.0,
    ) -> Self:
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
        pretraining : path-like, optional
            A file to keep the pre-training in, and to take it from if it exists. Fits that differ
            only in what comes after the pre-training, such as those of `AutoencoderKMeans` and
            `DEC`, can share it; the result is that of a fit without it, to the last bit.
        checkpoint_interval : float, default=0.0
            Seconds between two writes of a file, at least: for sets that are so small that an epoch
            is shorter than a write. The end of a phase is always written.

        Returns
        -------
        self
        """
        self._check_parameters()
        device = choose_device(self.device)
        images = self._check_images(X, reset=True)
        if len(images) < self.n_clusters:
            raise ValueError(f"n_samples={len(images)} should be >= n_clusters={self.n_clusters}.")
        identities = {
            "checkpoint": {
                "estimator": type(self).__name__,
                "parameters": self._parameters_but(_INCIDENTAL),
                "images": image_digest(images),
            },
            "pretraining": {**self.pretraining_settings(), "images": image_digest(images)},
        }
        store, shared = (
            path
            if path is None
            else TrainingFile(
                path, identities[argument], argument=argument, interval=checkpoint_interval
            )
            for argument, path in (("checkpoint", checkpoint), ("pretraining", pretraining))
        )
        with torch_threads(self.n_threads):
            training = self._begin(images, device, store, shared)
            phases = [self._pretraining(training.learning_rate), *self._cluster_phases()]
            limit_steps(training, phases, self.min_steps, self.max_steps)
            if shared is not None:
                train(training, phases[:1], store=shared, report=self._report)
            first = 0 if shared is None else 1
            train(training, phases, first=first, store=store, report=self._report)
            clock = process_time()
            training.network.eval()
            self.inertia_ = self._finish_training(training)
            self.network_ = training.network.to("cpu")
            self.history_ = training.history
            self.n_iter_ = len(training.history)
            self.learning_rate_ = training.learning_rate
            self._n_features_out = self.embedding_dim
            self.labels_ = self._labels(self._embed(images))
            spent = sum(epoch.seconds for epoch in self.history_)
            self.processor_seconds_ = spent + process_time() - clock
        return self

    def _begin(
        self, images: torch.Tensor, device: torch.device, *stores: TrainingFile | None
    ) -> Training:
        """Return a training at its start; seed and learning rate are those in a file, if any."""
        for store in stores:
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
        return Training(
            network,
            images,
            self.batch_size,
            seed,
            generator,
            device,
            learning_rate,
            mixed_precision=self._multiplies_bfloat16(device),
        )

    def _multiplies_bfloat16(self, device: torch.device) -> bool:
        # PyTorch's convolutions in bfloat16 are not finite on sides of a few pixels.
        if self.architecture != "mlp" or self.precision == "float32":
            return False
        return self.precision == "bfloat16" or multiplies_bfloat16(device)

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
            corruption=self.corruption,
            likelihood=self._pixel_likelihood,
        )

    def pretraining_settings(self) -> JSON:
        """Return what the pre-training depends on beside the images, as JSON values.

        Fits that agree in it can share a file; see `fit`.
        """
        parameters = self._parameters_but(_INCIDENTAL | self._cluster_parameters)
        parameters["likelihood"] = self._pixel_likelihood
        return {"network": self._network_class.__name__, "parameters": parameters}

    def _parameters_but(self, names: AbstractSet[str]) -> JSON:
        return {k: v for k, v in parameters_as_json(self).items() if k not in names}

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

    def _check_images(self, X: ArrayLike, *, reset: bool) -> torch.Tensor:
        """Return X, checked, as float32 images (N, C, rows, columns), scaled like the training set.

        The range of the pixels becomes [0, 1], as a Bernoulli likelihood needs. For squared errors
        images are then divided by the root mean square of all pixels, as DEC's authors do: the
        Student-t kernel has a fixed scale, and embeddings must not be small against it.
        """
        stacked = stack(X)
        expected: ImageShape | None = self.image_shape if reset else self.image_shape_
        if not reset and stacked.ndim == 2 and stacked.shape[1] != self.n_features_in_:
            expected = None  # scikit-learn has the usual message for that
        table, shape = flatten(stacked, expected)
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

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the cluster of each image, an int32 array of shape (N,)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            return self._labels(self._embed(images))

    def transform(self, X: ArrayLike) -> Array:
        """Return the embedding of each image, a float32 array of shape (N, embedding_dim)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            embedded: Array = self._embed(images).numpy()
        return embedded

    def fit_transform(self, X: ArrayLike, y: object = None, **options: Any) -> Array:
        """Fit, then return the embedding of each image; `options` as in `fit`."""
        return self.fit(X, **options).transform(X)

    def fit_predict(self, X: ArrayLike, y: object = None, **options: Any) -> IntArray:
        """Fit, then return the cluster of each image; `options` as in `fit`."""
        return self.fit(X, **options).labels_

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
