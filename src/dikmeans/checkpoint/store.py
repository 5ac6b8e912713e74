"""Where the state of a fit is kept: nowhere, or in a folder, to continue after a kill.

A checkpoint belongs to one fit: images, parameters, version. It is refused for any other, as are
folders that are damaged or something else; nothing in them is deleted. Continued, a fit takes
exactly the way it would have taken: the result is the same to the last bit. When the fit is
complete its checkpoint stays, with the result: the same fit then only reads it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import numpy as np

from dikmeans._typing import JSON, Array, PathLike
from dikmeans.checkpoint.fingerprint import differences
from dikmeans.checkpoint.folder import CheckpointFolder, CheckpointProblem
from dikmeans.io.tensor_file import read_tensor_file, write_tensor_file
from dikmeans.kmeans.history import History, IterationRecord
from dikmeans.kmeans.outliers import OutlierRule
from dikmeans.kmeans.prototypes import Prototypes
from dikmeans.kmeans.run import FinishedRuns, Run, RunResult, RunState
from dikmeans.kmeans.shard import Assignment
from dikmeans.kmeans.swaps import Split, SwapState

BEST_FORMAT, BEST_VERSION = "dikmeans-best-run", 3
# A state that takes longer to write than so many seconds is kept only if the fit has gone on for so
# many times as long since the last one: then writing takes about 4 % of the time at most.
QUICK, PATIENCE = 0.5, 25.0


class CheckpointStore(Protocol):
    """Keeps the state of a fit.

    Attributes
    ----------
    seeds : sequence of int
        One per run.
    finished : FinishedRuns
        The runs that are finished.
    """

    seeds: Sequence[int]
    finished: FinishedRuns

    def restore(self, run: Run) -> RunState | None:
        """Where an unfinished run stood; None if it has not begun."""

    def save(self, run: Run, state: RunState) -> None:
        """Keep where a run stands."""

    def save_finished(self, finished: FinishedRuns) -> None:
        """Keep that a run has finished."""


class NoCheckpoint:
    """Keeps nothing.

    Parameters
    ----------
    seeds : sequence of int
        One per run.
    """

    def __init__(self, seeds: Sequence[int]):
        self.seeds = seeds
        self.finished = FinishedRuns()

    def restore(self, run: Run) -> RunState | None:
        """None: every run begins."""
        return None

    def save(self, run: Run, state: RunState) -> None:
        """Nothing is kept."""

    def save_finished(self, finished: FinishedRuns) -> None:
        """Nothing is kept."""


@contextlib.contextmanager
def open_store(
    path: PathLike | None, seeds: Sequence[int], fingerprint: Callable[[], JSON]
) -> Iterator[CheckpointStore]:
    """The store of a fit: the folder `path`, or none if that is None.

    Parameters
    ----------
    path : path-like or None
    seeds : sequence of int
        One per run, if they have not begun.
    fingerprint : callable
        Returns the fingerprint of the fit.
    """
    if path is None:
        yield NoCheckpoint(seeds)
    else:
        with CheckpointFolder(path) as folder:
            yield FolderStore(folder, seeds, fingerprint())


class FolderStore:
    """Keeps the state of a fit in a folder.

    Parameters
    ----------
    folder : CheckpointFolder
        Entered.
    seeds : sequence of int
        One per run; those in the folder, if there are any, take precedence.
    fingerprint : dict
        Of the fit. A folder with another one is refused.
    """

    def __init__(self, folder: CheckpointFolder, seeds: Sequence[int], fingerprint: JSON):
        self._folder = folder
        self._fingerprint = fingerprint
        self.seeds: Sequence[int] = [int(seed) for seed in seeds]
        self.finished = FinishedRuns()
        self._number = 0
        self._best_name: str | None = None
        self._named: list[str] = []
        self._position: str | None = None
        self._unfinished: tuple[JSON, dict[str, Array]] | None = None
        self._seconds_per_image, self._last_write = 0.0, time.monotonic()
        if folder.holds_something:
            self._read()
        else:
            self._write(None)

    def restore(self, run: Run) -> RunState | None:
        """Where an unfinished run stood; None if it has not begun."""
        if self._unfinished is None:
            return None
        record, tensors = self._unfinished
        self._unfinished = None  # the arrays are not needed twice
        with self._folder.reading():
            return decode_state(run, record, tensors, self._folder.path)

    def save(self, run: Run, state: RunState) -> None:
        """Keep where a run stands, unless that takes long and the last time was not long ago."""
        n_images = run.schedule.n_images_of(run.schedule.phases[state.phase])
        began, expected = time.monotonic(), self._seconds_per_image * n_images
        if expected > QUICK and began - self._last_write < PATIENCE * expected:
            return
        self._write((run, state))
        self._last_write = time.monotonic()
        self._seconds_per_image = (self._last_write - began) / n_images

    def save_finished(self, finished: FinishedRuns) -> None:
        """Keep that a run has finished."""
        new_best = finished.best if finished.best is not self.finished.best else None
        self.finished = finished
        self._write(None, new_best)

    def _write(self, current: tuple[Run, RunState] | None, best: RunResult | None = None) -> None:
        """Keep the finished runs, a new best one if there is, and where the current run stands."""
        number, folder, best_name = self._number + 1, self._folder, self._best_name
        record: JSON | None = None
        tensors: dict[str, Array] = {}
        fits: list[str] = []
        with folder.writing(self._named, self._position):
            if best is not None:
                best_name = write_result(best, folder.path, number)
            if current is not None:
                run, state = current
                record, tensors = encode_state(state)
                fits = record["fits"] = write_fits(run, state, folder.path, number)
            header = {
                "number": number,
                "fingerprint": self._fingerprint,
                "seeds": self.seeds,
                "finished": {
                    "runs": self.finished.n_runs,
                    "iterations": self.finished.n_iterations,
                    "best": best_name,
                },
                "run": record,
            }
            named = fits if best_name is None else [*fits, best_name]
            folder.write(header, tensors, named)
        self._number, self._best_name, self._named = number, best_name, named
        self._position = self._describe(record)

    def _read(self) -> None:
        header, tensors = self._folder.read()
        with self._folder.reading():
            changes = differences(header["fingerprint"], self._fingerprint)
            if changes:
                reason = f"is the checkpoint of another fit: {'; '.join(changes)}"
                raise self._folder.error(CheckpointProblem.OTHER_FIT, reason)
            seeds = [int(seed) for seed in header["seeds"]]
            finished, record = header["finished"], header["run"]
            n_runs, self._best_name = int(finished["runs"]), finished["best"]
            if len(seeds) != len(self.seeds) or not 0 <= n_runs <= len(seeds):
                raise ValueError(f"it has {len(seeds)} seeds for {len(self.seeds)} runs")
            if (self._best_name is None) != (n_runs == 0):
                raise ValueError("it names no best run")
            best = None
            if self._best_name is not None:
                best = read_result(self._folder.path / self._best_name)
            self.seeds = seeds
            self.finished = FinishedRuns(n_runs, int(finished["iterations"]), best)
            self._number = int(header["number"])
            fits = record["fits"] if record else []
            self._named = [*fits, *([] if self._best_name is None else [self._best_name])]
            self._position = self._describe(record)
        self._unfinished = None if record is None else (record, tensors)
        self._folder.sweep(self._named)

    def _describe(self, record: JSON | None) -> str:
        """Where the fit stands, in words."""
        n_runs = self.finished.n_runs
        if record is not None:
            return f"run {n_runs + 1}, iteration {len(record['history'])}"
        return f"the end of run {n_runs}" if n_runs else "its beginning"


def write_fits(run: Run, state: RunState, folder: Path, number: int) -> list[str]:
    """Keep the alignments of a state's clustering; returns the names of the files."""
    assert state.clustering is not None
    images = run.images_of(run.schedule.phases[state.phase])
    return images.write_fits(state.clustering, folder, number)


