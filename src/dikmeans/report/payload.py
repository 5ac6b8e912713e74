"""The contents of a report as the page reads them: JSON with arrays in base64 and sprite sheets.

Arrays are little-endian bytes; `decode` in assets/data.js is the inverse of `_packed`.
"""

from __future__ import annotations

import base64
import math
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray, IntArray
from dikmeans.datasets import ImageSet
from dikmeans.evaluation.metrics import confusion, scores
from dikmeans.registration.measure import Direction
from dikmeans.registration.result import Alignments
from dikmeans.registration.warps import Warp
from dikmeans.report.collect import ReportContents, cluster_means
from dikmeans.report.explanations import explain_phase
from dikmeans.report.sprites import make_sheets, tone_of, viewable
from dikmeans.report.thumbnails import BUDGET, PORTRAIT_BUDGET, pack_sounds
from dikmeans.runs.originals import Originals

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans


# Bytes of all pictures as they are compared.
COMPARED_BUDGET = 7_000_000
# Names of more pictures than this make a page slow to open; then only those shown are listed.
MAX_LISTED = 100_000
# So many pictures whose original could not be used are named.
MAX_PROBLEMS = 200


def pack(
    contents: ReportContents,
    image_set: ImageSet,
    originals: Originals,
    title: str,
    *,
    links: bool = False,
) -> JSON:
    """The object that the page embeds as JSON; with `links`, the addresses of the files too."""
    model, assignment = contents.model, contents.assignment
    drawn = _drawn_pictures(contents, image_set)
    pictures = viewable(drawn)
    tone = tone_of(pictures)
    rows, columns = pictures.shape[1:3]
    warp = contents.candidates[0].warp
    inside = ~contents.outliers
    prototype_sizes = np.bincount(assignment.prototypes[inside], minlength=len(model.prototypes_))
    return {
        "title": title,
        "version": version("dikmeans"),
        "card": asdict(image_set.card),
        "total": len(image_set),
        "shape": [rows, columns, 3 if pictures.ndim == 4 else 1],
        "averaged": image_set.images.ndim == 4 and image_set.images.shape[3] not in (1, 3),
        "frame": {"scale": warp.grid.scale, "offset": warp.grid.offset},
        "tone": asdict(tone),
        "border": model.measure_.border,
        "warp": model.warp,
        "direction": model.direction,
        "energy": contents.energy,
        "inertia": float(assignment.costs[inside].sum()),
        "outliers": int(contents.outliers.sum()),
        "settings": [setting._asdict() for setting in contents.settings],
        "history": _history(model),
        "clusters": _clusters(contents),
        "names": list(contents.names),
        "prototypes": {
            "pictures": _quantized(viewable(model.prototypes_)),
            "cluster": model.prototype_clusters_.tolist(),
            "size": prototype_sizes.tolist(),
        },
        "baseline": _baseline(contents),
        "classes": list(image_set.class_names) if image_set.labels is not None else None,
        "agreement": _agreement(contents, image_set),
        "pictures": _pictures(contents, image_set, drawn),
        "candidates": [
            _candidate(alignments, model.measure_.direction) for alignments in contents.candidates
        ],
        "centers": _packed(warp.expansion(warp.identity)[0], "<f4"),
        "map": _packed(contents.positions, "<f4"),
        "sheets": make_sheets(tone.to_bytes(pictures), COMPARED_BUDGET),
        "originals": _originals(contents),
        "likeness": _likeness(contents),
        "sounds": pack_sounds(originals, contents.shown),
        "problems": _problems(originals, image_set),
        "links": _links(originals, contents.shown) if links else None,
        "listing": _listing(contents, image_set),
        "labelWord": "folder" if image_set.label_source == "folders" else "label",
        "kind": image_set.kind,
    }


