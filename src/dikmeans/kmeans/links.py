"""Must-link and cannot-link: images that belong together, or apart, in whichever cluster.

Linked images are assigned jointly. Images that must be together form a group; what a cluster costs
a group is the sum over its images. Groups that must be apart get different clusters, such that the
total cost is least: by branch and bound, in each part of the groups that hangs together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dikmeans._typing import FloatArray, IntArray
from dikmeans.errors import DikmeansError

# Steps of the search in one part; what was found by then is kept.
MAX_STEPS = 100_000


class LinkError(DikmeansError, ValueError):
    """Links that cannot all hold.

    Attributes
    ----------
    images : tuple of int
        Those that the trouble is about.
    reason : str
    """

    def __init__(self, images: Iterable[int], reason: str):
        self.images, self.reason = tuple(sorted(images)), reason
        named = ", ".join(map(str, self.images[:6])) + (", ..." if len(self.images) > 6 else "")
        super().__init__(f"Images {named} {reason}.")


class Links(NamedTuple):
    """Groups of images that are together, and which groups are apart.

    Attributes
    ----------
    groups : tuple of tuples of int
        Images; every linked image is in one group, be it alone.
    apart : tuple of frozensets of int
        For every group, those that it must not share a cluster with.
    """

    groups: tuple[tuple[int, ...], ...]
    apart: tuple[frozenset[int], ...]

    @classmethod
    def build(
        cls, together: Iterable[tuple[int, int]], apart: Iterable[tuple[int, int]]
    ) -> Links | None:
        """From pairs of images; None if there are none.

        Raises
        ------
        LinkError
            Images are to be together, perhaps by way of others, and apart.

        Examples
        --------
        >>> Links.build([(1, 2), (2, 3)], [(3, 7)])
        Links(groups=((1, 2, 3), (7,)), apart=(frozenset({1}), frozenset({0})))
        """
        together, apart = list(together), list(apart)
        images = sorted({image for pair in (*together, *apart) for image in pair})
        if not images:
            return None
        place = {image: i for i, image in enumerate(images)}
        n_groups, group_of = _parts(len(images), [(place[a], place[b]) for a, b in together])
        others: list[set[int]] = [set() for _ in range(n_groups)]
        for a, b in apart:
            one, other = int(group_of[place[a]]), int(group_of[place[b]])
            if one == other:
                raise LinkError({a, b}, "are to be both together and apart")
            others[one].add(other)
            others[other].add(one)
        groups = [[images[i] for i in np.flatnonzero(group_of == g)] for g in range(n_groups)]
        return cls(tuple(map(tuple, groups)), tuple(map(frozenset, others)))

    @property
    def images(self) -> list[int]:
        """All linked images."""
        return [image for group in self.groups for image in group]

    def assign(self, costs: FloatArray) -> IntArray:
        """The cluster of each group, at the least total cost.

        Parameters
        ----------
        costs : array of shape (number of groups, K)
            Infinity where a group must not be.

        Raises
        ------
        LinkError
            There is no such assignment.
        """
        for group, row in zip(self.groups, costs, strict=True):
            if not np.isfinite(row).any():
                raise LinkError(group, "must be together, but no cluster may have all of them")
        pairs = [(g, other) for g, others in enumerate(self.apart) for other in others]
        n_parts, part_of = _parts(len(self.groups), pairs)
        clusters = np.empty(len(self.groups), dtype=np.int64)
        for part in range(n_parts):
            members = np.flatnonzero(part_of == part).tolist()
            found, is_complete = _cheapest(members, self.apart, costs)
            if found is None:
                images = [image for group in members for image in self.groups[group]]
                n_clusters = costs.shape[1]
                if is_complete:
                    raise LinkError(images, f"cannot be kept apart in {n_clusters} clusters")
                raise LinkError(
                    images,
                    f"have so many links that no way to keep them apart in {n_clusters} clusters "
                    f"was found in {MAX_STEPS:,} steps; link fewer of them",
                )
            clusters[members] = found
        return clusters


def _parts(n: int, pairs: list[tuple[int, int]]) -> tuple[int, IntArray]:
    """How many parts n things fall into that pairs connect, and the part of each, in order."""
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    n_parts, part_of = connected_components(graph, directed=False)
    return int(n_parts), part_of


def _cheapest(
    groups: list[int], apart: tuple[frozenset[int], ...], costs: FloatArray
) -> tuple[list[int] | None, bool]:
    """The cluster of each group, None if none was found; and whether all ways have been tried.

    Those with most conflicts go first.
    """
    order = sorted(groups, key=lambda group: -len(apart[group]))
    ranked = [[int(k) for k in np.argsort(costs[g]) if np.isfinite(costs[g, k])] for g in order]
    least = np.array([costs[g].min() for g in order])
    rest = np.append(np.cumsum(least[::-1])[::-1], 0.0)  # of the groups from each one on
    place = dict.fromkeys(order, -1)
    tried, totals = [-1] * len(order), [0.0] * (len(order) + 1)
    best, best_total, depth = None, np.inf, 0
    for _ in range(MAX_STEPS):
        if depth < 0:
            break
        group = order[depth]
        place[group] = -1
        tried[depth] += 1
        is_over = tried[depth] == len(ranked[depth])
        cluster = -1 if is_over else ranked[depth][tried[depth]]
        total = totals[depth] if is_over else totals[depth] + float(costs[group, cluster])
        if is_over or total + rest[depth + 1] >= best_total:  # later ones cost more still
            tried[depth], depth = -1, depth - 1
            continue
        if any(place[other] == cluster for other in apart[group]):
            continue
        place[group], totals[depth + 1] = cluster, total
        if depth + 1 < len(order):
            depth += 1
        else:
            best, best_total = dict(place), total
    return None if best is None else [best[group] for group in groups], depth < 0
