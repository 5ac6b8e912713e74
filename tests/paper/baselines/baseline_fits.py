"""The baselines with settings that make a fit a matter of a second."""

from __future__ import annotations

from typing import Any

from dikmeans.paper.baselines import DEC, AutoencoderKMeans, VaDE

BASELINES = (AutoencoderKMeans, DEC, VaDE)
ARCHITECTURES = ("mlp", "conv")
_SHORT: dict[type, dict[str, Any]] = {
    AutoencoderKMeans: {},
    DEC: {"max_updates": 2, "update_interval": 2, "tol": 0.0},
    VaDE: {"epochs": 2, "n_init": 1, "cluster_learning_rate": 5e-4},
}


def small(baseline: type, **parameters: Any) -> Any:
    """A baseline that trains for a few epochs, reproducibly."""
    short = {
        "n_clusters": 3,
        "pretrain_epochs": 2,
        "batch_size": 32,
        "random_state": 0,
        "n_threads": 1,
        "device": "cpu",
    }
    return baseline(**{**short, **_SHORT[baseline], **parameters})
