"""One page of reference for each public package, written from its ``__all__``.

autosummary makes the page of each name; nothing is listed by hand, so nothing can be missing.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.ext.autodoc.mock import mock

PACKAGES = (
    *("dikmeans", "dikmeans.preprocessing", "dikmeans.registration", "dikmeans.evaluation"),
    *("dikmeans.plot", "dikmeans.datasets", "dikmeans.runs", "dikmeans.report", "dikmeans.edits"),
    *("dikmeans.studio", "dikmeans.monitoring", "dikmeans.checkpoint", "dikmeans.paper.baselines"),
)
NEED_MOCKS = {"dikmeans.paper.baselines"}  # last of the packages
# Packages whose names are used where they are defined: what users need of them.
FROM_MODULES = {
    "dikmeans.monitoring": ("events.ProgressEvent", "memory.estimate_memory"),
    "dikmeans.checkpoint": ("folder.CheckpointError", "folder.CheckpointWriteError"),
}
FOLDER = Path("reference/api")


def public_names(package: str) -> list[str]:
    """Names that a package exports, but for packages, which have pages of their own."""
    module = import_module(package)
    if package in FROM_MODULES:
        return list(FROM_MODULES[package])
    return [
        name
        for name in module.__all__
        if not name.startswith("__") and not isinstance(getattr(module, name), ModuleType)
    ]


def find(package: str, name: str) -> object:
    """What a name, dotted if it is that of a module, stands for."""
    module, _, last = f"{package}.{name}".rpartition(".")
    return getattr(import_module(module), last)


def page(package: str) -> str:
    """The page of a package: what it says of itself, and a table of its names."""
    names = public_names(package)
    by_kind: dict[str, list[str]] = {"Classes": [], "Functions": [], "Others": []}
    for name in names:
        value = find(package, name)
        kind = "Classes" if inspect.isclass(value) else "Others"
        by_kind["Functions" if inspect.isroutine(value) else kind].append(name)
    lines = [package, "=" * len(package), "", f".. automodule:: {package}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {package}", ""]
    for kind, members in by_kind.items():
        if members:
            lines += [kind, "-" * len(kind), "", ".. autosummary::", "   :toctree: generated", ""]
            lines += [f"   {name}" for name in members] + [""]
    return "\n".join(lines)


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages, where they are not there already as they should be.

    Where PyTorch is not installed, the baselines are read with the stand-in that autodoc uses.
    The other packages come first and without it: SciPy, while it is imported, takes it for real.
    """
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        with mock(config.autodoc_mock_imports if package in NEED_MOCKS else []):
            text = page(package)
        path = folder / f"{package}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before Sphinx looks for pages, and autosummary for tables in them."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}