def _originals(contents: ReportContents) -> JSON | None:
    """Thumbnails of the pictures shown, and what prototypes look like."""
    thumbnails = contents.thumbnails
    if thumbnails is None:
        return None
    unaligned = contents.unaligned
    return {
        "cell": list(thumbnails.cells.shape[1:3]),
        "sheets": make_sheets(thumbnails.cells, BUDGET),
        "aspect": _packed(thumbnails.aspects, "<f4"),
        "crop": _packed(np.column_stack(contents.crops), "<f4"),
        "signed": thumbnails.is_signed,
        "portrait": {
            "cell": list(thumbnails.portraits.shape[1:3]),
            "kinds": thumbnails.portrait_kinds,
            "sheets": make_sheets(thumbnails.portraits, PORTRAIT_BUDGET),
            "spreads": make_sheets(thumbnails.spreads, PORTRAIT_BUDGET),
        },
        "unaligned": unaligned if unaligned is None else make_sheets(unaligned),
    }


def _likeness(contents: ReportContents) -> JSON | None:
    """The tree of clusters, and the warps between the most similar ones."""
    likeness = contents.likeness
    if likeness is None:
        return None
    warp = contents.candidates[0].warp
    parameters = np.stack([pair.parameters for pair in likeness.pairs])
    orientation = np.stack([pair.orientation for pair in likeness.pairs])
    return {
        "merges": [[int(a), int(b), float(cost)] for a, b, cost, _ in likeness.merges],
        "pairs": [[pair.target, pair.warped, pair.cost] for pair in likeness.pairs],
        "warp": _whole_maps(warp, parameters, orientation, contents.model.measure_.direction),
    }


def _problems(originals: Originals, image_set: ImageSet) -> JSON:
    """Pictures whose original is not shown, and why."""
    named = sorted(originals.problems.items())
    return {
        "total": len(named),
        "first": [[image_set.names[number], why] for number, why in named[:MAX_PROBLEMS]],
    }


def _links(originals: Originals, shown: IntArray) -> list[str | None]:
    """Addresses of the files of pictures."""
    paths = (originals.path(int(number)) for number in shown)
    return [None if path is None else path.absolute().as_uri() for path in paths]


def _listing(contents: ReportContents, image_set: ImageSet) -> JSON | None:
    """Cluster, prototype, cost and margin of all pictures, if the page shows only some of them."""
    if len(contents.shown) == len(image_set) or len(image_set) > MAX_LISTED:
        return None
    assignment = contents.assignment
    return {
        "names": list(image_set.names),
        "cluster": _packed(np.where(contents.outliers, -1, assignment.labels), "<i2"),
        "prototype": _packed(assignment.prototypes, "<u2"),
        "cost": _packed(assignment.costs, "<f4"),
        "margin": _packed(assignment.margins, "<f4"),
    }


def _history(model: DIKMeans) -> JSON:
    """The course of the fit: for each iteration its phase and the mean cost of a picture."""
    schedule = model.schedule_for(len(model.labels_), model.image_shape_)
    words = {phase.name: explain_phase(phase) for phase in schedule.phases}
    records = model.history_.iterations
    return {
        "phases": [words.get(record.phase, record.phase) for record in records],
        "cost": [record.inertia / record.n_images for record in records],
        "stopped": model.history_.stopped,
    }


def _clusters(contents: ReportContents) -> list[JSON]:
    """Size and mean costs of each cluster, over all pictures."""
    inside, n_clusters = ~contents.outliers, contents.model.n_clusters
    labels = contents.assignment.labels[inside]
    sizes = np.bincount(labels, minlength=n_clusters)
    mean_costs = cluster_means(contents.assignment.costs[inside], labels, n_clusters)
    return [
        {"size": int(size), "cost": _number(cost), "bending": _number(bending)}
        for size, cost, bending in zip(sizes, mean_costs, contents.mean_bending, strict=True)
    ]


def _baseline(contents: ReportContents) -> JSON | None:
    baseline, n_clusters = contents.baseline, contents.model.n_clusters
    if baseline is None:
        return None
    return {
        "centroids": _quantized(viewable(baseline.centroids)),
        "sizes": np.bincount(baseline.labels, minlength=n_clusters).tolist(),
        "inertia": baseline.inertia,
    }


