"""Forms: the several pictures that one cluster may have.

Some sevens are crossed and some fours are open: no bending makes one of the other, and the mean of both is
neither. When all else is done, each cluster is divided into forms by the same algorithm, on its members alone
(on those in the sample of the search: they are enough). An image then belongs to the cluster of its cheapest
form. There are as many clusters as were asked for, and they are what they were found to be, but their borders
are drawn more finely.

Lloyd's algorithm does not go on with the forms of all clusters: it would see no clusters any more, only
forms, and a form may wander over to the members of another cluster.

All forms of a cluster share its stiffness: what deformation is usual was learned from all of its members.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.kmeans.seeding import measure_plus_plus
from dikmeans.kmeans.task import Task
from dikmeans.images import scale_to_unit_norm

# Iterations, and the fall of the distortion that ends them, of the division of one cluster.
DIVIDE_ITERATIONS, DIVIDE_TOL = 20, 1e-3


class PrototypeRule(NamedTuple):
    """How many forms a cluster gets: as many as it has members for.

    Attributes
    ----------
    most : int
        At most so many.
    members : int
        A form needs so many members at least.

    Examples
    --------
    >>> rule = PrototypeRule(most=4, members=25)
    >>> [rule.number_for(size) for size in (0, 49, 50, 90, 1000)]
    [1, 1, 2, 3, 4]
    """

    most: int
    members: int

    def number_for(self, size: int) -> int:
        """Forms of a cluster with so many members."""
        return max(1, min(self.most, size // self.members))


AUTO_FORMS = PrototypeRule(most=4, members=25)
ONE_FORM = PrototypeRule(most=1, members=1)
# Whoever asks for a number of forms gets it, where a cluster has this many members a form.
MEMBERS_IF_ASKED = 5


def prototype_rule(n_prototypes: int | str, warp: str) -> PrototypeRule:
    """The rule for the parameter `n_prototypes`; plain K-means has one form a cluster unless told otherwise."""
    if n_prototypes == "auto":
        return ONE_FORM if warp == "none" else AUTO_FORMS
    return ONE_FORM if n_prototypes == 1 else PrototypeRule(int(n_prototypes), MEMBERS_IF_ASKED)


class Forms(NamedTuple):
    """The forms of all clusters, cluster by cluster.

    Attributes
    ----------
    pictures : array of shape (M, C, rows, columns)
    clusters : int array of shape (M,)
        The cluster of each; ascending.
    """

    pictures: np.ndarray
    clusters: np.ndarray


def one_form_each(centroids: np.ndarray) -> Forms:
    """Clusters that are not divided."""
    return Forms(centroids, np.arange(len(centroids)))


def divide_clusters(
    task: Task,
    centroids: np.ndarray,
    rule: PrototypeRule,
    aligner_of: Callable[[np.ndarray], Any],
    max_iter: int,
    rng: np.random.RandomState,
) -> Forms:
    """Divide each cluster into forms; those with more members come first, those without any are left out.

    Parameters
    ----------
    task : Task
        The images to learn from, under the measure that has been found.
    centroids : array of shape (K, C, rows, columns)
    rule : PrototypeRule
    aligner_of : callable
        Gives the measure for centroids of given clusters.
    max_iter : int
        Iterations of each division, at most; never more than `DIVIDE_ITERATIONS`.
    rng : RandomState
        Draws the seeds.
    """
    pictures: list[np.ndarray] = []
    labels = task.judge(centroids).labels
    for cluster, centroid in enumerate(centroids):
        members = np.flatnonzero((labels == cluster) & (task.weights > 0))
        n_prototypes = rule.number_for(len(members))
        if n_prototypes == 1:
            pictures.append(centroid[None])
            continue
        part = replace(
            task,
            images=task.images[members],
            weights=task.weights[members],
            measure=aligner_of(np.full(n_prototypes, cluster)),
        )
        seeds = part.images[measure_plus_plus(part, n_prototypes, rng)]
        start = part.assign(scale_to_unit_norm(seeds) if part.unit_norm else seeds)
        divided, _ = lloyd(part, start, max_iter=min(DIVIDE_ITERATIONS, max_iter), tol=DIVIDE_TOL)
        order = np.argsort(-divided.sizes, kind="stable")
        pictures.append(to_mean_pose(part, divided)[order[divided.sizes[order] > 0]])
    clusters = np.repeat(np.arange(len(pictures)), [len(forms) for forms in pictures])
    return Forms(np.concatenate(pictures), clusters)
