"""What a model was told, what it chose by itself, and why: the words of the overview."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from dikmeans.registration.warps import ThinPlate


@dataclass(frozen=True)
class Choice:
    """One line: a setting, its value, who chose it ("automatic", "default" or "given"), and the reason."""

    name: str
    value: str
    origin: str
    reason: str


def explain_choices(model: Any, n_pictures: int) -> list[Choice]:
    """The settings of a fitted model, the telling ones first."""
    plan = model._plan()
    warped = model.warp != "none"
    choices = [
        Choice(
            "Clusters", str(model.n_clusters), _origin(model, "n_clusters"), "How many to look for."
        )
    ]
    choices.append(
        Choice(
            "Blind to", *_BLIND_TO[model.warp][:1], _origin(model, "warp"), _BLIND_TO[model.warp][1]
        )
    )
    family = plan.measure(model.warp, 1.0).warp
    if isinstance(family, ThinPlate):
        rows, columns = family.landmarks
        choices.append(
            Choice(
                "Landmarks",
                f"{rows} by {columns}",
                _origin(model, "landmarks"),
                "Points that steer the warp: enough to bend a stroke, too few to move single pixels.",
            )
        )
    if warped:
        choices += [
            Choice(
                "Smoothness",
                f"{model.smoothness:g}",
                _origin(model, "smoothness"),
                "The price of bending. Without it a warp could turn anything into anything.",
            ),
            Choice(
                "Warped",
                *_WARPED[model.direction][:1],
                _origin(model, "direction"),
                _WARPED[model.direction][1],
            ),
        ]
    if plan.forms.most > 1:
        forms = np.bincount(model.prototype_clusters_)
        choices.append(
            Choice(
                "Forms",
                f"{forms.min()} a cluster"
                if forms.min() == forms.max()
                else f"{forms.min()} to {forms.max()} a cluster",
                _origin(model, "n_prototypes"),
                "Pictures a cluster has, where its members differ by more than a bend.",
            )
        )
    choices.append(
        Choice(
            "Compared",
            *_COMPARED[model.normalize_][:1],
            _origin(model, "normalize"),
            _COMPARED[model.normalize_][1],
        )
    )
    choices += _search_choices(model, plan, n_pictures)
    return choices


def _search_choices(model: Any, plan: Any, n_pictures: int) -> list[Choice]:
    """How the centroids were looked for."""
    choices = [
        Choice(
            "Runs",
            str(model.n_init),
            _origin(model, "n_init"),
            "Of several runs the one with the lowest distortion is kept; labels are never looked at.",
        )
    ]
    if plan.n_swaps:
        choices.append(
            Choice(
                "Swap trials",
                f"up to {plan.n_swaps}",
                _origin(model, "n_swaps"),
                "A centroid that is hardly missed is tried elsewhere; kept if the distortion falls.",
            )
        )
    sample = min(plan.search_size, n_pictures)
    choices.append(
        Choice(
            "Searched on",
            "all pictures" if sample == n_pictures else f"{sample:,} pictures",
            _origin(model, "search_size"),
            "The set is small enough to search as a whole."
            if sample == n_pictures
            else "A sample finds the shapes; all pictures then refine the centroids.",
        )
    )
    choices.append(
        Choice(
            "Stopped",
            f"after {model.n_iter_} iterations",
            "automatic",
            f"{_sentence(model.history_.stopped)}",
        )
    )
    return choices


_BLIND_TO = {
    "tps": (
        "deformation",
        "Pictures are compared after the best smooth bend of one onto the other.",
    ),
    "affine": (
        "affine maps",
        "Pictures are compared after the best shift, turn, stretch and slant.",
    ),
    "none": ("nothing", "Plain K-means: pictures are compared pixel by pixel."),
}
_COMPARED = {
    None: ("pictures as they are", "Brightness counts."),
    "unit": (
        "at equal energy",
        "Brightness does not count: every picture is scaled to unit energy first.",
    ),
    "strokes": (
        "stroke by stroke",
        "Every neighbourhood has the same energy, so that a dot counts beside a line; brightness does not.",
    ),
    "scales": (
        "scale by scale",
        "What is fine counts beside what is large and bright: edges and gaps beside the whole.",
    ),
    "subject": (
        "in the middle",
        "Edges and features of the subject count, wherever it is; light, background and brightness do not.",
    ),
}
_WARPED = {
    "centroid-to-image": (
        "the centroid",
        "It is bent onto each picture, so no picture can hide what does not fit.",
    ),
    "image-to-centroid": (
        "the picture",
        "Each picture is bent onto the centroid, as in the paper.",
    ),
}


def _origin(model: Any, name: str) -> str:
    """Who chose a parameter."""
    value = getattr(model, name)
    if isinstance(value, str) and value == "auto":
        return "automatic"
    default = inspect.signature(type(model)).parameters[name].default
    return "default" if isinstance(value, type(default)) and value == default else "given"


def _sentence(text: str) -> str:
    return (
        f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else "The model file does not say why."
    )
