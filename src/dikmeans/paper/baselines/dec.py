"""`DEC`: deep embedded clustering (Xie, Girshick and Farhadi, 2016)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from dikmeans.paper.baselines.deep_clusterer import DeepClusterer
from dikmeans.paper.baselines.losses import (
    assignment_divergence,
    squared_distances,
    target_distribution,
)
from dikmeans.paper.baselines.refinement import Refinement
from dikmeans.paper.baselines.training import Training, TrainingPhase
from dikmeans.parameters import Constraint, Number, OneOf, Whole


@dataclass(eq=False, repr=False, kw_only=True)
class DEC(DeepClusterer):
    """Deep embedded clustering: an autoencoder's embedding, refined by confident assignments.

    After the pre-training and K-means of `AutoencoderKMeans`, encoder and centers are trained to
    bring soft assignments nearer to a sharpened version of themselves, computed on the whole set
    every `update_interval` batches; `dikmeans.paper.baselines.losses` has the formulas.

    Parameters
    ----------
    cluster_learning_rate : float, default=1e-4
        Of the refinement. There is no "auto": its objective falls faster when clusters collapse, so
        it cannot choose.
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel.
    update_interval : int or "auto", default="auto"
        Batches between two updates of the target distribution. "auto": half a pass through the
        images, which is what the authors' 140 batches of 256 are on MNIST, but at least 140.
    max_updates : int, default=150
        Updates, at most.
    tol : float, default=1e-3
        Stop when the share of labels that change between two updates is lower.
    **others
        As in `DeepClusterer`. `max_steps` limits both phases.

    Notes
    -----
    Fitted attributes are those of `DeepClusterer`. `inertia_` is KL(P || Q) in nats, averaged over
    the images. It says how undecided the assignments are. Merged clusters are decided too, so
    compare it between runs of the same settings only. In the refinement, one epoch of `history_` is
    one update.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans.paper.baselines import DEC
    >>> X = load_digits().images[:200]
    >>> short = {"pretrain_epochs": 2, "update_interval": 4, "max_updates": 2}
    >>> model = DEC(n_clusters=10, random_state=0, **short).fit(X)
    >>> [epoch.phase for epoch in model.history_]
    ['pre-training', 'pre-training', 'refinement', 'refinement']
    """

    cluster_learning_rate: float = 1e-4
    alpha: float = 1.0
    update_interval: int | str = "auto"
    max_updates: int = 150
    tol: float = 1e-3

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        **DeepClusterer.constraints,
        "cluster_learning_rate": [Number(0, with_low=False)],
        "alpha": [Number(0, with_low=False)],
        "update_interval": [OneOf(("auto",)), Whole(1)],
        "max_updates": [Whole(1)],
        "tol": [Number(0)],
    }

    _cluster_parameters = DeepClusterer._cluster_parameters | {
        *("cluster_learning_rate", "alpha", "update_interval", "max_updates", "tol")
    }

    def _refinement(self) -> Refinement:
        return Refinement(
            learning_rate=self.cluster_learning_rate,
            max_epochs=self.max_updates,
            alpha=self.alpha,
            update_interval=None if self.update_interval == "auto" else int(self.update_interval),
            tol=self.tol,
            n_init=self.n_init,
        )

    def _cluster_phases(self) -> list[TrainingPhase]:
        return [self._refinement()]

    def _finish_training(self, training: Training) -> float:
        q = self._refinement().soft_assignment(training)
        return float(assignment_divergence(target_distribution(q), q.log()).mean())

    def _cluster_costs(self, embedded: torch.Tensor) -> torch.Tensor:
        return squared_distances(embedded, self.network_.centers)
