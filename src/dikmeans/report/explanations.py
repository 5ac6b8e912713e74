"""The settings and phases of a fit in plain words, for the overview."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dikmeans.kmeans.schedule import Phase, PhaseKind, Search
from dikmeans.preprocessing.chain import step_names
from dikmeans.registration.warps import ThinPlate, Warp

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans

INVARIANCES = {
    "tps": (
        "deformation",
        "Pictures are compared after the best smooth warp of one onto the other.",
    ),
    "affine": (
        "affine maps",
        "Pictures are compared after the best shift, rotation, scaling and shear.",
    ),
    "none": ("nothing", "This is K-means: pictures are compared pixel by pixel."),
}
DIRECTIONS = {
    "centroid-to-image": (
        "the centroid",
        "It is warped onto each picture, so no picture can hide the parts that do not fit.",
    ),
    "image-to-centroid": (
        "the picture",
        "Each picture is warped onto the centroid, as in the paper.",
    ),
}
PHASES = {
    PhaseKind.SEARCH: "search",
    PhaseKind.SHARED_PRIOR: "typical deformations become cheaper, alike in all clusters",
    PhaseKind.SWAPS: "centroids are tried in other places",
    PhaseKind.RELEARNING: "typical deformations of each cluster are learned",
    PhaseKind.ALL_IMAGES: "all pictures",
}
WARM_UPS = {"none": "K-means", "affine": "affine maps", "tps": "a stiff warp"}


class Setting(NamedTuple):
    """One line: a setting, its value, who chose it, and what it means.

    `origin` is "automatic", "default" or "given".
    """

    name: str
    value: str
    origin: str
    reason: str


def explain_settings(model: DIKMeans, warp: Warp) -> list[Setting]:
    """The settings of a fitted model whose warps are of the family `warp`."""
    n_images = len(model.labels_)
    schedule = model.schedule_for(n_images, model.image_shape_)

    def setting(name: str, value: str, parameter: str, meaning: str) -> Setting:
        choice = model.choices_.get(parameter)
        reason = meaning if choice is None else f"{meaning} {_sentence(choice.reason)}"
        return Setting(name, value, _origin(model, parameter), reason)

    invariance, meaning = INVARIANCES[model.warp]
    settings = [
        setting("Clusters", f"{model.n_clusters}", "n_clusters", "How many to look for."),
        setting("Invariant to", invariance, "warp", meaning),
    ]
    if isinstance(warp, ThinPlate):
        rows, columns = warp.landmarks
        meaning = "Points that control the warp."
        settings.append(setting("Landmarks", f"{rows} by {columns}", "landmarks", meaning))
    if model.warp != "none":
        meaning = "The cost of bending. Without it a warp could turn anything into anything."
        settings.append(setting("Smoothness", f"{model.smoothness:g}", "smoothness", meaning))
        warped, meaning = DIRECTIONS[model.direction]
        settings.append(setting("Warped", warped, "direction", meaning))
    if schedule.prototypes.most > 1:
        counts = np.bincount(model.prototype_clusters_)
        low, high = counts.min(), counts.max()
        value = f"{low} per cluster" if low == high else f"{low} to {high} per cluster"
        meaning = "A cluster has several if its members differ by more than a deformation."
        settings.append(setting("Prototypes", value, "n_prototypes", meaning))
    preprocessing = model.preprocessing_
    name = ", then ".join(step_names(preprocessing))
    settings.append(setting("Preprocessing", name, "preprocessing", str(preprocessing)))
    meaning = "The run with the lowest inertia is kept; labels are never used."
    settings.append(setting("Runs", f"{model.n_runs_for(n_images)}", "n_init", meaning))
    swaps = schedule.phase(PhaseKind.SWAPS)
    if swaps is not None:
        value = f"up to {swaps.max_trials}"
        meaning = "A centroid is tried in another place, and stays there if the inertia falls."
        settings.append(setting("Swap trials", value, "search__n_swaps", meaning))
    if schedule.sample_size < n_images:
        value = f"{schedule.sample_size:,} pictures"
        meaning = "The shapes are found in a sample; then all pictures refine the centroids."
        settings.append(setting("Search on", value, "search__sample_size", meaning))
    stopped = _sentence(model.history_.stopped) or "The reason was not recorded."
    value = f"after {model.n_iter_} iterations on all pictures"
    settings.append(Setting("Stopped", value, "automatic", stopped))
    return settings


def explain_phase(phase: Phase) -> str:
    """What a phase of a fit does, in a few words.

    Examples
    --------
    >>> explain_phase(Phase(PhaseKind.WARM_UP, "affine"))
    'warm-up: affine maps'
    """
    if phase.kind is PhaseKind.WARM_UP:
        return f"{phase.kind.value}: {WARM_UPS[phase.warp]}"
    return PHASES.get(phase.kind, phase.name)


def _origin(model: DIKMeans, parameter: str) -> str:
    """Who chose a parameter; those of the search have scikit-learn's nested names."""
    if parameter in model.choices_:
        return "automatic"
    if parameter == "n_clusters":  # nobody can choose it but the user, also where it is 8
        return "given"
    owner: object = model
    if parameter.startswith("search__"):
        owner, parameter = model.search or Search(), parameter.removeprefix("search__")
    value = getattr(owner, parameter)
    default = inspect.signature(type(owner)).parameters[parameter].default
    return "default" if isinstance(value, type(default)) and value == default else "given"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
