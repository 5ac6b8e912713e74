"""The deep clustering models that the paper compares with, as scikit-learn estimators.

`AutoencoderKMeans`, `DEC` and `VaDE` need PyTorch, the extra ``dikmeans[deep]``. It is imported
when one of them is first used, and not before. The modules, from the bottom up::

    networks                        the paper's two architectures, as autoencoders
    losses                          every formula, as a function of tensors
    training                        phases and epochs of a training
    pretraining                     the autoencoder phase that all three begin with, and the choice
                                    of its learning rate
    refinement, elbo_training       the second phase of DEC, and of VaDE
    saved_model, training_file      a fitted model, and an unfinished training, as a file
    deep_clusterer                  what the three share as scikit-learn estimators
    autoencoder_kmeans, dec, vade   the three
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dikmeans.errors import MissingExtraError

if TYPE_CHECKING:
    from dikmeans.paper.baselines.autoencoder_kmeans import AutoencoderKMeans
    from dikmeans.paper.baselines.dec import DEC
    from dikmeans.paper.baselines.vade import VaDE

__all__ = ["DEC", "AutoencoderKMeans", "VaDE"]

_MODULES = {"AutoencoderKMeans": "autoencoder_kmeans", "DEC": "dec", "VaDE": "vade"}


def __getattr__(name: str) -> Any:
    """Import an estimator, and with it PyTorch, when its name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError("torch", "deep", f"{__name__}.{name}") from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
