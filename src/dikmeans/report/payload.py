"""Findings as the page wants them: plain numbers and texts, arrays in base64, pictures in sprite sheets.

Arrays travel as little-endian bytes; `decode` in assets/data.js is the other end of `_packed`.
"""

from __future__ import annotations

import base64
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from dikmeans.datasets import ImageSet
from dikmeans.report.collect import Findings
from dikmeans.report.sprites import make_sheets, tone_of, viewable

# What `dikmeans.kmeans.run` calls the phase that sees all pictures.
LAST_PHASE = "all images"


def pack(findings: Findings, image_set: ImageSet, title: str) -> dict[str, Any]:
    """The object that the page embeds as JSON."""
    model = findings.model
    as_shown = _as_shown(findings, image_set)
    pictures = viewable(as_shown)
    tone = tone_of(pictures)
    rows, columns = pictures.shape[1:3]
    family = findings.candidates[0].warp
    return {
        "title": title,
        "version": version("dikmeans"),
        "card": asdict(image_set.card),
        "total": len(findings.labels),
        "shape": [rows, columns, 3 if pictures.ndim == 4 else 1],
        "averaged": image_set.images.ndim == 4 and image_set.images.shape[3] not in (1, 3),
        "frame": {"scale": family.grid.scale, "offset": family.grid.offset},
        "tone": asdict(tone),
        "border": model.border,
        "warp": model.warp,
        "direction": model.direction,
        "energy": float(findings.energies.mean()),
        "distortion": float(findings.own_cost.sum()),
        "choices": [asdict(choice) for choice in findings.choices],
        "history": _history(model),
        "clusters": _clusters(findings),
        "forms": {
            "pictures": _quantised(viewable(model.prototypes_)),
            "cluster": model.prototype_clusters_.tolist(),
            "size": findings.form_sizes.tolist(),
        },
        "baseline": _baseline(findings),
        "classes": list(image_set.class_names) if image_set.labels is not None else None,
        "agreement": _agreement(findings),
        "pictures": _pictures(findings, image_set, as_shown),
        "candidates": [_candidate(findings, rank) for rank in range(len(findings.candidates))],
        "centres": _packed(family.expansion(family.identity).centres, "<f4"),
        "maps": [
            {"title": panel.title, "note": panel.note, "xy": _packed(panel.xy, "<f4")}
            for panel in findings.maps
        ],
        "mapNote": findings.map_note,
        "sheets": make_sheets(tone.to_bytes(pictures)),
    }


def _history(model: Any) -> dict[str, Any]:
    """The course of the fit, as mean costs: before its last phase it may have worked on a sample."""
    iterations, total = model.history_.iterations, max(1, len(model.labels_))
    sample = min(total, model._plan().search_size)
    seen = [total if iteration.phase == LAST_PHASE else sample for iteration in iterations]
    return {
        "phases": [iteration.phase for iteration in iterations],
        "cost": [i.distortion / n for i, n in zip(iterations, seen, strict=True)],
        "stopped": model.history_.stopped,
    }


def _clusters(findings: Findings) -> list[dict[str, Any]]:
    """Size and mean costs of each cluster, over all pictures."""
    clusters = []
    for k in range(findings.model.n_clusters):
        mine = findings.labels == k
        size = int(mine.sum())
        cost = float(findings.own_cost[mine].mean()) if size else None
        bending = float(findings.own_bending[mine].mean()) if size else None
        clusters.append({"size": size, "cost": cost, "bending": bending})
    return clusters


def _baseline(findings: Findings) -> dict[str, Any] | None:
    baseline, k = findings.baseline, findings.model.n_clusters
    if baseline is None:
        return None
    same = findings.labels == baseline.labels
    return {
        "centroids": _quantised(viewable(baseline.centroids)),
        "sizes": np.bincount(baseline.labels, minlength=k).tolist(),
        "shared": np.bincount(findings.labels[same], minlength=k).tolist(),
        "cost": [None if np.isnan(cost) else float(cost) for cost in baseline.mean_cost],
        "distortion": baseline.distortion,
    }


def _agreement(findings: Findings) -> dict[str, Any] | None:
    agreement = findings.agreement
    if agreement is None:
        return None
    found = agreement.confusion
    return {
        "counts": found.counts.tolist(),
        "classes": found.classes.tolist(),
        "clusters": found.clusters.tolist(),
        "matched": found.n_matched,
        "scores": agreement.scores,
        "baselineScores": agreement.baseline_scores,
    }


def _as_shown(findings: Findings, image_set: ImageSet) -> np.ndarray:
    """The pictures of the report: as given if the model does no more than scale them, else as it sees them.

    A centroid fits the latter, and a residual must be the one that was computed.
    """
    if findings.model.preprocessing_.only_scales:
        return image_set.images[findings.shown]
    seen = findings.candidates[0].image
    peaks = np.abs(seen.reshape(len(seen), -1)).max(
        axis=1
    )  # equally bright, else most would be pale
    return seen / np.where(peaks > 0, peaks, 1.0).reshape(-1, *[1] * (seen.ndim - 1))


def _pictures(findings: Findings, image_set: ImageSet, as_shown: np.ndarray) -> dict[str, Any]:
    """What is known about each picture shown."""
    shown = findings.shown
    values = np.asarray(as_shown, dtype=np.float64).reshape(len(shown), -1)
    energies = (values**2).sum(axis=1)
    seen = findings.candidates[0].image.reshape(len(shown), -1)
    norms = np.linalg.norm(seen, axis=1)
    return {
        "index": shown.tolist(),
        "names": [image_set.names[i] for i in shown],
        "class": None if image_set.labels is None else image_set.labels[shown].tolist(),
        "costs": _packed(findings.costs, "<f4"),
        # from a picture as it is shown to the picture as the model sees it
        "gain": _packed(norms / np.sqrt(np.where(energies > 0, energies, 1.0)), "<f4"),
    }


def _candidate(findings: Findings, rank: int) -> dict[str, str]:
    """Each picture with its cluster of that rank: which form, its cost, and the warp written out."""
    fits = findings.candidates[rank]
    _, radial, affine = fits.warp.expansion(fits.parameters)
    return {
        "cluster": _packed(fits.labels, "<u2"),
        "form": _packed(fits.forms, "<u2"),
        "cost": _packed(fits.cost, "<f4"),
        "bending": _packed(fits.bending_cost, "<f4"),
        "folded": _packed(fits.folded, "<f4"),
        "warp": _packed(np.concatenate([radial, affine], axis=1), "<f4"),
    }


def _quantised(pictures: np.ndarray) -> dict[str, Any]:
    """Centroids or forms with sixteen bits a value: finer than anyone can see, half the size of floats."""
    low, high = float(pictures.min()), float(pictures.max())
    high = high if high > low else low + 1
    return {
        "low": low,
        "high": high,
        "values": _packed(np.rint((pictures - low) * (65535 / (high - low))), "<u2"),
    }


def _packed(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode()
