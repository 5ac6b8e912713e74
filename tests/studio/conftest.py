"""A run to edit, made once and copied; the studio in this process, or as a program of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dikmeans import DIKMeans, Search
from dikmeans.datasets import ImageSource
from dikmeans.runs import write_run
from tests.report.conftest import chromium  # noqa: F401 -- a fixture

HOSTILE = "<img src=x onerror=alert(1)>.png"


@pytest.fixture(scope="session")
def fitted_run(real_digits, tmp_path_factory) -> Path:
    """100 digits of four classes, some much alike, as files; four clusters, two prototypes each."""
    X, y = real_digits
    folder = tmp_path_factory.mktemp("digits")
    (folder / "pictures").mkdir()
    for place, i in enumerate(np.flatnonzero(np.isin(y, (3, 4, 5, 9)))[:100]):
        name = HOSTILE if place == 0 else f"{y[i]}-{place:03d}.png"
        pixels = np.rint(255 * X[i]).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / name, "png")
    source = ImageSource.resolve(str(folder / "pictures"))
    images = source.load()
    model = DIKMeans(4, n_prototypes=2, random_state=0, search=Search(n_swaps=0), max_iter=3)
    model.fit(images.images)
    write_run(folder / "run", model, images, source.resolved(images), seconds=1.0)
    return folder / "run"


@pytest.fixture
def run(fitted_run, tmp_path) -> Path:
    """A copy of the run that a test may change."""
    return Path(shutil.copytree(fitted_run, tmp_path / "run"))


def _hear_interrupts() -> None:
    """Ctrl-C reaches the program even if the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Program:
    """`dikmeans studio RUN` in a process of its own."""

    def __init__(self, run: Path, log: Path, options: tuple[str, ...] = ()):
        self._log = log
        command = [
            sys.executable,
            "-m",
            "dikmeans.cli",
            "studio",
            str(run),
            "--no-browser",
            *options,
        ]
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=dict(os.environ),
                preexec_fn=None if os.name == "nt" else _hear_interrupts,
            )
        assert self.process.stdout is not None
        line = next((line for line in self.process.stdout if line.startswith("Studio: ")), "")
        assert line.startswith("Studio: http://127.0.0.1:"), log.read_text()
        self.address = line.split()[1]
        self.origin = self.address.split("/?")[0]
        self.token = self.address.split("token=")[1]

    def kill(self) -> None:
        """As if the power went off."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture
def start_program(tmp_path) -> Iterator[object]:
    """A function that starts the studio on a run; whatever still runs is stopped at the end."""
    started: list[Program] = []

    def start(run: Path, *options: str) -> Program:
        started.append(Program(run, tmp_path / "log.txt", options))
        return started[-1]

    yield start
    for program in started:
        if program.process.poll() is None:
            program.kill()
        assert program.process.stdout is not None
        program.process.stdout.close()
