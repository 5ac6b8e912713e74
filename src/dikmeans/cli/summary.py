"""A run at a glance: what ``fit`` ends with and ``info`` shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from dikmeans.cli.console import describe_seconds, describe_shape, make_console
from dikmeans.runs import RunFolder

UNSURE = 0.1
"""An image is unsure if its second choice costs less than this share more."""


def run_as_json(run: RunFolder) -> dict[str, Any]:
    """A run for scripts: what ``run.json`` says, but for the history, and a line a cluster."""
    return {
        "run": str(run.path.resolve()),
        **{
            key: value
            for key, value in run.info.items()
            if key not in ("history", "format", "version")
        },
        "stopped": run.model.history_.stopped,
        "iterations": run.model.n_iter_,
        "clusters": _clusters(run),
    }


def show_run(run: RunFolder) -> None:
    """Print a run on standard output."""
    info, console = run.info, make_console(stderr=False)
    n_images = info["input"]["n_images"]
    console.print(
        Text(
            f"{len(info['sizes'])} clusters of {n_images:,} pictures "
            f"({describe_shape(info['input']['shape'])}) in {describe_seconds(info['seconds'])}; "
            f"distortion {info['distortion']:.4g}, "
            f"{info['distortion'] / n_images:.4f} a picture. normalize: {run.model.normalize_}."
        )
    )
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("cluster", "pictures", "mean cost", "unsure"):
        table.add_column(header, justify="right")
    table.add_column("most typical", overflow="fold")
    for row in _clusters(run):
        cost = "—" if row["mean_cost"] is None else f"{row['mean_cost']:.4f}"
        table.add_row(
            str(row["cluster"]),
            str(row["size"]),
            cost,
            str(row["unsure"]),
            Text(printable(row["most_typical"] or "—")),
        )
    console.print(table)
    console.print(
        Text(
            "cost: how badly a picture fits its centroid. unsure: pictures whose second choice costs less "
            f"than {UNSURE:.0%} more."
        )
    )


def printable(name: str) -> str:
    r"""A file's name without what would confuse a terminal.

    Examples
    --------
    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def _clusters(run: RunFolder) -> list[dict[str, Any]]:
    """A line a cluster."""
    labels = np.array([row.cluster for row in run.labels])
    costs = np.array([row.cost for row in run.labels])
    margins = np.array([row.margin for row in run.labels])
    lines = []
    for cluster in range(run.model.n_clusters):
        members = np.flatnonzero(labels == cluster)
        typical = members[costs[members].argmin()] if len(members) else None
        lines.append(
            {
                "cluster": cluster,
                "size": len(members),
                "mean_cost": float(costs[members].mean()) if len(members) else None,
                "unsure": int((margins[members] < UNSURE * costs[members]).sum()),
                "most_typical": None if typical is None else run.labels[typical].file,
            }
        )
    return lines


def show_origin(run: RunFolder) -> None:
    """Print where a run came from and how it was made."""
    info = run.info
    place = info["input"]
    options = ", ".join(f"{name}={value}" for name, value in place["options"].items())
    part = f"part {place['split']}" + (
        f", at most {place['limit']} drawn" if place["limit"] else ""
    )
    parameters = ", ".join(f"{name}={value}" for name, value in _unusual_parameters(run).items())
    versions = ", ".join(f"{name} {number}" for name, number in info.get("versions", {}).items())
    stopped = "stopped early: " if info["interrupted"] else ""
    lines = {
        "pictures": f"{place['name']} ({part}{', ' + options if options else ''})",
        "made": f"{info['created']}, {run.model.n_iter_} iterations; {stopped}{run.model.history_.stopped}",
        "parameters": parameters,
        "versions": versions,
        "files": f"{run.path}/model.safetensors, labels.csv, centroids/, run.json",
    }
    console = make_console(stderr=False)
    console.print()
    for name, text in lines.items():
        console.print(Text(f"{name:<11}{printable(text)}"), soft_wrap=True)


def _unusual_parameters(run: RunFolder) -> dict[str, Any]:
    """Parameters that are not the estimator's defaults, the number of clusters among them."""
    usual = type(run.model)().get_params(deep=False)
    return {
        name: value for name, value in run.info["parameters"].items() if usual.get(name) != value
    }