def _agreement(contents: ReportContents, image_set: ImageSet) -> JSON | None:
    """How clusters and given classes agree, counted over all pictures that are in a cluster."""
    if image_set.labels is None:
        return None
    inside, baseline = ~contents.outliers, contents.baseline
    if not inside.any():
        return None
    classes, labels = image_set.labels[inside], contents.assignment.labels[inside]
    matrix = confusion(classes, labels)
    return {
        "counts": matrix.counts.tolist(),
        "classes": matrix.classes.tolist(),
        "clusters": matrix.clusters.tolist(),
        "matched": matrix.n_matched,
        "scores": scores(classes, labels),
        "baselineScores": baseline and scores(classes, baseline.labels[inside]),
    }


def _drawn_pictures(contents: ReportContents, image_set: ImageSet) -> FloatArray:
    """The pictures as given, if preprocessing does no more than scale them; else preprocessed.

    Centroids fit the preprocessed ones, and a residual must be the one that was computed.
    """
    if contents.model.preprocessing_.only_scales:
        return image_set.images[contents.shown]
    preprocessed = contents.candidates[0].image
    # equally bright: otherwise the brightest picture makes most of them pale
    peaks = np.abs(preprocessed.reshape(len(preprocessed), -1)).max(axis=1)
    scale = np.where(peaks > 0, peaks, 1.0)
    return preprocessed / scale.reshape(-1, *[1] * (preprocessed.ndim - 1))


def _pictures(contents: ReportContents, image_set: ImageSet, drawn: FloatArray) -> JSON:
    """What is known about each picture shown."""
    shown = contents.shown
    drawn_norms, norms = (
        np.linalg.norm(pictures.reshape(len(shown), -1).astype(np.float64), axis=1)
        for pictures in (drawn, contents.candidates[0].image)
    )
    return {
        "index": shown.tolist(),
        "outlier": np.flatnonzero(contents.outliers[shown]).tolist(),
        "names": [image_set.names[i] for i in shown],
        "class": None if image_set.labels is None else image_set.labels[shown].tolist(),
        "costs": _packed(contents.costs, "<f4"),
        "margins": _packed(contents.assignment.margins[shown], "<f4"),
        # factor from a picture as it is drawn to the picture as it is compared
        "gain": _packed(norms / np.where(drawn_norms > 0, drawn_norms, 1.0), "<f4"),
    }


def _candidate(alignments: Alignments, direction: Direction) -> dict[str, str]:
    """Each picture with its cluster of one rank: prototype, cost, and the warp written out."""
    whole_maps = _whole_maps(
        alignments.warp, alignments.parameters, alignments.orientation, direction
    )
    return {
        "cluster": _packed(alignments.labels, "<u2"),
        "prototype": _packed(alignments.prototypes, "<u2"),
        "cost": _packed(alignments.cost, "<f4"),
        "bending": _packed(alignments.bending_cost, "<f4"),
        "folded": _packed(alignments.folded, "<f4"),
        "warp": whole_maps,
    }


def _whole_maps(
    warp: Warp, parameters: FloatArray, orientation: FloatArray, direction: Direction
) -> str:
    """Warps with their orientations O, as `evaluateWarp` in assets/warp.js reads them.

    One row per map: radial weights, affine part, and the matrix that a point is multiplied by
    before. A centroid that is warped is read at G(O^T p), an image at O G(p).
    """
    _, radial, affine = warp.expansion(parameters)
    inverse = np.swapaxes(orientation, 1, 2)
    if direction == "image-to-centroid":
        radial, affine = radial @ inverse, affine @ inverse
        inverse = np.broadcast_to(np.eye(2), inverse.shape)
    return _packed(np.concatenate([radial, affine, inverse], axis=1), "<f4")


def _number(value: float) -> float | None:
    """A number as JSON has it: NaN is null."""
    return None if math.isnan(value) else float(value)


def _quantized(pictures: FloatArray) -> JSON:
    """Pictures with 16 bits per value: finer than anyone can see, half the size of floats."""
    low, high = float(pictures.min()), float(pictures.max())
    high = high if high > low else low + 1
    levels = np.rint((pictures - low) * (65535 / (high - low)))
    return {"low": low, "high": high, "values": _packed(levels, "<u2")}


def _packed(array: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode()
