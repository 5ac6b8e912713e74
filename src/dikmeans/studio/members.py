"""Pages of pictures: the members of a cluster, outliers, doubtful ones, all; sorted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dikmeans._typing import JSON, FloatArray, IntArray
from dikmeans.studio.session import Session, View

MAX_PAGE = 500
# A decision is close if the next-best cluster costs less than so much more; as in the report.
CLOSE = 0.25
OUTLIERS, ALL = "outliers", "all"


def _margins(session: Session) -> FloatArray:
    """Shares of the cost by which the second-best cluster is worse; unknown ones come last."""
    assignment = session.model.assignment_
    shares = assignment.margins / np.maximum(assignment.costs, 1e-12)
    return np.where(np.isnan(shares), np.inf, shares)


SORTS: dict[str, Callable[[Session], FloatArray]] = {
    "best": lambda session: session.model.assignment_.costs,
    "worst": lambda session: -session.model.assignment_.costs,
    "doubtful": _margins,
    "file": lambda session: np.arange(len(session.images), dtype=float),
}
"""What pictures are sorted by, the lowest first."""


def numbers_in(view: View, group: str) -> IntArray:
    """Numbers of the pictures in a cluster (by identity), of the outliers, or of all."""
    if group == ALL:
        return np.arange(len(view.state.labels))
    if group == OUTLIERS:
        return np.flatnonzero(view.state.labels < 0)
    return view.state.members_of(group)


def ordered(session: Session, numbers: IntArray, sort: str) -> IntArray:
    """Pictures in that order; those that are equal stay as they are."""
    return numbers[np.argsort(SORTS[sort](session)[numbers], kind="stable")]


def doubtful(session: Session, view: View) -> IntArray:
    """Pictures that nobody has decided on yet, the closest decisions first."""
    free = np.flatnonzero(~view.state.decided & (view.state.labels >= 0))
    margins = _margins(session)
    order = free[np.argsort(margins[free], kind="stable")]
    return order[margins[order] < CLOSE]


def page_json(session: Session, view: View, numbers: IntArray) -> list[JSON]:
    """What is known about pictures."""
    assignment, state = session.model.assignment_, view.state
    energy, names = session.energy, session.images.names
    return [
        {
            "number": number,
            "file": names[number].encode("utf-8", "replace").decode(),
            "cluster": state.clusters[place].id
            if (place := int(state.labels[number])) >= 0
            else None,
            "decided": bool(state.decided[number]),
            "cost": float(assignment.costs[number] / energy),
            "margin": _finite(float(assignment.margins[number] / energy)),
            "label": _label(session, number),
        }
        for number in numbers.tolist()
    ]


def choices_json(session: Session, view: View, number: int, n_choices: int = 3) -> list[JSON]:
    """The clusters that suit a picture best, the cheapest first, with the costs."""
    costs = costs_to_clusters(session, view, session.images.images[number : number + 1])[0]
    order = np.argsort(costs, kind="stable")[:n_choices]
    return [
        {"cluster": view.state.clusters[place].id, "cost": float(costs[place] / session.energy)}
        for place in order.tolist()
        if np.isfinite(costs[place])
    ]


def costs_to_clusters(session: Session, view: View, images: FloatArray) -> FloatArray:
    """Costs of images to the clusters as they are edited; infinite for those of chosen pictures.

    A cluster of the model that was split counts for each of its parts.
    """
    model_costs = session.model.transform(images)
    owners = session.owners(view)
    costs = np.full((len(images), len(view.state.clusters)), np.inf)
    for prototype, place in enumerate(owners.tolist()):
        if place >= 0:
            k = int(session.model.prototype_clusters_[prototype])
            costs[:, place] = np.minimum(costs[:, place], model_costs[:, k])
    return costs


def _label(session: Session, number: int) -> str | None:
    labels = session.images.labels
    return None if labels is None else str(session.images.class_names[int(labels[number])])


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
