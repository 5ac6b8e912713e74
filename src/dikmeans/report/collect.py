"""Everything a report computes: fits, candidates, K-means to compare with, maps, agreement with labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dikmeans.datasets import ImageSet
from dikmeans.evaluation.metrics import Confusion, confusion, scores
from dikmeans.registration.api import align_to_own
from dikmeans.registration.result import Alignments
from dikmeans.registration.warped_measure import energies_of
from dikmeans.report.baseline import Baseline, fit_baseline
from dikmeans.report.choices import Choice, explain_choices
from dikmeans.report.maps import PictureMap, embed
from dikmeans.report.sample import choose_shown

# How many centroids a picture is shown against.
N_CANDIDATES = 3

Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Agreement:
    """How clusters and given classes agree, counted over all pictures."""

    confusion: Confusion
    scores: dict[str, float]
    baseline_scores: dict[str, float] | None


@dataclass(frozen=True)
class Findings:
    """All that is known about a clustering before anything is drawn.

    Attributes
    ----------
    model : DIKMeans
    labels : int array of shape (N,)
        Clusters of all pictures.
    form_sizes : int array of shape (M,)
        Pictures of each form.
    own_cost, own_bending, energies : arrays of shape (N,)
        Cost of each picture to its own form, the part of it that is bending, and the picture's energy.
    shown : int array of shape (n,)
        Which pictures the page shows.
    costs : array of shape (n, K)
        Costs of those to all clusters, every pair refined to the end.
    candidates : list of Alignments
        Those pictures with their own cluster, with the next best, and so on.
    baseline : Baseline or None
        K-means; None if the model is K-means itself.
    maps : list of PictureMap
    map_note : str
        Why maps are missing, if some are.
    agreement : Agreement or None
        None without labels.
    choices : list of Choice
    """

    model: Any
    labels: np.ndarray
    form_sizes: np.ndarray
    own_cost: np.ndarray
    own_bending: np.ndarray
    energies: np.ndarray
    shown: np.ndarray
    costs: np.ndarray
    candidates: list[Alignments]
    baseline: Baseline | None
    maps: list[PictureMap]
    map_note: str
    agreement: Agreement | None
    choices: list[Choice]


def collect(model: Any, image_set: ImageSet, max_pictures: int, tell: Tell) -> Findings:
    """Compute what the report of `model` on `image_set` shows."""
    images = image_set.images
    tell(0.0, "aligning every picture with its centroid")
    alignments = model.align(images)
    labels = alignments.labels
    shown = choose_shown(labels, max_pictures, int(np.prod(images.shape[1:3])))
    own = alignments.subset(shown)

    tell(0.15, "looking at the clusters next to it")
    costs = np.asarray(model.transform(images[shown]), dtype=np.float64)
    candidates = rank_candidates(own, costs, model.n_jobs)

    baseline = None
    if model.warp != "none":
        tell(0.3, "plain K-means, to compare with")
        baseline = fit_baseline(model, images, labels)

    maps, map_note = _draw_maps(model, images[shown], own, tell)
    return Findings(
        model=model,
        labels=labels,
        form_sizes=np.bincount(alignments.forms, minlength=len(model.prototypes_)),
        own_cost=alignments.cost,
        own_bending=alignments.bending_cost,
        energies=energies_of(alignments._images),
        shown=shown,
        costs=costs,
        candidates=candidates,
        baseline=baseline,
        maps=maps,
        map_note=map_note,
        agreement=_agreement(image_set, labels, baseline),
        choices=explain_choices(model, len(model.labels_)),
    )


def rank_candidates(own: Alignments, costs: np.ndarray, n_jobs: int | None) -> list[Alignments]:
    """The pictures aligned with their own cluster, then with the others in the order of their `costs`."""
    others = costs.copy()
    others[
        np.arange(len(own)), own.labels
    ] = -np.inf  # a near-tie may have gone the other way: own first
    order = np.argsort(others, axis=1, kind="stable")
    ranks = range(1, min(N_CANDIDATES, costs.shape[1]))
    return [own, *(own.onto(order[:, rank], n_jobs=n_jobs) for rank in ranks)]


def _draw_maps(
    model: Any, images: np.ndarray, own: Alignments, tell: Tell
) -> tuple[list[PictureMap], str]:
    tell(0.35, "a map of the pictures as they are")
    maps = [
        PictureMap(
            "As they are", "Distances between the pictures, pixel by pixel.", embed(own.image)
        )
    ]
    if model.warp == "none":
        return maps, "This model is plain K-means: nothing is aligned, so there is one map only."
    tell(0.55, "a map of the affinely aligned pictures")
    if model.warp == "tps":
        affine = align_to_own(
            model._measure("affine"),
            model._check_images(images, reset=False),
            model._form_pictures(),
            model.image_shape_,
            clusters=model.prototype_clusters_,
            prune=1.0,
            n_jobs=model.n_jobs,
        ).onto(own.labels, n_jobs=model.n_jobs)
    else:
        affine = own
    note = "Each picture shifted, turned, stretched and slanted to fit a form of its cluster."
    maps.append(PictureMap("Affinely aligned", note, embed(affine.aligned)))
    if model.warp != "tps":
        return maps, "This model allows affine maps only, so there is no map of deformed pictures."
    tell(0.75, "a map of the deformed pictures")
    note = "Each picture bent to fit a form of its cluster."
    maps.append(PictureMap("Deformation aligned", note, embed(own.aligned)))
    return maps, ""


def _agreement(
    image_set: ImageSet, labels: np.ndarray, baseline: Baseline | None
) -> Agreement | None:
    if image_set.labels is None:
        return None
    return Agreement(
        confusion=confusion(image_set.labels, labels),
        scores=scores(image_set.labels, labels),
        baseline_scores=None if baseline is None else scores(image_set.labels, baseline.labels),
    )
