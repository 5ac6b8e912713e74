"""`AutoencoderKMeans`: K-means on the features of an autoencoder, the simplest deep baseline."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from dikmeans.paper.baselines.deep_clusterer import DeepClusterer
from dikmeans.paper.baselines.losses import squared_distances
from dikmeans.paper.baselines.refinement import place_centers
from dikmeans.paper.baselines.training import Training, TrainingPhase, map_chunks


@dataclass(eq=False, repr=False)
class AutoencoderKMeans(DeepClusterer):
    """AE + K-means: an autoencoder is trained, then K-means is run in its embedding.

    Parameters and fitted attributes are those of `DeepClusterer`. `inertia_` is the share of the
    embedding's scatter that is within clusters: K-means' inertia over that of a single cluster. A
    share, because the scale of an embedding is arbitrary and differs from run to run.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import AutoencoderKMeans
    >>> X = load_digits().images[:200]
    >>> model = AutoencoderKMeans(n_clusters=10, pretrain_epochs=2, random_state=0).fit(X)
    >>> model.transform(X).shape
    (200, 10)
    """

    def _cluster_phases(self) -> list[TrainingPhase]:
        return []

    def _finish_training(self, training: Training) -> float:
        inertia = place_centers(training, self.n_init)
        embedded = map_chunks(training.network.encode, training.images, training.device).double()
        scatter = float((embedded - embedded.mean(0)).square().sum())
        return inertia / scatter if scatter else 0.0

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        return squared_distances(embedded, self.network_.centers)
