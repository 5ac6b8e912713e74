"""The RUN folder: one clustering of one set of images, with everything needed to look at it later.

    RUN/
      model.safetensors   the fitted model
      labels.csv          file, cluster, cost, margin to the second choice
      centroids/          the centroids as pictures, numbered as the clusters
      run.json            parameters, versions, history, and where the images came from
      report.html         if it was asked for

A run is written whole or not at all: beside its place first, flushed to the disk, then renamed. What is
replaced stays until the new run is complete. When read, a run is checked: a missing, cut or foreign file is
refused by name.
"""

from __future__ import annotations

import json
import platform
import warnings
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.datasets import DataError, ImageSet, Source
from dikmeans.io.atomic import atomic_folder, check_can_make
from dikmeans.io.model_file import ModelFileError, load_model
from dikmeans.io.parameters import parameters_as_json, plain
from dikmeans.kmeans import DIKMeans
from dikmeans.kmeans.assignment import Assignments
from dikmeans.runs.labels_file import LabelRow, label_rows, rows_as_csv, rows_from_csv
from dikmeans.runs.picture_file import require_pillow, write_picture

FORMAT = "dikmeans-run"
VERSION = 1
MODEL, LABELS, CENTROIDS, INFO, REPORT = (
    "model.safetensors",
    "labels.csv",
    "centroids",
    "run.json",
    "report.html",
)
_OURS = {MODEL, LABELS, CENTROIDS, INFO, REPORT}
_LIBRARIES = ("dikmeans", "numpy", "scipy", "scikit-learn", "numba")


class RunFolderError(ValueError):
    """A folder that is not a run, is damaged, or must not be overwritten; or images that went away."""


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A run that was read from its folder.

    Attributes
    ----------
    path : pathlib.Path
    model : DIKMeans
    labels : list of LabelRow
        A row an image, in the order of the images.
    info : dict
        The content of ``run.json``.
    source : Source
        Where the images come from.
    """

    path: Path
    model: DIKMeans
    labels: list[LabelRow]
    info: dict[str, Any]
    source: Source

    def load_images(self, name: str | None = None) -> ImageSet:
        """The images of the run, read again.

        Parameters
        ----------
        name : str, optional
            Where they are now, if they have moved.

        Raises
        ------
        RunFolderError
            They are not there any more, or are not the ones that were clustered.
        """
        source = self.source if name is None else replace(self.source, name=Source.of(name).name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # all that was said when the run was made
                images = source.load()
        except (
            DataError,
            ValueError,
            TypeError,
        ) as error:  # options of the file may be no options at all
            raise RunFolderError(
                f"The images of {self.path} cannot be read again from {source.name}: {error} If they have "
                "moved, say where they are now; if they are gone, the run can still be used to predict."
            ) from error
        recorded = self.info["input"]
        files = tuple(row.file for row in self.labels)
        if images.names == files and images.checksum() == recorded["checksum"]:
            return images
        gone, new = set(files) - set(images.names), set(images.names) - set(files)
        what = (
            f"{len(gone)} of {len(files)} have gone and {len(new)} are new"
            if gone or new
            else "the names are the same, the pixels differ"
        )
        raise RunFolderError(
            f"The images in {source.name} are not the ones that {self.path} was made from: {what}. Put the "
            "old ones back, or fit anew."
        )


def write_run(
    path: Path,
    model: DIKMeans,
    images: ImageSet,
    source: Source,
    assignments: Assignments,
    *,
    seconds: float,
    interrupted: bool = False,
    force: bool = False,
) -> None:
    """Write a run, whole or not at all.

    Parameters
    ----------
    path : path
        The folder to make.
    model : DIKMeans
        Fitted on `images`.
    images : ImageSet
    source : Source
        Where they came from.
    assignments : Assignments
        Of the images.
    seconds : float
        How long the fit took.
    interrupted : bool
        Whether it was stopped before its end.
    force : bool
        Replace a run that is there already.

    Raises
    ------
    RunFolderError
        There is a run already, or something that is no run.
    """
    path = check_place(path, force=force)
    info = {
        "format": FORMAT,
        "version": VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "parameters": parameters_as_json(model),
        "distortion": float(model.inertia_),
        "sizes": np.bincount(assignments.labels, minlength=model.n_clusters).tolist(),
        "history": asdict(model.history_),
        "input": {
            **source.to_json(),
            "title": images.card.title,
            "n_images": len(images),
            "shape": list(images.shape),
            "checksum": images.checksum(),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
    }
    with atomic_folder(path, replace=force) as folder:
        model.save(folder / MODEL)
        (folder / LABELS).write_bytes(rows_as_csv(label_rows(images.names, assignments)))
        (folder / CENTROIDS).mkdir()
        for (cluster, form), picture in zip(
            number_forms(model.prototype_clusters_), model.prototypes_, strict=True
        ):
            write_picture(
                folder / CENTROIDS / centroid_name(cluster, model.n_clusters, form), picture
            )
        # plain ASCII: a path may hold bytes that are no UTF-8
        (folder / INFO).write_text(json.dumps(info, indent=2, default=plain) + "\n", "ascii")


def number_forms(clusters: np.ndarray) -> list[tuple[int, int]]:
    """The cluster of each form, and its number within it, from the clusters of all.

    Examples
    --------
    >>> number_forms(np.array([0, 0, 1]))
    [(0, 0), (0, 1), (1, 0)]
    """
    within = np.arange(len(clusters)) - np.searchsorted(clusters, clusters)
    return list(zip(clusters.tolist(), within.tolist(), strict=True))


def centroid_name(cluster: int, n_clusters: int, form: int = 0) -> str:
    """File name of a centroid, or of a further form; as many digits as the last needs, so that clusters sort.

    Examples
    --------
    >>> centroid_name(3, 12), centroid_name(3, 12, form=1)
    ('cluster-03.png', 'cluster-03_form-2.png')
    """
    further = f"_form-{form + 1}" if form else ""
    return f"cluster-{cluster:0{len(str(n_clusters - 1))}d}{further}.png"


def check_place(path: Path, *, force: bool) -> Path:
    """The place for a new run as an absolute path, if one may be written there.

    Meant to be called before the work: what would fail at its end is better known at its beginning.

    Raises
    ------
    RunFolderError
        Something is there already: a run, without `force`; or files that are not of a run, which are never
        deleted.
    OSError
        Nothing can be written there.
    ImportError
        The library that writes the centroids' pictures is missing.
    """
    place = Path(path).expanduser().resolve()
    if place.exists() and not place.is_dir():
        raise RunFolderError(f"{path} is a file; a run is a folder. Choose another name.")
    found = {entry.name for entry in place.iterdir()} if place.is_dir() else set()
    if found and not force:
        raise RunFolderError(
            f"{path} exists already. Choose another name, or pass --force to replace it."
        )
    if found and (INFO not in found or found - _OURS):
        foreign = sorted(found - _OURS) or sorted(found)
        raise RunFolderError(
            f"{path} is not replaced: it holds {foreign[0]!r}"
            + (f" and {len(foreign) - 1} more" if len(foreign) > 1 else "")
            + ", which no run would write. Choose another name, or move it away."
        )
    check_can_make(place)
    require_pillow()
    return place


def open_run(path: Any) -> RunFolder:
    """Read a run.

    Parameters
    ----------
    path : path
        A folder written by `write_run`.

    Raises
    ------
    RunFolderError
        It is no run, or damaged; says which file.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        what = "is a file, not a run folder" if path.exists() else "does not exist"
        raise RunFolderError(f"{path} {what}. Make a run with: dikmeans fit INPUT -k K -o {path}")
    info, source = _read_info(path)
    try:
        model = load_model(DIKMeans, path / MODEL)
    except (ModelFileError, OSError) as error:
        raise _damaged(path / MODEL, error) from error
    try:
        rows = rows_from_csv((path / LABELS).read_bytes())
    except (ValueError, OSError) as error:
        raise _damaged(path / LABELS, error) from error
    if not rows or [row.cluster for row in rows] != model.labels_.tolist():
        raise _damaged(path / LABELS, f"its {len(rows)} rows are not the labels of {MODEL}")
    if info["input"]["n_images"] != len(rows) or info["input"]["shape"] != list(model.image_shape_):
        raise _damaged(path / INFO, f"its images are not those of {MODEL}")
    return RunFolder(path, model, rows, info, source)


