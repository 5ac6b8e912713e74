"""A folder of pictures, a zip of one, or one picture, to an `ImageSet`.

The order is natural (``img2`` before ``img10``), so that it does not depend on the file system. In
a zip, folders that hold everything are ignored. What the user leaves open (size, color, alpha) is
decided by a look at some of the pictures (`dikmeans.datasets.pictures.survey`).
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from dikmeans._typing import JSON, FloatArray, PathLike
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import TooLargeError, WorkingSizeWarning, check_choice
from dikmeans.datasets.files.members import MemberReader, Members, find_members
from dikmeans.datasets.files.tree import open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.labels import AUTO, find_labels
from dikmeans.datasets.pictures.decode import (
    PICTURE_EXTENSIONS,
    DecodeOptions,
    check_size,
    decode_picture,
    picture_size,
)
from dikmeans.datasets.pictures.padding import fitted_size
from dikmeans.datasets.pictures.survey import (
    LARGEST_SIDE,
    N_PICTURES,
    Survey,
    survey_pictures,
    working_size,
)

Size = tuple[int, int]


def load_folder(
    path: PathLike,
    size: Size | int | Literal["auto"] = "auto",
    *,
    split: str | None = None,
    labels: PathLike = AUTO,
    stretch: bool = False,
    color: bool | None = None,
    alpha: bool | None = None,
    background: float = 0.0,
    invert: bool = False,
    on_unreadable: Literal["skip", "error"] = "skip",
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load a folder (or a zip) of pictures, or one picture.

    Parameters
    ----------
    path : path
        A folder, a zip of one, or a picture.
    size : (int, int), int or "auto", default="auto"
        Height and width of all pictures; or pixels on the longer side, in the proportions of the
        median size. By default the smallest size that leaves 97.5 % of the pictures' detail, at
        most 128 pixels a side (with a warning if that changes pictures).
    split : {"train", "test"}, optional
        Which split to take of a folder that holds ``train`` and ``test``. A folder without them
        is one split, "train".
    labels : {"auto", "folders", "none"} or path, default="auto"
        Take folders for labels; a table with columns ``file`` and ``label``; or no labels. By
        default folders are labels if the tree is plainly ``class/*.png``.
    stretch : bool, default=False
        Stretch pictures of other proportions, instead of padding them with their ground.
    color : bool, optional
        Three channels, or one. By default three if the pictures have colors.
    alpha : bool, optional
        One more channel for transparency, the last. By default if pictures are transparent in
        parts.
    background : float, default=0
        Gray level in [0, 1] under transparent pixels where alpha is not kept.
    invert : bool, default=False
        For dark subjects on white: make the background 0. Rarely needed: `DIKMeans` finds the
        background of pictures.
    on_unreadable : {"skip", "error"}, default="skip"
        Leave out unreadable files (with a warning that names and counts them), or refuse.
    max_bytes : int, default=4 GiB
        Refuse to build a larger array.

    Returns
    -------
    ImageSet
        ``names`` are the paths below `path`; ``options`` are those by which other pictures are
        loaded in the same way.

    Raises
    ------
    MissingDataError
        Nothing at `path`, or no pictures in it.
    CorruptFileError
        An unreadable file, if `on_unreadable` is "error"; or no readable file at all.
    AmbiguousLabelsError, LabelsFileError
        The labels that were asked for cannot be had.
    TooLargeError
        More than `max_bytes`.
    UnsafeFileError
        A decompression bomb, or a zip with names that point outside of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for animal in ("cat", "dog"):
    ...         (pathlib.Path(folder) / animal).mkdir()
    ...         Image.new("L", (8, 6)).save(f"{folder}/{animal}/1.png")
    ...     pets = load_folder(folder)
    >>> pets.shape, pets.class_names, pets.labels.tolist(), pets.names
    ((6, 8), ('cat', 'dog'), [0, 1], ('cat/1.png', 'dog/1.png'))
    >>> pets.label_source
    'folders'
    """
    check_choice("on_unreadable", on_unreadable, ("skip", "error"))
    frame = None if isinstance(size, str | int) else size
    options = DecodeOptions(frame, stretch, bool(color), bool(alpha), background, invert)
    path = Path(path).expanduser()
    with open_tree(path, single=PICTURE_EXTENSIONS) as tree:
        members = find_members(tree, PICTURE_EXTENSIONS, split, "pictures")
        reader = MemberReader(tree, "picture", skip=on_unreadable == "skip")
        sizes = {} if frame is not None else dict(reader.read_each(members, picture_size))
        readable = {name: members[name] for name in sizes or members}
        if frame is None or color is None or alpha is None:
            survey = _survey(reader, readable)
            options = replace(
                options,
                size=frame or _choose_size(size, Counter(sizes.values()), survey, path, stretch),
                color=survey.color if color is None else color,
                alpha=survey.alpha if alpha is None else alpha,
            )
        names, images = _decode_all(reader, readable, options, max_bytes)
        reader.warn()
        found = find_labels(names, labels, path, others=[*members, *tree.names])
    return ImageSet(
        images=images,
        labels=found.numbers,
        class_names=found.class_names,
        names=tuple(names),
        card=_card(path, images, options, len(reader.errors)),
        label_source=found.source,
        options=_as_json(options),
        frame="stretch" if options.stretch else "fit",
    )


