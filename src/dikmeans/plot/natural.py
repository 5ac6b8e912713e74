"""Prototypes and pictures as people know them, for figures: made from originals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array, ArrayLike, FloatArray
from dikmeans.kmeans.shard import Assignment

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans, Originals


def prototype_pictures(
    model: DIKMeans, X: ArrayLike | None, originals: Originals | None
) -> FloatArray:
    """The prototypes: means of originals if there are images, else as they are compared."""
    if X is None:
        if originals is not None:
            raise ValueError("originals are given, but not the images X that they belong to.")
        return model.prototypes_
    means = model.average_originals(np.asarray(X), originals).mean
    return np.where(np.isnan(means), 0, means)  # a prototype without members is black


def centroid_pictures(
    model: DIKMeans, X: ArrayLike | None, originals: Originals | None
) -> FloatArray:
    """The first prototype of each cluster, as `prototype_pictures` shows it."""
    _, first = np.unique(model.prototype_clusters_, return_index=True)
    return prototype_pictures(model, X, originals)[first]


def carried_original(
    model: DIKMeans, image: Array, original: Array, assignment: Assignment
) -> FloatArray:
    """The original of one image, with its assignment, in the frame of its prototype."""
    averages = model.average_originals(image[None], [original], assignment=assignment)
    return averages.typical[int(assignment.prototypes[0])]
