"""What is like something: clusters that might be merged, and pictures like a given one."""

from __future__ import annotations

import numpy as np

from dikmeans._typing import JSON, IntArray
from dikmeans.registration.batches import align_images
from dikmeans.report.likeness import Likeness, Pair
from dikmeans.studio.session import Session, View

# So many pictures are compared with a given one under deformation; the rest by cheaper means.
SHORTLIST = 400
FOUND = 60


def merge_candidates(session: Session, view: View, identity: str) -> list[JSON]:
    """The other clusters, the most alike first, with the cost of deforming one into the other.

    A cluster of chosen pictures has no prototypes yet, so nothing is known about it: it comes last.
    """
    state, former = view.state, session.model.prototype_clusters_
    own = {int(former[p]) for p in state.clusters[state.place_of(identity)].prototypes}
    candidates = []
    for other in state.clusters:
        if other.id != identity:
            theirs = {int(former[p]) for p in other.prototypes}
            candidates.append({"cluster": other.id, **_nearest(session, own, theirs)})
    return sorted(candidates, key=lambda one: np.inf if one["cost"] is None else one["cost"])


def _nearest(session: Session, own: set[int], theirs: set[int]) -> JSON:
    """The cost between the nearest of some clusters of the model, and which they are."""
    likeness: Likeness | None = session.likeness
    if own & theirs:  # parts of one cluster of the model
        return {"cost": 0.0, "pair": None}
    if likeness is None or not own or not theirs:
        return {"cost": None, "pair": None}
    cost, a, b = min((float(likeness.costs[a, b]), a, b) for a in own for b in theirs)
    return {"cost": cost, "pair": [a, b] if find_pair(session, a, b) else None}


def find_pair(session: Session, a: int, b: int) -> Pair | None:
    """How one cluster of the model is deformed into another; None if they are far apart."""
    clusters = session.model.prototype_clusters_
    for pair in () if session.likeness is None else session.likeness.pairs:
        if {int(clusters[pair.target]), int(clusters[pair.warped])} == {a, b}:
            return pair
    return None


def similar_pictures(session: Session, number: int) -> list[JSON]:
    """Pictures like a given one, the most alike first.

    The picture takes the place of a centroid, and others are compared with it as pictures are with
    centroids. That would take long for a large collection, so only a shortlist is compared so.
    """
    shortlist = _shortlist(session, number)
    measure = session.model.measure_.build(session.model.compared_shape_)
    compared = session.preprocessed
    target = compared[number : number + 1].astype(measure.dtype)
    pictures = compared[shortlist].astype(measure.dtype)
    fits = align_images(measure, pictures, measure.bank(target), n_jobs=session.model.n_jobs)
    costs = fits.costs[:, 0]
    order = np.argsort(costs, kind="stable")[:FOUND]
    return [{"number": int(shortlist[i]), "cost": float(costs[i] / session.energy)} for i in order]


def _shortlist(session: Session, number: int) -> IntArray:
    """Pictures worth a closer look: near in pixels, blurred so that small moves do not count."""
    n = len(session.images)
    if n <= SHORTLIST + 1:
        return np.setdiff1d(np.arange(n), [number])
    table = session.blurred
    distances = np.square(table - table[number]).sum(axis=1)
    same = session.model.assignment_.prototypes == session.model.assignment_.prototypes[number]
    # members of the same prototype are alike under deformation, however far in pixels
    distances[same] *= 0.5
    distances[number] = np.inf
    return np.sort(np.argsort(distances, kind="stable")[:SHORTLIST])
