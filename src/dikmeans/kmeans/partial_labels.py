"""Partial labels: the classes of a few images, which stay together while all others are clustered.

Labels are used in three ways. Runs search as if there were none; then every class is given the
cluster that its images fit best (`PartialLabels.match`), and they stay in it. One more run is led
by the labels: it starts from the means of the classes, whose images never leave, and leaves the
swaps to clusters without a class. Of all runs the one with the lowest inertia is kept, to which the
labeled images contribute what they cost where they have to be. In the end labeled images become
prototypes of their clusters, beside those that clusters are divided into: what a single one shows
is often what tells two classes apart.
"""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from dikmeans._typing import ArrayLike, FloatArray, IntArray
from dikmeans.kmeans.guidance import Guidance

# Labeled images of a class that become prototypes, at most: each costs time in every alignment.
MAX_EXEMPLARS = 10


class PartialLabels(NamedTuple):
    """Classes of some images.

    Attributes
    ----------
    numbers : int array of shape (m,)
        The images; ascending.
    classes : int array of shape (m,)
        The class of each, from 0.
    names : tuple of str
        Of the classes.
    strength : float
        What an image pays for not being in the cluster of its class; infinity keeps it there.
    lead : bool
        Whether a run starts from them.
    """

    numbers: IntArray
    classes: IntArray
    names: tuple[str, ...]
    strength: float = np.inf
    lead: bool = False

    def class_means(self, images: FloatArray) -> FloatArray:
        """The mean image of each class."""
        return np.stack(
            [images[self.numbers[self.classes == c]].mean(axis=0) for c in range(len(self.names))]
        )

    def exemplars(self) -> IntArray:
        """Places, among the labeled images, of those that become prototypes: some of each class."""
        first = [np.flatnonzero(self.classes == c)[:MAX_EXEMPLARS] for c in range(len(self.names))]
        return np.concatenate(first)

    def within(self, numbers: IntArray) -> PartialLabels:
        """For the images `numbers` (ascending), counted anew; all that have labels are there."""
        return self._replace(numbers=np.searchsorted(numbers, self.numbers))

    def match(self, costs: FloatArray) -> IntArray:
        """The cluster of each class, all different, where its images cost least in total.

        Parameters
        ----------
        costs : array of shape (m, K)
            Of the images with labels.
        """
        totals = np.zeros((len(self.names), costs.shape[1]))
        np.add.at(totals, self.classes, costs)
        _, clusters = linear_sum_assignment(totals)
        return np.asarray(clusters)

    def guidance(self, clusters: IntArray, n_clusters: int) -> Guidance | None:
        """Surcharges that keep images in the clusters of their classes."""
        places = clusters[self.classes].tolist()
        pinned = dict(zip(self.numbers.tolist(), places, strict=True))
        return Guidance.build(n_clusters, pinned, strength=self.strength)


def parse_labels(
    y: ArrayLike | None, n_images: int, n_clusters: int, strength: float = np.inf
) -> PartialLabels | None:
    """The labels in `y`; None if there are none, or if no image is left without one.

    A class is unknown where `y` is -1, None, NaN or an empty text. As in scikit-learn, where
    clusterers ignore `y`, a `y` in which every class is known is no partial labeling.

    Examples
    --------
    >>> parse_labels(["cat", -1, "dog", None, "cat"], 5, 2).classes
    array([0, 1, 0])
    >>> parse_labels([1, 2, 1], 3, 2) is None
    True
    """
    if y is None:
        return None
    values = np.asarray(y, dtype=object)
    if values.ndim != 1:
        return None
    if len(values) != n_images:
        raise ValueError(f"y has {len(values)} labels for {n_images} images: one per image.")
    known = np.array([not _is_unknown(value) for value in values], dtype=bool)
    if known.all() or not known.any():
        return None
    texts = np.array([_name(value) for value in values[known]])
    names, classes = np.unique(texts, return_inverse=True)
    if len(names) > n_clusters:
        raise ValueError(
            f"y has {len(names)} classes, but n_clusters={n_clusters}: every class needs a cluster."
        )
    return PartialLabels(np.flatnonzero(known), classes, tuple(names.tolist()), strength)


def _is_unknown(value: object) -> bool:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return True
    if isinstance(value, str):  # a list of texts and numbers becomes an array of texts
        return value.strip() in ("", "-1")
    return isinstance(value, Real) and value == -1


def _name(value: object) -> str:
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)  # type: ignore[call-overload]
