"""A part of the results: a command, and the page on which its output stands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from dikmeans.paper.protocol.results_file import read_results

ENGINE = (
    *(
        f"src/dikmeans/{name}"
        for name in (
            *("estimator.py", "images.py", "kmeans", "outofcore", "parallel", "parameters.py"),
            *("preprocessing", "refinement.py", "registration"),
        )
    ),
    ":(exclude)src/dikmeans/registration/compilation.py",
)
"""What decides the result of a fit, or its time; the exception only tells about compilation."""


MISSING_ROWS = "Rows that have no run yet, and are left out"


class PartError(Exception):
    """A part could not be made; the message says why."""


@dataclass(frozen=True)
class Part:
    """What one command measures.

    Attributes
    ----------
    name : str
    page : str
        File of `docs/results`.
    command : str
        As a reader would type it: ``python -m benchmarks.x ...`` or ``dikmeans ...``.
    minutes : int
        About how long it takes on two cores.
    code : tuple of str
        Files and folders whose changes make its figures old, besides the benchmark itself.
    """

    name: str
    page: str
    command: str
    minutes: int
    code: tuple[str, ...] = ENGINE
    keeps_runs: ClassVar[bool] = False
    """Whether it can show what there is, without time to make more."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Files and folders whose changes make its figures old."""
        _, *words = self.command.split()
        if words[0] != "-m":
            return self.code
        return (*self.code, f"{words[1].replace('.', '/')}.py")

    def is_complete(self, output: str) -> bool:
        """Whether nothing is left to do where this stands on the page."""
        return True

    def run(self, root: Path, minutes_left: float | None) -> str:
        """Run the command in the repository `root` and return what belongs on the page."""
        return _output_of(_with_this_python(self.command.split()), root)


@dataclass(frozen=True)
class TablePart(Part):
    """A table of ``dikmeans reproduce table``, whose runs are kept and continued."""

    keeps_runs: ClassVar[bool] = True

    def is_complete(self, output: str) -> bool:
        """Whether every row has all of its runs."""
        return MISSING_ROWS not in output and not re.search(r"\| \d+ of \d+ \| (all|\d)", output)

    def run(self, root: Path, minutes_left: float | None) -> str:
        """Make the runs for which there is time; return the table of all that there are."""
        command = _with_this_python(self.command.split())
        folder = root / "out" / "results" / self.name
        command += ["--output", str(folder)]
        if minutes_left is not None:
            command += ["--time-budget", str(minutes_left)]
        _output_of(command, root)
        words = self.command.split()
        models = {word for flag, word in pairwise(words) if flag == "--models"}
        runs = read_results(root / words[words.index("--results") + 1])
        commits = {run.versions.get("commit", "unknown") for run in runs if run.model in models}
        table = without_missing_rows((folder / "table.md").read_text())
        return f"{table}\n\nIts runs were made with the package of {', '.join(sorted(commits))}."


@dataclass(frozen=True)
class PicturesPart(Part):
    """Pictures that a command writes into `docs/results/figures`.

    Attributes
    ----------
    pictures : tuple of str
        Their names, without ".png".
    """

    pictures: tuple[str, ...] = ()

    def run(self, root: Path, minutes_left: float | None) -> str:
        """Make the pictures and return their names."""
        _output_of(_with_this_python(self.command.split()), root)
        folder = root / "docs" / "results" / "figures"
        missing = [name for name in self.pictures if not (folder / f"{name}.png").exists()]
        if missing:
            raise PartError(f"{self.command} made no {', '.join(missing)}.")
        return "Makes " + ", ".join(f"`{name}.png`" for name in self.pictures) + "."


def without_missing_rows(table: str) -> str:
    """Return a table without rows that have no run; a line says how many these were."""
    lines = table.splitlines()
    kept = [line for line in lines if "| not run |" not in line]
    if len(kept) == len(lines):
        return table
    return "\n".join(kept) + f"\n\n{MISSING_ROWS}: {len(lines) - len(kept)}."


def _with_this_python(words: Sequence[str]) -> list[str]:
    """Return a command as this interpreter runs it, whatever is on the path."""
    program, *arguments = words
    if program == "dikmeans":
        return [sys.executable, "-m", "dikmeans.cli", *arguments]
    return [sys.executable, *arguments]


def _output_of(command: Sequence[str], root: Path) -> str:
    """Run a command and return its standard output; messages go to the terminal."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise PartError(f"it ended with exit code {done.returncode}.")
    return done.stdout