def encode_state(state: RunState) -> tuple[JSON, dict[str, Array]]:
    """A state as JSON and tensors, without the alignments of its clustering."""
    assert state.clustering is not None
    generator, keys, position, has_gauss, gauss = state.random_numbers
    record: JSON = {
        "phase": state.phase,
        "iteration": state.iteration,
        "stopped": state.stopped,
        "random_numbers": [generator, position, has_gauss, gauss],
        "swaps": None,
        "cutoff": state.cutoff if np.isfinite(state.cutoff) else None,
        "history": [asdict(iteration) for iteration in state.history],
    }
    tensors: dict[str, Array] = {
        "random_numbers": keys,
        "init_centroids": state.init_centroids,
        "centroids": state.clustering.centroids,
    }
    if state.precision is not None:
        tensors["precision"] = state.precision
    if state.class_clusters is not None:
        tensors["class_clusters"] = state.class_clusters
    if state.prototypes is not None:
        tensors["prototypes"] = state.prototypes.pictures
        tensors["prototype_clusters"] = state.prototypes.clusters
    if state.swaps is not None:
        record["swaps"] = {
            "trials": state.swaps.trials,
            "settling": state.swaps.settling,
            "failed": sorted(state.swaps.failed),
            "gains": [[k, split.gain] for k, split in state.swaps.splits.items()],
        }
        tensors.update({f"split-{k}": split.halves for k, split in state.swaps.splits.items()})
    return record, tensors


