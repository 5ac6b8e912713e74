"""A folder of sounds, a zip of one, or one sound, to an `ImageSet` of spectrograms.

Recordings differ in microphone, loudness, noise and rate, none of which is what they say. All are
seen in the band that all of them have, each band in its own decibels above its noise
(`dikmeans.datasets.sounds.spectrogram`).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np

from dikmeans._typing import FloatArray, PathLike
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import CorruptFileError, TooLargeError, check_choice
from dikmeans.datasets.files.members import MemberReader, find_members
from dikmeans.datasets.files.tree import open_tree
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.labels import AUTO, find_labels
from dikmeans.datasets.sounds.read import SOUND_EXTENSIONS, decode_sound
from dikmeans.datasets.sounds.spectrogram import (
    HIGHEST_HZ,
    USABLE_BAND,
    noise_free_spectrogram,
)

# Fewer bands and frames than where recordings are made alike: finer ones show pitch and noise.
DEFAULT_SIZE = (16, 48)
LOWEST_RATE = 8000
SHORTEST_SECONDS = 0.05


def load_sounds(
    path: PathLike,
    size: tuple[int, int] = DEFAULT_SIZE,
    *,
    split: str | None = None,
    labels: PathLike = AUTO,
    highest_hz: float | None = None,
    trim: bool = True,
    on_unreadable: Literal["skip", "error"] = "skip",
    max_bytes: int = 1 << 32,
) -> ImageSet:
    """Load a folder (or a zip) of sounds, or one sound, as spectrograms.

    Parameters
    ----------
    path : path
        A folder, a zip of one, or a sound: WAV; with soundfile (``pip install 'dikmeans[audio]'``)
        also FLAC, OGG, MP3 and others. Rates from 8,000 samples per second.
    size : (int, int), default=(16, 48)
        Bands and frames.
    split, labels, on_unreadable, max_bytes
        As in `load_folder`.
    highest_hz : float, optional
        Upper end of the highest band. By default 8,000, or less if not all files reach so far: a
        file has frequencies up to a little less than half its rate.
    trim : bool, default=True
        Cut silence before and after a sound, but for a margin.

    Returns
    -------
    ImageSet
        ``kind`` is "sound"; ``names`` are the paths below `path`; cluster them by
        ``DIKMeans(k, preprocessing=sounds.preprocessing)``.

    Raises
    ------
    MissingDataError
        Nothing at `path`, or no sounds in it.
    CorruptFileError
        A file that is unreadable, too short, silent or of too low a rate, if `on_unreadable` is
        "error"; or none that can be used.
    MissingExtraError
        The format needs soundfile, which is not installed.
    AmbiguousLabelsError, LabelsFileError
        The labels that were asked for cannot be had.
    TooLargeError
        More than `max_bytes`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.io import wavfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for hertz in (300, 600):
    ...         tone = np.sin(2 * np.pi * hertz * np.arange(4000) / 8000).astype(np.float32)
    ...         wavfile.write(f"{folder}/{hertz}.wav", 8000, tone)
    ...     load_sounds(folder).options
    {'size': (16, 48), 'highest_hz': 3800.0}
    """
    check_choice("on_unreadable", on_unreadable, ("skip", "error"))
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"size must be (bands, frames), two positive integers; got {size!r}.")
    path = Path(path).expanduser()
    with open_tree(path, single=SOUND_EXTENSIONS) as tree:
        members = find_members(tree, SOUND_EXTENSIONS, split, "sounds")
        n_bytes = len(members) * math.prod(size) * np.dtype(np.float32).itemsize
        if n_bytes > max_bytes:
            raise TooLargeError(path, n_bytes, max_bytes)
        reader = MemberReader(tree, "sound", skip=on_unreadable == "skip")
        rates = dict(reader.read_each(members, _usable_rate))
        if highest_hz is None:
            highest_hz = min(HIGHEST_HZ, USABLE_BAND * min(rates.values()) / 2)

        def picture(content: bytes, name: str) -> FloatArray:
            signal, rate = decode_sound(content, name)
            return noise_free_spectrogram(signal, rate, size, highest_hz=highest_hz, trim=trim)

        usable = {name: members[name] for name in rates}
        images = np.stack([image for _, image in reader.read_each(usable, picture)])
        reader.warn()
        found = find_labels(list(usable), labels, path, others=[*members, *tree.names])
    left_out = f", {len(reader.errors)} unusable file(s) left out" if reader.errors else ""
    return ImageSet(
        images=images,
        labels=found.numbers,
        class_names=found.class_names,
        names=tuple(usable),
        card=Card(
            title=path.name,
            source=f"sounds in {path.name}",
            citation="-",
            size=f"{len(images)} sounds",
            processing=f"spectrograms of {format_shape(size)} to {highest_hz:,.0f} Hz{left_out}",
        ),
        label_source=found.source,
        kind="sound",
        preprocessing="band-whitening",
        options={"size": tuple(size), "highest_hz": float(highest_hz)}
        | ({} if trim else {"trim": False}),
    )


def _usable_rate(content: bytes, name: str) -> int:
    """Samples per second of a sound, if it can be used."""
    signal, rate = decode_sound(content, name)
    if rate < LOWEST_RATE:
        raise CorruptFileError(
            name, f"has {rate:,} samples per second; at least {LOWEST_RATE:,} are needed"
        )
    if len(signal) < SHORTEST_SECONDS * rate:
        raise CorruptFileError(
            name,
            f"is too short: {len(signal) / rate:.3f} s; at least {SHORTEST_SECONDS} are needed",
        )
    if not np.ptp(signal) > 0:
        raise CorruptFileError(name, "is silent")
    return rate
