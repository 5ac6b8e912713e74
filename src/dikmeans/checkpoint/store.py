"""Checkpoints: a fit after its latest iteration, in a folder, so that it can go on after a kill.

A checkpoint belongs to one fit: images, parameters, version. It is refused for any other, as are folders
that are damaged or something else; nothing in them is deleted. Continued, a fit takes exactly the way it
would have taken: the result is the same to the last bit. When the fit is complete its checkpoint stays, with
the result: the same fit then only reads it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.checkpoint.folder import CheckpointFolder
from dikmeans.checkpoint.fingerprint import differences
from dikmeans.kmeans.prototypes import Forms
from dikmeans.monitoring.history import History, Iteration
from dikmeans.kmeans.run import Bookmark, Outcome, Run
from dikmeans.kmeans.runs import Memory, NoMemory, Tally
from dikmeans.kmeans.swaps import SwapProgress
from dikmeans.io.tensor_file import read_tensor_file, write_tensor_file

BEST_FORMAT, BEST_VERSION = "dikmeans-best-run", 2


@contextlib.contextmanager
def open_memory(
    place: Any, seeds: Sequence[int], fingerprint: Callable[[], dict[str, Any]]
) -> Iterator[Memory]:
    """The memory of a fit: the checkpoint in the folder `place`, or none if that is None.

    Parameters
    ----------
    place : path-like or None
    seeds : sequence of int
        Of the runs, if they have not been begun.
    fingerprint : callable
        Gives what `fingerprint_of` says of the fit.
    """
    if place is None:
        yield NoMemory(seeds)
    else:
        with CheckpointFolder(place) as folder:
            yield Checkpoint(folder, seeds, fingerprint())


class Checkpoint:
    """What is kept of a fit in a folder, and read from there.

    Parameters
    ----------
    folder : CheckpointFolder
        Entered.
    seeds : sequence of int
        Of the runs; those in the folder, if there are any, come first.
    fingerprint : dict
        Of the fit. If the folder has another, it is refused.
    """

    def __init__(self, folder: CheckpointFolder, seeds: Sequence[int], fingerprint: dict[str, Any]):
        self._folder = folder
        self._fingerprint = fingerprint
        self.seeds: Sequence[int] = [int(seed) for seed in seeds]
        self.tally = Tally()
        self._number = 0
        self._best_name: str | None = None
        self._named: list[str] = []
        self._stand = "its beginning"
        self._unfinished: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None
        if folder.holds_something:
            self._read()
        else:
            self._write(None)

    def restore(self, run: Run) -> None:
        """Bring a run that has not begun to where it was, if it has been begun before."""
        if self._unfinished is None:
            return
        record, tensors = self._unfinished
        self._unfinished = None  # nobody needs the arrays twice
        with self._folder.reading():
            restore_run(run, record, tensors, self._folder.path)

    def keep(self, run: Run) -> None:
        """Remember where a run stands."""
        self._write(run)

    def keep_tally(self, tally: Tally) -> None:
        """Remember that a run is over."""
        is_new = tally.best is not self.tally.best
        self.tally = tally
        self._write(None, best=tally.best if is_new else None)

    def _write(self, run: Run | None, best: Outcome | None = None) -> None:
        """Put down the tally, with a new `best` run if there is one, and where the present run stands."""
        number, folder, best_name = self._number + 1, self._folder, self._best_name
        states: list[str] = []
        record: dict[str, Any] | None = None
        tensors: dict[str, np.ndarray] = {}
        with folder.writing(self._named, self._stand):
            if best is not None:
                best_name = write_best(best, folder.path, number)
            if run is not None:
                record, tensors = describe_run(run)
                states = record["states"] = write_state(run, folder.path, number)
            header = {
                "number": number,
                "fingerprint": self._fingerprint,
                "seeds": self.seeds,
                "finished": {
                    "runs": self.tally.n_runs,
                    "iterations": self.tally.n_iterations,
                    "best": best_name,
                },
                "run": record,
            }
            named = states if best_name is None else [*states, best_name]
            folder.write(header, tensors, named)
        self._number, self._best_name, self._named = number, best_name, named
        self._stand = self._where(record)

    def _read(self) -> None:
        header, tensors = self._folder.read()
        with self._folder.reading():
            self._folder.refuse_other(differences(header["fingerprint"], self._fingerprint))
            seeds = [int(seed) for seed in header["seeds"]]
            finished, record = header["finished"], header["run"]
            n_runs, self._best_name = int(finished["runs"]), finished["best"]
            if len(seeds) != len(self.seeds) or not 0 <= n_runs <= len(seeds):
                raise ValueError(f"it has {len(seeds)} seeds for {len(self.seeds)} runs")
            if (self._best_name is None) != (n_runs == 0):
                raise ValueError("it names no best run")
            best = None if self._best_name is None else read_best(self._folder.path / self._best_name)
            self.seeds = seeds
            self.tally = Tally(n_runs, int(finished["iterations"]), best)
            self._number = int(header["number"])
            self._named = [*(record["states"] if record else []), *([self._best_name] if best else [])]
            self._stand = self._where(record)
        self._unfinished = None if record is None else (record, tensors)
        self._folder.sweep(self._named)

    def _where(self, record: dict[str, Any] | None) -> str:
        """Where the fit stands, in words."""
        if record is not None:
            return f"run {self.tally.n_runs + 1}, iteration {len(record['history']['iterations'])}"
        return f"the end of run {self.tally.n_runs}" if self.tally.n_runs else "its beginning"


def write_state(run: Run, folder: Path, number: int) -> list[str]:
    """Keep the clustering of a run's bookmark; the names of its files."""
    assert run.bookmark is not None
    return run.images_of(run.bookmark.step).write_state(run.bookmark.clustering, folder, number)


