"""A folder of real pictures with awkward names, a run made from it by a real process, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

SOURCES = str(Path(__file__).parents[2] / "src")
PATIENCE = 120
AWKWARD = ("a, b.png", 'say "hi".png', "two\nlines.png", "<script>alert(1).png", "return\r.png")


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DIKMEANS_DATA", "FORCE_COLOR")
    }
    return {**kept, "PYTHONPATH": SOURCES, "NO_COLOR": "1", **more}


def start(*arguments: object, module: list[str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, *(module or ["-m", "dikmeans.cli"]), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def dikmeans(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    process = start(*arguments)
    out, said = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said, said
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    return dikmeans


@pytest.fixture(scope="session")
def begin() -> Callable[..., subprocess.Popen[str]]:
    return start


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """Sixty real digits 0, 1 and 2 of 8 x 8 pixels, some with names that need care."""
    folder = tmp_path_factory.mktemp("pictures")
    digits = load_digits()
    chosen = np.flatnonzero(digits.target < 3)[:60]
    names = [*AWKWARD, *(f"{number}.png" for number in range(60 - len(AWKWARD)))]
    for name, index in zip(names, chosen, strict=True):
        Image.fromarray((digits.images[index] * 15.9).astype(np.uint8)).save(folder / name)
    return folder


@pytest.fixture(scope="session")
def fitted(pictures, tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run of three clusters, and what the command said."""
    run = tmp_path_factory.mktemp("runs") / "run"
    done = dikmeans("fit", pictures, "-k", 3, "-o", run)
    assert done.returncode == 0, done.stderr
    return run, done
