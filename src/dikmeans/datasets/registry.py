"""The one door to data: `load` finds a named set, a folder or zip of pictures, or an array file."""

from __future__ import annotations

import difflib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dikmeans.datasets.errors import UnknownNameError, check_options
from dikmeans.datasets.files.home import resolve_data_home
from dikmeans.datasets.pictures.arrays import ARRAY_EXTENSIONS, load_arrays
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.sets import (
    arabic_characters,
    audio_mnist,
    deformed_mnist,
    emnist_letters,
    face_pose,
    mnist,
    rock_paper_scissors,
)

if TYPE_CHECKING:
    import os

    from dikmeans.datasets.imageset import ImageSet

NAMED_SETS = {
    named.name: named
    for named in (
        mnist.SET,
        deformed_mnist.AFFINE_SET,
        deformed_mnist.DIFFEO_SET,
        audio_mnist.SET,
        emnist_letters.SET,
        rock_paper_scissors.SET,
        face_pose.SET,
        arabic_characters.SET,
    )
}


def set_names() -> tuple[str, ...]:
    """Names of the data sets `load` knows.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> "mnist" in set_names()
    True
    """
    return tuple(NAMED_SETS)


def load(
    name: str | os.PathLike[str],
    split: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    **options: Any,
) -> ImageSet:
    """Load a data set, a folder or zip of pictures, or an array file.

    Parameters
    ----------
    name : str or path
        One of `set_names()`, or the path of a folder, a zip, or an array file (``.npy``, ``.npz``). A
        name wins over a folder of the same name: write ``./mnist`` to mean the folder.
    split : {"train", "test"}, default="train"
        Which part. A folder without folders ``train`` and ``test`` is all "train".
    data_home : path, optional
        Where the published files are, each set in its own folder. By default the environment
        variable ``DIKMEANS_DATA``, then ``~/.cache/dikmeans``.
    download : bool, default=True
        Fetch published files that are not there, where a checksum to verify them by is known.
    **options
        Of the set: ``size`` (hands, faces, sounds), ``face_box`` (faces), ``invert`` (hands),
        ``trim``, ``duration``, ``speakers`` (sounds), ``seed``, ``per_class``, ``test_fraction``
        (the deformed digits); or of `load_folder` or `load_arrays`.

    Returns
    -------
    ImageSet

    Raises
    ------
    UnknownNameError
        No such set, folder or file.
    UnknownOptionError
        An option that this kind of data does not have.
    MissingDataError
        The files of the set are not there; says which to put where.
    DownloadError
        They could not be fetched.
    CorruptFileError
        They are damaged.

    Examples
    --------
    >>> load("mnits")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dikmeans.datasets.errors.UnknownNameError: ... Did you mean 'mnist'? ...
    """
    named = NAMED_SETS.get(str(name))
    if named is not None:
        return named.load(split, resolve_data_home(data_home), download, options)
    path = Path(name).expanduser()
    if str(name) and path.exists():
        loader: Any = load_arrays if path.suffix.lower() in ARRAY_EXTENSIONS else load_folder
        check_options(str(path), options, list(inspect.signature(loader).parameters)[1:])
        return loader(path, split=split, **options)
    typed = str(name).lower()
    # Part of a name ("emnist") says more than likeness does ("mnist" is nearer to it).
    containing = sorted((known for known in NAMED_SETS if typed and typed in known), key=len)
    close = containing or difflib.get_close_matches(typed, NAMED_SETS, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownNameError(
        f"There is no data set, folder, zip or array file {str(name)!r}.{suggestion} The data sets are "
        f"{', '.join(NAMED_SETS)}."
    )
