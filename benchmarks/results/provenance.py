"""Of which commit a figure is, when and on what kind of machine it was made."""

from __future__ import annotations

import ast
import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"Commit (?P<commit>[0-9a-f]{7,40}), (?P<date>[\d-]{10}), (?P<machine>.+)\.")


@dataclass(frozen=True)
class Provenance:
    """What is said above every part.

    Attributes
    ----------
    commit : str
        Abbreviated hash.
    date : str
        Year, month and day.
    machine : str
        Processors and versions.
    """

    commit: str
    date: str
    machine: str

    @classmethod
    def now(cls, root: Path) -> Provenance:
        """Return that of a figure which is made now, in the repository `root`."""
        commit = _git(root, "rev-parse", "--short=7", "HEAD")
        return cls(commit, datetime.datetime.now(datetime.UTC).date().isoformat(), _machine())

    @classmethod
    def parse(cls, line: str) -> Provenance | None:
        """Return what a line says; None if it is no such line."""
        found = _LINE.fullmatch(line)
        return cls(**found.groupdict()) if found else None

    def __str__(self) -> str:
        return f"Commit {self.commit}, {self.date}, {self.machine}."

    def is_current(self, root: Path, sources: Sequence[str]) -> bool:
        """Whether `sources` compute the same now as in its commit.

        They do if they differ in comments and annotations only, or by commits that are listed as
        refactorings.
        """
        try:
            changed = _git(root, "diff", "--name-only", self.commit, "--", *sources).splitlines()
            if all(self._has_same_code(root, name) for name in changed):
                return True
            since = ("log", "--no-merges", "--format=%h", "--abbrev=7", f"{self.commit}..HEAD")
            commits = set(_git(root, *since, "--", *sources).splitlines())
            return not uncommitted(root, sources) and commits <= refactorings(root)
        except (subprocess.CalledProcessError, OSError):  # an unknown commit, a file that is gone
            return False

    def _has_same_code(self, root: Path, name: str) -> bool:
        before = _git(root, "show", f"{self.commit}:{name}")
        return name.endswith(".py") and same_code(before, (root / name).read_text())


def refactorings(root: Path) -> set[str]:
    """Return the commits that changed the code, and no result to the last bit."""
    path = root / "benchmarks" / "results" / "refactorings.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def same_code(before: str, after: str) -> bool:
    """Whether two sources differ in nothing but comments, docstrings, annotations and layout."""
    return ast.dump(_bare(before)) == ast.dump(_bare(after))


def _bare(source: str) -> ast.AST:
    """Return a syntax tree without what is there for readers and type checkers only."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_for_readers(line)] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


def _is_for_readers(line: ast.stmt) -> bool:
    """Whether a statement is a string of documentation, or for type checkers."""
    if isinstance(line, ast.If):
        return isinstance(line.test, ast.Name) and line.test.id == "TYPE_CHECKING"
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def uncommitted(root: Path, sources: Sequence[str]) -> list[str]:
    """Return the files among `sources` that are not as the last commit has them."""
    return _git(root, "status", "--porcelain", "--", *sources).splitlines()


def _machine() -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("numba", "scikit-learn")
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, Python {platform.python_version()}, {versions}"


def _processor() -> str:
    """Return the processor's kind, with the vectors that it has."""
    try:
        facts = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    model = re.search(r"model name\s*: (.+)", facts)
    widest = next((name for name in ("avx512f", "avx2") if name in facts.split()), None)
    vectors = {"avx512f": " with AVX-512", "avx2": " with AVX2", None: ""}[widest]
    return f"{model[1].strip() if model else platform.machine()}{vectors}"


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