def _read_info(path: Path) -> tuple[dict[str, Any], Source]:
    place = path / INFO
    try:
        info = json.loads(place.read_text("utf-8"))
        known = isinstance(info, dict) and info.get("format") == FORMAT
        if known and info.get("version") != VERSION:
            raise RunFolderError(
                f"{place} has run format version {info.get('version')}; this dikmeans {version('dikmeans')} "
                f"reads version {VERSION}. Update dikmeans, or fit anew."
            )
        if not known:
            raise ValueError("it does not describe a run")
        _check_entries(info, _ENTRIES)
        _check_entries(info["input"], _INPUT_ENTRIES)
        return info, Source.from_json(info["input"])
    except RunFolderError:
        raise
    except FileNotFoundError as error:
        raise RunFolderError(f"{path} is not a run: there is no {INFO} in it.") from error
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise _damaged(place, error) from error


_ENTRIES: dict[str, Any] = {
    "created": str,
    "seconds": int | float,
    "interrupted": bool,
    "parameters": dict,
    "distortion": int | float,
    "sizes": list,
    "history": dict,
    "input": dict,
}
_INPUT_ENTRIES: dict[str, Any] = {"title": str, "n_images": int, "shape": list, "checksum": str}


def _check_entries(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, kind in wanted.items():
        if name not in found:
            raise ValueError(f"its entry {name!r} is missing")
        if not isinstance(found[name], kind):
            raise ValueError(f"its entry {name!r} is {str(found[name])[:40]!r}")


def _damaged(place: Path, why: object) -> RunFolderError:
    if isinstance(why, FileNotFoundError):
        return RunFolderError(
            f"The run {place.parent} is damaged: {place.name} is missing. Fit anew."
        )
    return RunFolderError(
        f"The run {place.parent} is damaged: {place.name} cannot be used: {why} Fit anew."
    )
