"""The command, a folder of real pictures with awkward names, and a run made from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from dikmeans.cli import app

SOURCES = str(Path(__file__).parents[2] / "src")
TIMEOUT = 120
AWKWARD_NAMES = (
    "a, b.png",
    'say "hi".png',
    "two\nlines.png",
    "<script>alert(1).png",
    "return\r.png",
)


def start(*arguments: object, module: tuple[str, ...] = ("-m", "dikmeans.cli")) -> Any:
    """Start the command as a process."""
    hidden = ("DIKMEANS_DATA", "FORCE_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.Popen(
        [sys.executable, *module, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": SOURCES, "NO_COLOR": "1"},
    )


def dikmeans(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    process = start(*arguments)
    out, err = process.communicate(timeout=TIMEOUT)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def invoke(*arguments: object) -> Any:
    """Run the command in this process."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def message(result: Any) -> str:
    """What a command has said on standard error, on one line."""
    assert "Traceback" not in result.output
    return " ".join(result.stderr.replace("│", " ").split())


def wait_for(process: Any, text: str) -> None:
    """Read standard error of a process until a line contains `text`."""
    assert any(text in line for line in process.stderr)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """Sixty real digits 0, 1 and 2 of 8 x 8 pixels, some with names that need care."""
    folder = tmp_path_factory.mktemp("pictures")
    digits = load_digits()
    chosen = np.flatnonzero(digits.target < 3)[:60]
    names = [*AWKWARD_NAMES, *(f"{number}.png" for number in range(60 - len(AWKWARD_NAMES)))]
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