def describe_run(run: Run) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Where a run stands, but for its state: as JSON, and as tensors."""
    mark = run.bookmark
    assert mark is not None
    assert run.first_centroids is not None
    generator, keys, position, has_gauss, gauss = mark.random_state
    record = {
        "step": mark.step,
        "done": mark.done,
        "reason": mark.reason,
        "random_state": [generator, position, has_gauss, gauss],
        "swaps": None,
        "history": asdict(run.history),
    }
    tensors = {
        "random_state": keys,
        "first_centroids": run.first_centroids,
        "centroids": mark.clustering.centroids,
    }
    if run.stiffness is not None:
        tensors["stiffness"] = run.stiffness
    if mark.swaps is not None:
        record["swaps"] = {
            "trials": mark.swaps.trials,
            "settling": mark.swaps.settling,
            "failed": sorted(mark.swaps.failed),
            "gains": [[cluster, gain] for cluster, (_, gain) in mark.swaps.splits.items()],
        }
        tensors.update({f"split-{cluster}": halves for cluster, (halves, _) in mark.swaps.splits.items()})
    return record, tensors


def restore_run(run: Run, record: dict[str, Any], tensors: dict[str, np.ndarray], folder: Path) -> None:
    """Bring a run to where `describe_run` and `write_state` found it."""
    step, swaps = record["step"], record["swaps"]
    if step not in run.steps:
        raise ValueError(f"it knows a step {step!r}, which this fit does not have")
    clustering = run.images_of(step).read_state(folder, record["states"], tensors["centroids"])
    generator, position, has_gauss, gauss = record["random_state"]
    run.history = read_history(record["history"])
    run.first_centroids = tensors["first_centroids"]
    run.stiffness = tensors.get("stiffness")
    run.bookmark = Bookmark(
        step,
        clustering,
        (generator, tensors["random_state"], position, has_gauss, gauss),
        done=int(record["done"]),
        reason=str(record["reason"]),
        swaps=None
        if swaps is None
        else SwapProgress(
            trials=int(swaps["trials"]),
            settling=swaps["settling"],
            splits={cluster: (tensors[f"split-{cluster}"], gain) for cluster, gain in swaps["gains"]},
            failed={(drop, split) for drop, split in swaps["failed"]},
        ),
    )


def write_best(best: Outcome, folder: Path, number: int) -> str:
    """Keep the best of the runs that are over; the name of its file."""
    name = f"best-{number:06d}.safetensors"
    tensors = {
        "forms": best.forms.pictures,
        "form_clusters": best.forms.clusters,
        "form_weights": best.form_weights,
        "first_centroids": best.first_centroids,
        "labels": best.labels,
    }
    if best.stiffness is not None:
        tensors["stiffness"] = best.stiffness
    header = {"distortion": best.distortion, "history": asdict(best.history)}
    write_tensor_file(folder / name, BEST_FORMAT, BEST_VERSION, header, tensors)
    return name


def read_best(path: Path) -> Outcome:
    """What `write_best` has kept."""
    header, tensors = read_tensor_file(path, BEST_FORMAT, BEST_VERSION, "best run of a fit")
    return Outcome(
        Forms(tensors["forms"], tensors["form_clusters"]),
        tensors["form_weights"],
        tensors["first_centroids"],
        tensors.get("stiffness"),
        tensors["labels"],
        float(header["distortion"]),
        read_history(header["history"]),
    )


def read_history(record: dict[str, Any]) -> History:
    """A history that was put down as JSON."""
    return History([Iteration(**iteration) for iteration in record["iterations"]], str(record["stopped"]))