def decode_state(run: Run, record: JSON, tensors: dict[str, Array], folder: Path) -> RunState:
    """The state that `encode_state` and `write_fits` have kept."""
    phase, swaps = int(record["phase"]), record["swaps"]
    cutoff = np.inf if record["cutoff"] is None else float(record["cutoff"])
    images = run.images_of(run.schedule.phases[phase]).trimmed(cutoff)
    clustering = images.read_clustering(folder, record["fits"], tensors["centroids"])
    generator, position, has_gauss, gauss = record["random_numbers"]
    prototypes = None
    if "prototypes" in tensors:
        prototypes = Prototypes(tensors["prototypes"], tensors["prototype_clusters"])
    return RunState(
        init_centroids=tensors["init_centroids"],
        centroids=clustering.centroids,
        random_numbers=(generator, tensors["random_numbers"], position, has_gauss, gauss),
        phase=phase,
        clustering=clustering,
        iteration=int(record["iteration"]),
        stopped=str(record["stopped"]),
        swaps=None
        if swaps is None
        else SwapState(
            trials=int(swaps["trials"]),
            settling=swaps["settling"],
            splits={k: Split(tensors[f"split-{k}"], gain) for k, gain in swaps["gains"]},
            failed=frozenset((drop, split) for drop, split in swaps["failed"]),
        ),
        precision=tensors.get("precision"),
        prototypes=prototypes,
        class_clusters=tensors.get("class_clusters"),
        cutoff=cutoff,
        history=tuple(IterationRecord(**iteration) for iteration in record["history"]),
    )


def write_result(result: RunResult, folder: Path, number: int) -> str:
    """Keep the result of a run; returns the name of its file."""
    name = f"best-{number:06d}.safetensors"
    tensors = {
        "prototypes": result.prototypes.pictures,
        "prototype_clusters": result.prototypes.clusters,
        "prototype_weights": result.prototype_weights,
        "init_centroids": result.init_centroids,
        "outlier_centers": result.outlier_rule.centers,
        "outlier_spreads": result.outlier_rule.spreads,
        "outlier_threshold": np.array(result.outlier_rule.threshold),
    }
    if result.precision is not None:
        tensors["precision"] = result.precision
    if result.class_clusters is not None:
        tensors["class_clusters"] = result.class_clusters
    for field, array in result.assignment._asdict().items():
        if array is not None:
            tensors[f"assignment.{field}"] = array
    header = {
        "inertia": result.inertia,
        "centroid_inertia": result.centroid_inertia,
        "history": asdict(result.history),
    }
    write_tensor_file(folder / name, BEST_FORMAT, BEST_VERSION, header, tensors)
    return name


def read_result(path: Path) -> RunResult:
    """The result that `write_result` has kept."""
    header, tensors = read_tensor_file(path, BEST_FORMAT, BEST_VERSION, "best run of a fit")
    fields = {field: tensors.get(f"assignment.{field}") for field in Assignment._fields}
    if any(array is None for field, array in fields.items() if field != "warps"):
        raise ValueError("it does not hold an assignment")
    history = header["history"]
    return RunResult(
        Prototypes(tensors["prototypes"], tensors["prototype_clusters"]),
        tensors["prototype_weights"],
        tensors["init_centroids"],
        tensors.get("precision"),
        Assignment(**fields),  # type: ignore[arg-type]  # checked above
        OutlierRule(
            tensors["outlier_centers"],
            tensors["outlier_spreads"],
            float(tensors["outlier_threshold"]),
        ),
        float(np.float64(header["inertia"])),
        float(np.float64(header["centroid_inertia"])),
        tensors.get("class_clusters"),
        History(
            [IterationRecord(**iteration) for iteration in history["iterations"]],
            str(history["stopped"]),
        ),
    )
