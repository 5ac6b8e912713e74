"""The RUN folder: one clustering of one set of images, with everything needed to look at it later.

    RUN/
      model.safetensors   the fitted model
      labels.csv          file, cluster, prototype, cost, margin to the second-best cluster
      pictures.safetensors  the pictures as they were compared, if they are not too large
      centroids/          the prototypes as pictures, numbered by cluster: means of the originals of
                          their members; in as-compared/ what the machine compares
      run.json            parameters, versions, history, and where the images came from
      report.html         the report, once it was made
      refinement.json     what a refinement has changed, if the run was made by one

A run appears whole or not at all: it is written under another name beside its place, flushed to the
disk, then renamed. A run that is replaced stays until the new one is complete. Reading checks every
file and names the one that is missing, damaged, or does not belong to the others.
"""

from __future__ import annotations

import json
import platform
import warnings
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from types import UnionType

import numpy as np

from dikmeans._typing import JSON, PathLike
from dikmeans.datasets import DataError, ImageSet, ImageSource, UnknownNameError
from dikmeans.errors import DikmeansError
from dikmeans.estimator import DIKMeans
from dikmeans.io.atomic import atomic_folder, check_can_make
from dikmeans.io.tensor_file import TensorFileError
from dikmeans.model_file import ModelFileError, encode_parameters, plain
from dikmeans.runs.labels_file import (
    LabelRow,
    label_rows,
    prototype_numbers,
    rows_as_csv,
    rows_from_csv,
)
from dikmeans.runs.originals import Originals, find_originals, record_originals
from dikmeans.runs.picture_file import require_pillow, write_compared, write_picture
from dikmeans.runs.pictures_file import read_pictures, write_pictures
from dikmeans.runs.portraits import Portraits, make_portraits

FORMAT, VERSION = "dikmeans-run", 1
MODEL, LABELS, CENTROIDS = "model.safetensors", "labels.csv", "centroids"
AS_COMPARED = "as-compared"
INFO, REPORT, PICTURES = "run.json", "report.html", "pictures.safetensors"
REFINEMENT = "refinement.json"
_ENTRIES_OF_A_RUN = {MODEL, LABELS, CENTROIDS, INFO, REPORT, PICTURES, REFINEMENT}
_LIBRARIES = ("dikmeans", "numpy", "scipy", "scikit-learn", "numba")


class RunFolderProblem(Enum):
    """Why a folder cannot be used as a run; the value says what to do."""

    NOT_A_RUN = "Open a folder that `write_run` has made."
    DAMAGED = "Fit again."
    OTHER_VERSION = "Update dikmeans, or fit again."
    EXISTS = "Choose another path, or pass replace=True."
    EXPORT_EXISTS = "Choose another path, or remove it first."
    NO_LINKS = "Pass links=False to copy the originals."
    FOREIGN = "Choose another path, or move these files away."
    IMAGES_UNREADABLE = "If they have moved, pass their new path; `predict` does not need them."
    IMAGES_CHANGED = "Restore the old images, or fit again."


class RunFolderError(DikmeansError, ValueError):
    """A folder that is not a run, is damaged, must not be replaced, or has lost its images.

    Attributes
    ----------
    path : pathlib.Path
        The folder.
    problem : RunFolderProblem
    reason : str
        What is wrong; continues a sentence that begins with `path`.
    """

    def __init__(self, path: Path, problem: RunFolderProblem, reason: str):
        self.path, self.problem, self.reason = path, problem, reason
        super().__init__(f"{path} {reason.rstrip('.')}. {problem.value}")


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A run, as it was written or read.

    Attributes
    ----------
    path : pathlib.Path
    model : DIKMeans
    labels : list of LabelRow
        One row per image, in the order of the images.
    info : dict
        The content of ``run.json``.
    source : ImageSource
        Where the images come from.
    portraits : Portraits or None
        What the prototypes look like, if the run has just been written: they take a while to make.
    """

    path: Path
    model: DIKMeans
    labels: list[LabelRow]
    info: JSON
    source: ImageSource
    portraits: Portraits | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the images."""
        return tuple(row.file for row in self.labels)

    def load_images(self, name: str | None = None) -> ImageSet:
        """The images of the run: those that it has kept, or those of its source, loaded again.

        Parameters
        ----------
        name : str, optional
            Where they are now, if the run has not kept them and they have moved.

        Raises
        ------
        RunFolderError
            They cannot be read, or are not the ones that were clustered.
        """
        if (self.path / PICTURES).exists():
            try:
                images = read_pictures(self.path / PICTURES, self.names)
            except (TensorFileError, OSError) as error:
                raise _damaged(self.path, PICTURES, error) from error
            if images.checksum() != self.info["input"]["checksum"]:
                raise _damaged(self.path, PICTURES, f"its pictures are not those of {MODEL}")
            return images
        return self._load_again(name)

    def _load_again(self, name: str | None) -> ImageSet:
        source = self.source
        if name is not None:
            source = replace(source, name=ImageSource.resolve(name).name)
        try:
            with warnings.catch_warnings():
                # All of it was said when the run was made.
                warnings.simplefilter("ignore", UserWarning)
                images = source.load()
        # A ValueError or TypeError: the file may name options that do not exist.
        except (DataError, ValueError, TypeError) as error:
            is_gone = isinstance(error, UnknownNameError)
            why = "which does not exist" if is_gone else f"which cannot be read again: {error}"
            reason = f"was made from images in {source.name}, {why}"
            raise RunFolderError(self.path, RunFolderProblem.IMAGES_UNREADABLE, reason) from error
        files = self.names
        if images.names == files and images.checksum() == self.info["input"]["checksum"]:
            return images
        n_gone, n_new = len({*files} - {*images.names}), len({*images.names} - {*files})
        change = (
            f"{n_gone} of {len(files)} are gone and {n_new} are new"
            if n_gone or n_new
            else "the names are the same, the pixels differ"
        )
        reason = f"was not made from the images that are now in {source.name}: {change}"
        raise RunFolderError(self.path, RunFolderProblem.IMAGES_CHANGED, reason)

    def find_originals(self, images: ImageSet, moved_to: str | None = None) -> Originals:
        """The originals of `images`, as `load_images` has returned them, where they are now.

        Never an error: originals that have moved, changed or cannot be read are named in
        ``problems``, and the images take their place.
        """
        return find_originals(images, self.source, self.info.get("originals"), moved_to)


