"""The images of a fit, wherever they are: a sample is drawn from them, and a measure applied to all.

A population also knows how to keep a clustering of its images in files, and how to read it again: where the
images are, there is what belongs to each of them (see `dikmeans.checkpoint.store`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from dikmeans.kmeans.costs import Summary, evaluate
from dikmeans.outofcore.fits_file import read_fits, write_fits
from dikmeans.kmeans.task import Clustering, Task


@dataclass(frozen=True)
class Population(AbstractContextManager):
    """Images in memory.

    Attributes
    ----------
    images : array of shape (N, C, rows, columns)
        Normalised.
    weights : array of shape (N,)
    """

    images: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def __exit__(self, *_: object) -> None:
        """Nothing was taken for them."""

    @property
    def dtype(self) -> Any:
        """Type of the pixels."""
        return self.images.dtype

    def evaluate(
        self,
        measure: Any,
        centroids: np.ndarray,
        *,
        prune: float,
        summarise: Summary,
        n_jobs: int | None,
    ) -> np.ndarray:
        """What `summarise` makes of the costs of all images to all centroids."""
        return evaluate(self.images, measure, centroids, prune, summarise, n_jobs)

    def in_memory(self) -> Population:
        """Here they are."""
        return self

    def draw(self, size: int, rng: np.random.RandomState) -> Population:
        """At most `size` of the images that have a weight, in their order; all if there are no more."""
        if len(self) <= size:
            return self
        chosen = draw_indices(self.weights, len(self), size, rng)
        return Population(self.images[chosen], self.weights[chosen])

    def under(self, measure: Any, *, unit_norm: bool, n_jobs: int | None) -> Task:
        """The images to be clustered under a measure."""
        return Task(self.images.astype(measure.dtype, copy=False), self.weights, measure, unit_norm, n_jobs)

    def fingerprint(self) -> dict[str, Any]:
        """What tells these images from others, as JSON knows it."""
        return {
            "shape": list(self.images.shape),
            "dtype": self.dtype.name,
            "pixels": digest(self.images),
            "weights": digest(self.weights),
        }

    def write_state(self, clustering: Clustering, folder: Path, number: int) -> list[str]:
        """Keep what a clustering knows of the images, in files of `folder`; their names.

        Parameters
        ----------
        clustering : Clustering
            Of these images.
        folder : pathlib.Path
        number : int
            Part of the names, so that they do not replace files of other numbers.
        """
        name = f"state-{number:06d}.safetensors"
        write_fits(folder / name, clustering.fits)
        return [name]

    def read_state(self, folder: Path, names: Sequence[str], centroids: np.ndarray) -> Clustering:
        """The clustering that `write_state` has kept.

        Parameters
        ----------
        folder : pathlib.Path
        names : sequence of str
            What `write_state` gave.
        centroids : array of shape (K, C, rows, columns)

        Raises
        ------
        TensorFileError
            A file is damaged, or does not belong to these images.
        OSError
            It cannot be read, or is not there.
        """
        (name,) = names
        fits = read_fits(folder / name, (len(self), len(centroids)))
        return Clustering(centroids, fits, self.weights)


def digest(array: np.ndarray) -> str:
    """A fingerprint of every bit of an array; its shape and type do not enter."""
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(content.data, digest_size=16).hexdigest()


def draw_indices(weights: np.ndarray | None, n: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Numbers of `size` images with a weight, or all of them, in ascending order; without weights, of `n`."""
    heavy = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    n = n if heavy is None else len(heavy)
    chosen = np.sort(sample_without_replacement(n, min(size, n), random_state=rng))
    return chosen if heavy is None else heavy[chosen]
