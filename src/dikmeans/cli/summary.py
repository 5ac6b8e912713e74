"""A run at a glance: the end of ``fit``, and ``info``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from dikmeans._typing import JSON
from dikmeans.cli.console import describe_seconds, describe_shape, make_console, printable
from dikmeans.datasets import ImageSet
from dikmeans.model_file import encode_parameters
from dikmeans.preprocessing.chain import step_names
from dikmeans.runs import RunFolder

UNSURE = 0.1
"""A picture is unsure if its second-best cluster costs less than this share more."""


class ClusterSummary(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    cluster : int
    size : int
        Number of its pictures.
    prototypes : int
        Number of its prototypes.
    mean_cost : float or None
        None if it is empty.
    unsure : int
        Pictures whose second-best cluster costs hardly more.
    most_typical : str or None
        The picture with the lowest cost.
    """

    cluster: int
    size: int
    prototypes: int
    mean_cost: float | None
    unsure: int
    most_typical: str | None


def summarize_clusters(run: RunFolder) -> list[ClusterSummary]:
    """One summary per cluster, from the assignment of the fit."""
    model, names = run.model, [row.file for row in run.labels]
    labels, _, costs, margins, *_ = model.assignment_
    n_prototypes = np.bincount(model.prototype_clusters_, minlength=model.n_clusters)
    summaries = []
    for cluster in range(model.n_clusters):
        members = np.flatnonzero(labels == cluster)
        is_empty = len(members) == 0
        summaries.append(
            ClusterSummary(
                cluster,
                len(members),
                int(n_prototypes[cluster]),
                None if is_empty else float(costs[members].mean()),
                int((margins[members] < UNSURE * costs[members]).sum()),
                None if is_empty else names[members[costs[members].argmin()]],
            )
        )
    return summaries


def run_as_json(run: RunFolder) -> JSON:
    """A run for scripts: ``run.json`` without the history, and one entry per cluster."""
    hidden = ("history", "format", "version")
    return {
        "run": str(run.path.resolve()),
        **{name: value for name, value in run.info.items() if name not in hidden},
        "preprocessing": step_names(run.model.preprocessing_),
        "stopped": run.model.history_.stopped,
        "iterations": run.model.n_iter_,
        "clusters": [summary._asdict() for summary in summarize_clusters(run)],
    }


def print_run(run: RunFolder) -> None:
    """Print the clusters of a run on standard output."""
    info, console = run.info, make_console(stderr=False)
    n_images, shape = info["input"]["n_images"], describe_shape(info["input"]["shape"])
    console.print(
        Text(
            f"{len(info['sizes'])} clusters of {n_images:,} {info['input']['kind']}s ({shape}) in "
            f"{describe_seconds(info['seconds'])}; inertia {info['inertia']:.4g}, "
            f"{info['inertia'] / n_images:.4f} each.\n{run.model.preprocessing_}"
        )
    )
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("cluster", f"{info['input']['kind']}s", "prototypes", "mean cost", "unsure"):
        table.add_column(header, justify="right")
    table.add_column("most typical", overflow="fold")
    for row in summarize_clusters(run):
        cost = "—" if row.mean_cost is None else f"{row.mean_cost:.4f}"
        typical = Text(printable(row.most_typical or "—"))
        name = run.model.cluster_names_[row.cluster]
        cluster = Text(printable(f"{row.cluster} {name}") if name else str(row.cluster))
        numbers = (row.size, row.prototypes, cost, row.unsure)
        table.add_row(cluster, *map(str, numbers), typical)
    n_outside = int((run.model.labels_ < 0).sum())
    if n_outside:
        table.add_row("none", str(n_outside), "", "", "", "")
    console.print(table)
    console.print(
        Text(
            "cost: how badly a picture fits its prototype. unsure: pictures whose second-best "
            f"cluster costs less than {UNSURE:.0%} more."
        )
    )


def agreement(run: RunFolder, images: ImageSet) -> float | None:
    """The part of the images whose label is the most frequent one of their cluster.

    None if there are no labels. Clusters need not be as many as labels.
    """
    if images.labels is None:
        return None
    counts = np.zeros((run.model.n_clusters, len(images.class_names)), int)
    inside = run.model.labels_ >= 0  # outliers are like nobody
    np.add.at(counts, (run.model.labels_[inside], images.labels[inside]), 1)
    return float(counts.max(axis=1).sum() / len(images))


def print_agreement(run: RunFolder, images: ImageSet) -> None:
    """Print on standard output how clusters agree with the labels, if there are any."""
    share = agreement(run, images)
    if share is not None:
        make_console(stderr=False).print(
            Text(
                f"{share:.0%} agree with the {images.label_source} (they are like most of their "
                "cluster). Clustering did not use them."
            )
        )


def print_origin(run: RunFolder) -> None:
    """Print on standard output where the pictures of a run came from and how it was made."""
    info, model = run.info, run.model
    place = info["input"]
    options = [f"{name}={value}" for name, value in place["options"].items()]
    limit = [f"at most {place['limit']} drawn"] if place["limit"] else []
    defaults = encode_parameters(type(model)())
    parameters = [
        f"{name}={value}"
        for name, value in info["parameters"].items()
        if defaults.get(name) != value
    ]
    stopped = "stopped early: " if info["interrupted"] else ""
    files = sorted(f"{entry.name}{'/' * entry.is_dir()}" for entry in run.path.iterdir())
    lines = {
        "pictures": f"{place['name']} ({', '.join([place['split'], *limit, *options])})",
        "made": f"{info['created']}, {model.n_iter_} iterations on all pictures; "
        f"{stopped}{model.history_.stopped}",
        "parameters": ", ".join(parameters),
        "versions": ", ".join(f"{name} {n}" for name, n in info.get("versions", {}).items()),
        "files": f"{run.path}/{', '.join(files)}",
    }
    console = make_console(stderr=False)
    console.print()
    for name, text in lines.items():
        console.print(Text(f"{name:<11}{printable(text)}"), soft_wrap=True)