def write_run(
    path: PathLike,
    model: DIKMeans,
    images: ImageSet,
    source: ImageSource,
    *,
    seconds: float,
    interrupted: bool = False,
    replace: bool = False,
    refinement: JSON | None = None,
) -> RunFolder:
    """Write a run, whole or not at all, and return it.

    Parameters
    ----------
    path : path-like
        The folder to make.
    model : DIKMeans
        Fitted on `images`; its ``assignment_`` becomes ``labels.csv``.
    images : ImageSet
    source : ImageSource
        Where the images came from.
    seconds : float
        Duration of the fit.
    interrupted : bool, default=False
        Whether the fit was stopped before its end.
    replace : bool, default=False
        Replace a run that exists already.
    refinement : dict, optional
        What a refinement has changed, if the run was made by one: becomes ``refinement.json``.

    Raises
    ------
    RunFolderError
        There is a run already, or a folder that is not a run.
    """
    place = check_place(path, replace=replace)
    rows = label_rows(images.names, model.assignment_, model.prototype_clusters_)
    info: JSON = {
        "format": FORMAT,
        "version": VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "parameters": encode_parameters(model),
        "inertia": float(model.inertia_),
        "sizes": np.bincount(
            model.labels_[model.labels_ >= 0], minlength=model.n_clusters
        ).tolist(),
        "history": asdict(model.history_),
        "input": {
            **source.to_json(),
            "title": images.card.title,
            "kind": images.kind,
            "label_source": images.label_source,
            "n_images": len(images),
            "shape": list(images.shape),
            "checksum": images.checksum(),
        },
        "originals": record_originals(images, source),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
    }
    # ASCII only: a path may hold bytes that are not UTF-8.
    text = json.dumps(info, indent=2, default=plain)
    portraits = make_portraits(model, images, find_originals(images, source))
    with atomic_folder(place, replace=replace) as folder:
        model.save(folder / MODEL)
        (folder / LABELS).write_bytes(rows_as_csv(rows))
        write_pictures(folder / PICTURES, images)
        _write_centroids(folder / CENTROIDS, model, images, portraits)
        if refinement is not None:
            (folder / REFINEMENT).write_text(json.dumps(refinement, indent=2) + "\n", "ascii")
        (folder / INFO).write_text(text + "\n", "ascii")
    return RunFolder(Path(path).expanduser(), model, rows, json.loads(text), source, portraits)


def _write_centroids(folder: Path, model: DIKMeans, images: ImageSet, portraits: Portraits) -> None:
    """Write every prototype as people know it, and as the machine compares it."""
    (folder / AS_COMPARED).mkdir(parents=True)
    low = 0.0 if portraits.from_bytes else min(0.0, float(images.images.min()))
    high = 255.0 if portraits.from_bytes else max(float(images.images.max()), low + 1e-9)
    numbers = prototype_numbers(model.prototype_clusters_)
    for cluster, number, compared, portrait in zip(
        model.prototype_clusters_, numbers, model.prototypes_, portraits.pictures, strict=True
    ):
        file = prototype_file(int(cluster), int(number), model.n_clusters)
        write_compared(folder / AS_COMPARED / file, compared)
        if np.isnan(portrait).any():  # it has no members
            write_compared(folder / file, compared)
        else:
            write_picture(folder / file, (portrait - low) / (high - low))


def prototype_file(cluster: int, number: int, n_clusters: int) -> str:
    """File name of a prototype's picture, padded with zeros so that clusters sort.

    Examples
    --------
    >>> prototype_file(3, 0, n_clusters=12), prototype_file(3, 1, n_clusters=12)
    ('cluster-03.png', 'cluster-03_prototype-1.png')
    """
    further = f"_prototype-{number}" if number else ""
    return f"cluster-{cluster:0{len(str(n_clusters - 1))}d}{further}.png"


