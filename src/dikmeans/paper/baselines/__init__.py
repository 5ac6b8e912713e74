"""What the deformation-invariant clustering is compared with: deep clustering models.

`AutoencoderKMeans`, `DEC` and `VaDE` need PyTorch, the extra ``dikmeans[deep]``. It is imported when one
of them is first asked for, and not before. What lies where:

    networks        the paper's two architectures, as autoencoders
    losses          every formula, as a function of tensors
    training        phases, epochs, and how a killed training goes on
    pretraining     the autoencoder phase all three begin with; the choice of its learning rate
    refinement, elbo_training                 the second phase of DEC, and of VaDE
    estimator       what the three share as scikit-learn estimators
    autoencoder_kmeans, dec, vade             the three
    tensor_file, checkpoint, model_file       files
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
        if error.name != "torch":  # something else is broken: do not hide what
            raise
        raise ImportError(
            f"dikmeans.paper.baselines.{name} needs PyTorch, which is not installed. "
            "Install it with: pip install 'dikmeans[deep]'",
            name="torch",
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
