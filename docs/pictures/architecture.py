"""The picture of the architecture: which package imports which, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.patches import Arc
from shared import BLUE

import dikmeans

ROOT = Path(dikmeans.__file__).parent
# From what knows nothing of the others to what knows all; modules of the top level by their names.
LAYERS = {
    "base": ("images", "parameters", "errors", "_typing", "frames"),
    "io": ("io",),
    "parallel": ("parallel",),
    "registration": ("registration",),
    "kmeans": ("kmeans",),
    "preprocessing": ("preprocessing",),
    "outofcore": ("outofcore",),
    "monitoring": ("monitoring",),
    "checkpoint": ("checkpoint",),
    "estimator": ("model_file", "notebook", "estimator", "refinement"),
    "evaluation": ("evaluation",),
    "datasets": ("datasets",),
    "runs": ("runs",),
    "edits": ("edits",),
    "plot": ("plot",),
    "report": ("report",),
    "studio": ("studio",),
    "cli": ("cli", "demo"),
    "paper": ("paper",),
}
PURPOSE = {
    "base": "what users pass, checked",
    "io": "atomic files, tensor files",
    "parallel": "threads and cores",
    "registration": "one image and one centroid",
    "kmeans": "many images",
    "preprocessing": "what is done to pictures first",
    "outofcore": "images that are not in memory",
    "monitoring": "progress, forecasts",
    "checkpoint": "the state of a run in a folder",
    "estimator": "DIKMeans, refine, model files",
    "evaluation": "accuracy, choosing K, the map",
    "datasets": "pictures and sounds from files",
    "runs": "RUN folders, originals, exports",
    "edits": "corrections as data",
    "plot": "figures",
    "report": "one HTML file",
    "studio": "the local web application",
    "cli": "the command line",
    "paper": "the reproduction",
}


def imports(path: Path) -> set[str]:
    """First names below ``dikmeans`` that a module imports when it runs."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dikmeans."):
            names.add(node.module.split(".")[1])
    return names


def layer_of(name: str) -> str | None:
    return next((layer for layer, members in LAYERS.items() if name in members), None)


def architecture():
    order = list(LAYERS)
    found = {
        (layer_of(path.relative_to(ROOT).parts[0].removesuffix(".py")), layer_of(name))
        for path in ROOT.rglob("*.py")
        for name in imports(path)
    }
    axis = plt.subplots(figsize=(8.5, 8.5), layout="constrained")[1]
    for importer, imported in sorted((a, b) for a, b in found if a and b and a != b):
        above, below = order.index(imported), order.index(importer)
        size = below - above
        color = BLUE if size > 0 else "tab:red"
        arc = Arc(
            (0, (above + below) / 2),
            0.42 * abs(size),
            abs(size),
            theta1=-90,
            theta2=90,
            color=color,
        )
        arc.set(alpha=0.45, linewidth=1)
        axis.add_patch(arc)
    for row, layer in enumerate(order):
        axis.text(-0.15, row, layer, ha="right", va="center", fontweight="bold")
        axis.text(-2.3, row, PURPOSE[layer], ha="right", va="center", color="0.35")
        axis.plot([0], [row], "o", color=BLUE, markersize=5)
    axis.set(xlim=(-6.2, 4.2), ylim=(len(order) - 0.4, -0.8))
    axis.axis("off")