def check_place(path: PathLike, *, replace: bool) -> Path:
    """The absolute path of a new run, if it can be written there.

    Call it before the work too, so that nobody waits for a fit that cannot be saved.

    Raises
    ------
    RunFolderError
        Something is there already: a run, without `replace`; or files that are not part of a run,
        which are never deleted.
    OSError
        Nothing can be written there.
    MissingExtraError
        Pillow, which writes the pictures, is not installed.
    """
    path = Path(path)
    place = path.expanduser().resolve()
    if place.exists() and not place.is_dir():
        reason = "is a file; a run is a folder"
        raise RunFolderError(path, RunFolderProblem.FOREIGN, reason)
    entries = {entry.name for entry in place.iterdir()} if place.is_dir() else set()
    if entries and not replace:
        raise RunFolderError(path, RunFolderProblem.EXISTS, "exists already")
    if entries and (INFO not in entries or entries - _ENTRIES_OF_A_RUN):
        foreign = sorted(entries - _ENTRIES_OF_A_RUN) or sorted(entries)
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        reason = f"is not replaced: it holds {foreign[0]!r}{more}, which is not part of a run"
        raise RunFolderError(path, RunFolderProblem.FOREIGN, reason)
    check_can_make(place)
    require_pillow()
    return place


def open_run(path: PathLike) -> RunFolder:
    """Read a run.

    Parameters
    ----------
    path : path-like
        A folder written by `write_run`.

    Raises
    ------
    RunFolderError
        It is not a run, or it is damaged; the reason names the file.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        reason = "is a file; a run is a folder" if path.exists() else "does not exist"
        raise RunFolderError(path, RunFolderProblem.NOT_A_RUN, reason)
    info, source = _read_info(path)
    try:
        model = DIKMeans.load(path / MODEL)
    except (ModelFileError, OSError) as error:
        raise _damaged(path, MODEL, error) from error
    try:
        rows = rows_from_csv((path / LABELS).read_bytes())
    except (ValueError, OSError) as error:
        raise _damaged(path, LABELS, error) from error
    if not rows or not _are_labels_of(model, rows):
        raise _damaged(path, LABELS, f"its {len(rows)} rows are not the labels of {MODEL}")
    if info["input"]["n_images"] != len(rows) or info["input"]["shape"] != list(model.image_shape_):
        raise _damaged(path, INFO, f"its images are not those of {MODEL}")
    return RunFolder(path, model, rows, info, source)


def _are_labels_of(model: DIKMeans, rows: list[LabelRow]) -> bool:
    """Whether rows have the clusters and prototypes that the model has assigned."""
    numbers = prototype_numbers(model.prototype_clusters_)[model.assignment_.prototypes]
    assigned = list(zip(model.labels_.tolist(), numbers.tolist(), strict=True))
    return [(row.cluster, row.prototype) for row in rows] == assigned


_ENTRIES: dict[str, type | UnionType] = {
    "created": str,
    "seconds": int | float,
    "interrupted": bool,
    "parameters": dict,
    "inertia": int | float,
    "sizes": list,
    "history": dict,
    "input": dict,
}
_INPUT_ENTRIES: dict[str, type | UnionType] = {
    "title": str,
    "kind": str,
    "n_images": int,
    "shape": list,
    "checksum": str,
}


def _read_info(path: Path) -> tuple[JSON, ImageSource]:
    try:
        info = json.loads((path / INFO).read_text("utf-8"))
        if not isinstance(info, dict) or info.get("format") != FORMAT:
            raise ValueError("it does not describe a run")
        if info.get("version") != VERSION:
            reason = (
                f"has version {info.get('version')} of the run format; dikmeans "
                f"{version('dikmeans')} reads version {VERSION} ({INFO})"
            )
            raise RunFolderError(path, RunFolderProblem.OTHER_VERSION, reason)
        _check_entries(info, _ENTRIES)
        _check_entries(info["input"], _INPUT_ENTRIES)
        return info, ImageSource.from_json(info["input"])
    except RunFolderError:
        raise
    except FileNotFoundError as error:
        reason = f"is not a run: there is no {INFO} in it"
        raise RunFolderError(path, RunFolderProblem.NOT_A_RUN, reason) from error
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise _damaged(path, INFO, error) from error


def _check_entries(record: JSON, expected: dict[str, type | UnionType]) -> None:
    for name, kind in expected.items():
        if name not in record:
            raise ValueError(f"its entry {name!r} is missing")
        if not isinstance(record[name], kind):
            raise ValueError(f"its entry {name!r} is {str(record[name])[:40]!r}")


def _damaged(path: Path, file: str, cause: Exception | str) -> RunFolderError:
    if isinstance(cause, FileNotFoundError):
        return RunFolderError(path, RunFolderProblem.DAMAGED, f"is damaged: {file} is missing")
    why = cause.reason if isinstance(cause, ModelFileError | TensorFileError) else cause
    reason = f"is damaged: {file} cannot be used: {why}"
    return RunFolderError(path, RunFolderProblem.DAMAGED, reason)
