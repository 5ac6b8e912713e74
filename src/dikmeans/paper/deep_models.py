"""The deep rows of the table: names and titles are known without PyTorch, which only a run imports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dikmeans.paper.models import Model, register

ARCHITECTURES = {"mlp": "MLP", "conv": "Conv"}


@dataclass(frozen=True)
class DeepModel(Model):
    """A model for which the length of its training is part of what it is.

    Attributes
    ----------
    rival : str
        Name of an estimator in `dikmeans.paper.baselines`.
    architecture : {"mlp", "conv"}
    """

    rival: str = ""
    architecture: str = ""

    def limited_to(self, steps: int) -> Model:
        """The same, trained for at most so many batches a phase."""
        return replace(
            self,
            make=partial(_make, self.rival, self.architecture, max_steps=steps),
            note=_note(
                f"{steps:,} steps (batches of 64 images) in each phase, DEC less if its labels settle"
            ),
        )


def _note(length: str) -> str:
    return (
        f"Deep models were trained from scratch for {length}; the phases are the pre-training and, of DEC "
        "and VaDE, the clustering."
    )


def _make(rival: str, architecture: str, n_clusters: int, seed: int, **settings: Any) -> Any:
    from dikmeans import rivals

    return getattr(rivals, rival)(n_clusters, architecture=architecture, random_state=seed, **settings)


def _register(name: str, title: str, rival: str, paper_row: str) -> None:
    """Register both architectures of a rival."""
    for architecture, word in ARCHITECTURES.items():
        register(
            DeepModel(
                name=f"{name}-{architecture}",
                title=f"{title} ({word})",
                make=partial(_make, rival, architecture),
                paper_row=paper_row.format(word),
                library="torch",
                extra="deep",
                rival=rival,
                architecture=architecture,
                note=_note(
                    "at most 100 epochs (DEC: 150 updates) in each phase, less where nothing improved"
                ),
            )
        )


_register("ae-k-means", "AE + K-means", "AutoencoderKMeans", "AE + K-means")  # the paper has one such row
_register("dec", "DEC", "DEC", "DEC ({})")
_register("vade", "VaDE", "VaDE", "VaDE ({})")
