"""One finished run as one line of JSON: model, data, result, and the versions that made it."""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import dikmeans
from dikmeans._typing import JSON

FORMAT = "dikmeans-run-1"
LINE_START = json.dumps({"format": FORMAT})[:-1]
"""How every line begins: it tells an incomplete line from a file of something else."""

METRICS = ("accuracy", "nmi", "ari")
_VERSIONS_OF = ("dikmeans", "numpy", "numba", "scikit-learn")


@dataclass(frozen=True)
class RunRecord:
    """A run: one model on one data set from one seed.

    Attributes
    ----------
    model : str
        Name of the model.
    parameters : dict
        Its parameters, without number of clusters, seed and threads.
    data : str
        Name of the task.
    data_title : str
        What the data are exactly.
    seed : int
    n_clusters : int
    train_size, train_available, test_size : int
        Training images used, training images available, test images.
    test, train : dict
        ``accuracy``, ``nmi`` and ``ari`` of each part, as fractions.
    distortion : float or None
        What training minimized, at its end; None if the model has nothing comparable.
    fit_seconds, predict_seconds : float
        Wall time. Of a model that was continued from a file it is that of the last part.
    n_jobs : int or None
        Threads requested.
    cpus : int or None
        Cores of the machine.
    versions : dict
        Of Python and the libraries used; "commit" is the last that changed this package.
    processor_seconds : float or None
        Processor time of the whole fit in all threads, from models that measure it.
    """

    model: str
    parameters: JSON
    data: str
    data_title: str
    seed: int
    n_clusters: int
    train_size: int
    train_available: int
    test_size: int
    test: dict[str, float]
    train: dict[str, float]
    distortion: float | None
    fit_seconds: float
    predict_seconds: float
    n_jobs: int | None
    cpus: int | None
    versions: dict[str, str]
    processor_seconds: float | None = None

    @property
    def identity(self) -> str:
        """What identifies a run: model, parameters, data set, seed and training size."""
        return run_identity(
            self.model, self.parameters, self.data, self.data_title, self.seed, self.train_size
        )

    @property
    def seconds(self) -> float:
        """Time to fit and predict."""
        return self.fit_seconds + self.predict_seconds

    def to_line(self) -> str:
        """Return the record as a line, without the line end."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_line(cls, line: str) -> RunRecord:
        """Read a line.

        Raises
        ------
        ValueError
            The line is not a complete record.
        """
        try:
            content = json.loads(line)
        except RecursionError as error:
            raise ValueError("lists are nested too deeply") from error
        kinds = get_type_hints(cls)
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ValueError(f"not a record of format {FORMAT!r}")
        content.setdefault("processor_seconds", None)  # was not measured once
        if set(content) != set(kinds):
            raise ValueError(f"not a record of format {FORMAT!r}")
        for name, kind in kinds.items():
            if not _is_a(content[name], kind):
                raise ValueError(f"{name!r} is {str(content[name])[:40]}")
        for part in ("test", "train"):
            if not set(METRICS) <= set(content[part]):
                raise ValueError(f"{part!r} lacks one of {', '.join(METRICS)}")
            if not 0 <= content[part]["accuracy"] <= 1:
                raise ValueError(f"the accuracy of {part!r} is no share")
        if content["test_size"] < 1:
            raise ValueError("'test_size' is no number of images")
        return cls(**content)


def _is_a(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has the type of a field of a record."""
    if kind is Any:
        return True
    if get_origin(kind) is UnionType:
        return any(_is_a(value, choice) for choice in get_args(kind))
    if get_origin(kind) is dict:  # keys in JSON are always strings
        _, content = get_args(kind)
        return isinstance(value, dict) and all(_is_a(entry, content) for entry in value.values())
    if isinstance(value, bool):  # Python counts it as an int
        return False
    return isinstance(value, int | float if kind is float else kind)


def run_identity(
    model: str, parameters: JSON, data: str, data_title: str, seed: int, train_size: int
) -> str:
    """Return the identity of a run, made or not."""
    return json.dumps([model, parameters, data, data_title, seed, train_size], sort_keys=True)


def current_versions(*libraries: str) -> dict[str, str]:
    """Return the versions of Python, of the libraries always used, and of `libraries`.

    These are named as they are imported, and recorded as they are installed (umap, umap-learn).
    """
    installed = packages_distributions() if libraries else {}
    names = (*_VERSIONS_OF, *(installed.get(name, [name])[0] for name in libraries))
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    commit = _commit()
    return {**versions, "commit": commit} if commit else versions


@lru_cache(maxsize=1)
def _commit() -> str | None:
    """Return the last commit that changed this package; None if it is not in a repository."""
    folder = Path(dikmeans.__file__).parent
    command = ["git", "-C", str(folder), "log", "-1", "--format=%h", "--", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