def _survey(reader: MemberReader, members: Members) -> Survey:
    """Look at some of the pictures; those that cannot be read are counted when all are."""
    chosen = np.unique(np.linspace(0, len(members) - 1, N_PICTURES).round().astype(int))
    names = list(members)

    def small(content: bytes, name: str) -> FloatArray:
        size = picture_size(content, name)
        if max(size) > LARGEST_SIDE:
            size = fitted_size(size, (LARGEST_SIDE, LARGEST_SIDE))
        return decode_picture(content, name, DecodeOptions(size, color=True, alpha=True))

    looking = MemberReader(reader.tree, reader.kind, skip=True)
    some = {names[number]: members[names[number]] for number in chosen}
    return survey_pictures([picture for _, picture in looking.read_each(some, small)])


def _choose_size(
    size: object, counts: Counter[Size], survey: Survey, path: Path, stretch: bool
) -> Size:
    """The common size of pictures of these sizes, with a warning if it is not their own."""
    sides = np.array(list(counts.elements()))
    height, width = (int(side) for side in np.median(sides, axis=0).round())
    if isinstance(size, int):
        check_size((size, size))
        return fitted_size((height, width), (size, size))
    chosen = working_size((height, width), survey)
    if set(counts) != {chosen}:
        left = survey.details_at(max(chosen))
        warning = WorkingSizeWarning(path, counts, chosen, detail=left, stretched=stretch)
        warnings.warn(warning, stacklevel=4)
    return chosen


def _decode_all(
    reader: MemberReader, members: Members, options: DecodeOptions, max_bytes: int
) -> tuple[list[str], FloatArray]:
    """Decode into one array, allocated beforehand so that the memory needed is known."""
    assert options.size is not None
    channels = () if options.n_channels == 1 else (options.n_channels,)
    shape = (len(members), *options.size, *channels)
    n_bytes = math.prod(map(int, shape)) * np.dtype(np.float32).itemsize
    if n_bytes > max_bytes:
        raise TooLargeError(reader.tree.path, n_bytes, max_bytes)
    images = np.empty(shape, np.float32)
    names: list[str] = []
    for name, pixels in reader.read_each(
        members, lambda content, name: decode_picture(content, name, options)
    ):
        images[len(names)] = pixels
        names.append(name)
    return names, images[: len(names)]


def _as_json(options: DecodeOptions) -> JSON:
    """The options of `load_folder` that have these effects; those that have none are left out."""
    chosen: JSON = {"size": options.size, "color": options.color, "alpha": options.alpha}
    chosen |= {"stretch": True} if options.stretch else {}
    chosen |= {"invert": True} if options.invert else {}
    return chosen | ({"background": options.background} if options.background else {})


def _card(path: Path, images: FloatArray, options: DecodeOptions, n_unreadable: int) -> Card:
    assert options.size is not None
    processing = ["color" if options.color else "gray", format_shape(options.size)]
    processing += ["transparency kept"] if options.alpha else []
    processing += ["inverted"] if options.invert else []
    processing += [f"{n_unreadable} unreadable file(s) left out"] if n_unreadable else []
    return Card(
        title=path.name,
        source=f"pictures in {path.name}",
        citation="-",
        size=f"{len(images)} images of {format_shape(images.shape[1:])}",
        processing=", ".join(processing),
    )
