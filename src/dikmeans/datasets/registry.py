"""`load`: a named data set, a folder or zip of pictures or sounds, or an array file."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dikmeans._typing import PathLike
from dikmeans.datasets.errors import (
    IgnoredFilesWarning,
    MissingDataError,
    MixedKindsError,
    UnknownNameError,
    UnknownOptionError,
    check_choice,
)
from dikmeans.datasets.files.members import has_extension
from dikmeans.datasets.files.paths import get_data_home
from dikmeans.datasets.files.tree import open_tree
from dikmeans.datasets.imageset import ImageSet
from dikmeans.datasets.pictures.arrays import ARRAY_EXTENSIONS, load_arrays
from dikmeans.datasets.pictures.decode import PICTURE_EXTENSIONS
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.sets.arabic_characters import load_arabic_characters
from dikmeans.datasets.sets.audio_mnist import load_audio_mnist
from dikmeans.datasets.sets.deformed_mnist import load_affine_mnist, load_diffeo_mnist
from dikmeans.datasets.sets.emnist_letters import load_emnist_letters
from dikmeans.datasets.sets.face_pose import load_face_pose
from dikmeans.datasets.sets.mnist import load_mnist
from dikmeans.datasets.sets.published import SPLITS, DatasetLoader
from dikmeans.datasets.sets.rock_paper_scissors import load_rock_paper_scissors
from dikmeans.datasets.sounds.folder import load_sounds
from dikmeans.datasets.sounds.read import SOUND_EXTENSIONS

DATASETS: dict[str, DatasetLoader] = {
    "mnist": load_mnist,
    "affine-mnist": load_affine_mnist,
    "diffeo-mnist": load_diffeo_mnist,
    "audio-mnist": load_audio_mnist,
    "emnist-letters": load_emnist_letters,
    "rock-paper-scissors": load_rock_paper_scissors,
    "face-pose": load_face_pose,
    "arabic-characters": load_arabic_characters,
}

# Files of another kind, such as the cover of an album, are left aside if they are so few beside the
# rest.
FEW = 0.1


def dataset_names() -> tuple[str, ...]:
    """Names of the data sets that `load` knows.

    Examples
    --------
    >>> "mnist" in dataset_names()
    True
    """
    return tuple(DATASETS)


def load(
    name: PathLike,
    split: str = "train",
    data_home: PathLike | None = None,
    *,
    download: bool = True,
    **options: Any,
) -> ImageSet:
    """Load a data set, a folder or zip of pictures or sounds, or an array file.

    Parameters
    ----------
    name : str or path
        One of `dataset_names()`, or the path of a folder, a zip, an array file (``.npy``,
        ``.npz``), a picture or a sound. A folder has pictures or sounds; a few files of the other
        kind are left aside with a warning. A data set is preferred to a folder of the same name:
        write ``./mnist`` to mean the folder.
    split : {"train", "test"}, default="train"
        Which split. A folder without folders ``train`` and ``test`` is all "train".
    data_home : path, optional
        Where the published files are, each data set in its own folder. By default the environment
        variable ``DIKMEANS_DATA``, then the per-user cache (``~/.cache/dikmeans`` on Linux).
    download : bool, default=True
        Download published files that are not there, where their checksum is known.
    **options
        Of the data set: ``size`` (hands, faces, sounds), ``face_box`` (faces), ``invert`` (hands),
        ``trim``, ``duration``, ``speakers`` (sounds), ``seed``, ``per_class``, ``test_fraction``
        (the deformed digits); or of `load_folder`, `load_sounds` or `load_arrays`.

    Returns
    -------
    ImageSet

    Raises
    ------
    UnknownNameError
        No such data set, folder or file.
    UnknownOptionError
        An option that this kind of data does not have.
    MissingDataError
        The files of the data set are not there; says which to put where.
    MixedKindsError
        A folder has pictures and sounds.
    DownloadError
        They could not be downloaded.
    CorruptFileError
        They are damaged.

    Examples
    --------
    >>> load("mnits")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dikmeans.datasets.errors.UnknownNameError: ... Did you mean 'mnist'? ...
    """
    dataset = DATASETS.get(str(name))
    if dataset is not None:
        check_choice("split", split, SPLITS)
        _check_options(str(name), options, dataset)
        return dataset(split, get_data_home(data_home), download, **options)
    path = Path(name).expanduser()
    if str(name) and path.exists():
        loader = loader_of(path)
        _check_options(str(path), options, loader)
        return loader(path, split=split, **options)
    raise UnknownNameError(str(name), _nearest_name(str(name).lower()), DATASETS)


def loader_of(path: Path) -> Callable[..., ImageSet]:
    """The loader for what is at a path, which exists: arrays, pictures or sounds.

    Raises
    ------
    MissingDataError
        There are neither pictures nor sounds.
    MixedKindsError
        There are pictures and sounds, and neither are but a few.
    """
    if path.suffix.lower() in ARRAY_EXTENSIONS:
        return load_arrays
    with open_tree(path, single=PICTURE_EXTENSIONS | SOUND_EXTENSIONS) as tree:
        pictures = [name for name in tree.names if has_extension(name, PICTURE_EXTENSIONS)]
        sounds = [name for name in tree.names if has_extension(name, SOUND_EXTENSIONS)]
    few = min((pictures, "pictures"), (sounds, "sounds"), key=lambda kind: len(kind[0]))
    n_most = max(len(pictures), len(sounds))
    if not tree.names:
        raise MissingDataError(path, "has no pictures or sounds: it is empty")
    if n_most == 0:
        expected = ", ".join(sorted(PICTURE_EXTENSIONS | SOUND_EXTENSIONS))
        raise MissingDataError(
            path,
            f"has no pictures or sounds: {len(tree.names)} file(s), none of them {expected}",
            "Convert the files to one of these, or choose another folder.",
        )
    if len(few[0]) > FEW * n_most:
        raise MixedKindsError(path, len(pictures), len(sounds))
    if few[0]:
        warnings.warn(IgnoredFilesWarning(path, few[1], few[0]), stacklevel=4)
    return load_sounds if len(sounds) > len(pictures) else load_folder


def option_names(loader: Callable[..., ImageSet]) -> list[str]:
    """Names of a loader's options."""
    parameters = inspect.signature(loader).parameters.values()
    return [p.name for p in parameters if p.default is not p.empty]


def _check_options(name: str, options: Iterable[str], loader: Callable[..., ImageSet]) -> None:
    known = option_names(loader)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UnknownOptionError(name, unknown, known)


def _nearest_name(typed: str) -> str | None:
    # Part of a name ("emnist") says more than similarity ("mnist" is nearer to it).
    containing = sorted((known for known in DATASETS if typed and typed in known), key=len)
    return next(iter(containing or difflib.get_close_matches(typed, DATASETS, n=1)), None)
