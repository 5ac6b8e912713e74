"""What the deep rivals share as scikit-learn estimators: checks, the fit's frame, new data, files."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from dikmeans.images import ImageShape, flatten, refuse_non_finite, stack, table_rules, to_channels_first
from dikmeans.paper.baselines.checkpoint import Checkpoint, image_digest
from dikmeans.paper.baselines.model_file import json_parameters, load_rival, save_rival
from dikmeans.paper.baselines.networks import ARCHITECTURES, Autoencoder, make_network
from dikmeans.paper.baselines.pretraining import Pretraining, choose_learning_rate
from dikmeans.paper.baselines.training import (
    Epoch,
    Phase,
    Training,
    choose_device,
    limit_steps,
    map_chunks,
    torch_threads,
    train,
)

# Parameters that do not change what is computed: a checkpoint may be continued with others.
_INCIDENTAL = {"device", "n_threads", "verbose"}


class DeepClusterer(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of the rivals. A subclass gives its phases and says how to read labels off the network."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 -- scikit-learn's way
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "architecture": [StrOptions(set(ARCHITECTURES))],
        "embedding_dim": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "pretrain_epochs": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "corruption": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "image_shape": ["array-like", None],
        "random_state": ["random_state"],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }
    _network_kind: ClassVar[type[Autoencoder]] = Autoencoder

    n_clusters: int
    architecture: str
    embedding_dim: int
    learning_rate: float | str
    pretrain_epochs: int
    patience: int | None
    max_steps: int | None
    corruption: float
    batch_size: int
    n_init: int
    image_shape: Any
    random_state: Any
    device: str
    n_threads: int | None
    verbose: int
    image_shape_: ImageShape

    # -- what a rival is ---------------------------------------------------------------------------

    @property
    def _pixel_likelihood(self) -> str:
        """Under which the autoencoder gives pictures back."""
        return "gaussian"

    @abstractmethod
    def _cluster_phases(self) -> list[Phase]:
        """What comes after the pre-training."""

    @abstractmethod
    def _conclude(self, training: Training) -> float:
        """Whatever is left to do after the last phase; the label-free objective."""

    @abstractmethod
    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        """(N, K), the lowest where an embedding belongs."""

    # -- fitting -----------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None) -> Self:
        """Train the network and find labels.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
        y : ignored
        checkpoint : path-like, optional
            A file to keep the training in, written after each epoch. If it exists, the fit goes on from
            it; on the CPU, with the same number of threads, the result then is the same to the last bit
            as that of a fit never interrupted. The file of another fit, or a damaged one, is refused.

        Returns
        -------
        self
        """
        device = choose_device(self.device)
        images = self._check_images(X, reset=True)
        if len(images) < self.n_clusters:
            raise ValueError(f"n_samples={len(images)} should be >= n_clusters={self.n_clusters}.")
        kept = None if checkpoint is None else Checkpoint(checkpoint, self._identity(images))
        with torch_threads(self.n_threads):
            training = self._begin(images, device, kept)
            phases = [self._pretraining(training.learning_rate), *self._cluster_phases()]
            limit_steps(training, phases, self.max_steps)
            train(training, phases, checkpoint=kept, report=self._report)
            training.network.eval()
            self.inertia_ = self._conclude(training)
            self.network_ = training.network.to("cpu")
            self.history_ = training.history
            self.n_iter_ = len(training.history)
            self.learning_rate_ = training.learning_rate
            self._n_features_out = self.embedding_dim
            self.labels_ = self._labels(self._embed(images))
        return self

    def _begin(self, images: torch.Tensor, device: torch.device, kept: Checkpoint | None) -> Training:
        """A training at its start; seed and learning rate are those of the checkpoint, if there is one."""
        earlier = None if kept is None else kept.kept
        if earlier is not None:
            return self._fresh(images, device, **earlier)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        rate = self.learning_rate
        if rate == "auto":
            rate, probes = choose_learning_rate(
                lambda: self._fresh(images, device, seed, 0.0), self._pretraining
            )
            if self.verbose:
                tried = ", ".join(f"{tried:g}: {objective:.4g}" for tried, objective in probes.items())
                print(f"{type(self).__name__} learning rate {rate:g} of {tried}", file=sys.stderr)
        return self._fresh(images, device, seed, float(rate))

    def _fresh(self, images: torch.Tensor, device: torch.device, seed: int, learning_rate: float) -> Training:
        generator = torch.Generator().manual_seed(seed)
        network = make_network(self._network_kind, generator, **self._network_shape()).to(device)
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

    def _identity(self, images: torch.Tensor) -> dict[str, Any]:
        parameters = {k: v for k, v in json_parameters(self).items() if k not in _INCIDENTAL}
        return {
            "estimator": type(self).__name__,
            "parameters": parameters,
            "images": image_digest(images),
        }

    def _report(self, phase: Phase, epochs: Sequence[Epoch]) -> None:
        if self.verbose:
            last = epochs[-1]
            moved = "" if last.moved is None else f" · {last.moved:.2%} moved"
            print(
                f"{type(self).__name__} {phase.name} · epoch {len(epochs)}/{phase.max_epochs} · "
                f"objective {last.objective:.6g}{moved} · {last.seconds:.1f} s",
                file=sys.stderr,
            )

    # -- pictures ----------------------------------------------------------------------------------

    def _check_images(self, X: Any, *, reset: bool) -> torch.Tensor:
        """X, checked, as float32 pictures (N, C, rows, columns), scaled as the training set was.

        Its range is taken to [0, 1], where a Bernoulli likelihood needs it. For squared errors pictures are
        then divided by the root mean square of all pixels, as DEC's authors do: the Student-t kernel has a
        scale of its own, which embeddings must not be small against.
        """
        X = stack(X)
        wanted = self.image_shape if reset else self.image_shape_
        if not reset and X.ndim == 2 and X.shape[1] != self.n_features_in_:
            wanted = None  # left to scikit-learn, which says it in its usual words
        table, shape = flatten(X, wanted)
        rules = {**table_rules(table), "ensure_min_samples": 2 if reset else 1}
        table = validate_data(self, table, reset=reset, **rules)
        refuse_non_finite(table)
        if reset:
            self.image_shape_ = shape
            self.pixel_range_ = (float(table.min()), float(table.max()))
        low, high = self.pixel_range_
        scaled = ((table - low) / ((high - low) or 1.0)).clip(0, 1).astype(np.float32)
        if reset:
            power = float(np.square(scaled, dtype=np.float64).mean())
            self.pixel_gain_ = power**-0.5 if self._pixel_likelihood == "gaussian" and power else 1.0
        return torch.as_tensor(to_channels_first(scaled * np.float32(self.pixel_gain_), shape))

    def _embed(self, images: torch.Tensor) -> torch.Tensor:
        return map_chunks(self.network_.encode, images, torch.device("cpu"))

    def _labels(self, embedded: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return self._cluster_costs(embedded).argmin(1).numpy().astype(np.int32)

    # -- new data ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each image, an int array of shape (N,)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            return self._labels(self._embed(images))

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of each image, a float32 array of shape (N, embedding_dim)."""
        check_is_fitted(self)
        images = self._check_images(X, reset=False)
        with torch_threads(self.n_threads):
            return self._embed(images).numpy()

    def fit_transform(self, X: Any, y: Any = None, *, checkpoint: Any = None) -> np.ndarray:
        """Fit, then the embedding of each image."""
        return self.fit(X, checkpoint=checkpoint).transform(X)

    def fit_predict(self, X: Any, y: Any = None, *, checkpoint: Any = None) -> np.ndarray:
        """Fit, then the cluster of each image."""
        return self.fit(X, checkpoint=checkpoint).labels_

    @property
    def cluster_centers_(self) -> np.ndarray:
        """Centres of the clusters in the embedding, shape (K, embedding_dim)."""
        check_is_fitted(self)
        return self.network_.centers.detach().numpy()

    # -- files and scikit-learn --------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the fitted model to one safetensors file."""
        check_is_fitted(self)
        save_rival(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model written by `save`. Anything else is refused; no code is ever executed."""
        return load_rival(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.three_d_array = True
        return tags
