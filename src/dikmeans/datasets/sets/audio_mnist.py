"""AudioMNIST: 30,000 spoken digits, as time-frequency pictures of 24 mel bands by 64 frames.

The first 40 speakers are the training part, the other 20 the test part: 20,000 and 10,000
recordings, as in the paper, and no voice is in both. Pictures are rounded to bytes, like those of
every other set, and kept in the cache speaker by speaker, so that the long first use can be
interrupted and resumed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans.datasets.errors import CorruptFileError, MissingDataError
from dikmeans.datasets.files.derived import derived_array
from dikmeans.datasets.files.progress import Progress
from dikmeans.datasets.files.table import read_table
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.named import SPLITS, Layout, NamedSet, Shelf
from dikmeans.datasets.sounds.read import read_sound
from dikmeans.datasets.sounds.spectrogram import (
    DEFAULT_SIZE,
    TRANSFORM_VERSION,
    spectrogram_picture,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

CARD = Card(
    title="AudioMNIST",
    source="S. Becker et al., https://github.com/soerenab/AudioMNIST (MIT licence)",
    citation="S. Becker, M. Ackermann, S. Lapuschkin, K.-R. Müller, W. Samek. Interpreting and "
    "explaining deep neural networks for classification of audio signals. arXiv:1807.03418, 2018.",
    size="20,000 training recordings (speakers 1-40) and 10,000 test recordings (41-60), 10 digits",
    processing="log-mel pictures, see dikmeans.datasets.spectrogram_picture",
)
SPEAKERS = {"train": tuple(range(1, 41)), "test": tuple(range(41, 61))}

_INDEX = "index.csv"
_INDEX_COLUMNS = ("speaker", "digit", "rep", "start", "length")
_RECORDING = re.compile(r"(?P<digit>[0-9])_(?P<speaker>[0-9]{2})_(?P<rep>[0-9]+)\.wav")


@dataclass(frozen=True)
class Recording:
    """One spoken digit: a file, or a stretch of one.

    Attributes
    ----------
    digit, repetition : int
        What is said, for the how manieth time.
    path : pathlib.Path
        The sound file.
    start, length : int
        The samples it takes up; a `length` of 0 is the whole file.
    """

    digit: int
    repetition: int
    path: Path
    start: int = 0
    length: int = 0


Voices = dict[int, list[Recording]]
"""The recordings of each speaker, by digit and repetition."""


def _read_folders(folder: Path, split: str) -> Voices:
    """``data/01/0_01_0.wav``: digit, speaker, repetition."""
    voices: Voices = {}
    for speaker in SPEAKERS[split]:
        found = (
            (match, path)
            for path in (folder / "data" / f"{speaker:02d}").glob("*.wav")
            if (match := _RECORDING.fullmatch(path.name)) and int(match["speaker"]) == speaker
        )
        recordings = [
            Recording(int(match["digit"]), int(match["rep"]), path) for match, path in found
        ]
        if recordings:
            voices[speaker] = _in_order(recordings)
    return voices


def _read_index(folder: Path, split: str) -> Voices:
    """``speaker01.ogg`` with all recordings of a speaker, and a table of where each starts."""
    voices: Voices = {}
    for number, line in read_table(folder / _INDEX, _INDEX_COLUMNS):
        try:
            speaker, digit, rep, start, length = (int(line[name] or "") for name in _INDEX_COLUMNS)
        except ValueError as error:
            raise CorruptFileError(
                f"{folder / _INDEX}, line {number}: expected whole numbers ({error})."
            ) from error
        if not 0 <= digit <= 9 or min(rep, start, length) < 0:
            raise CorruptFileError(
                f"{folder / _INDEX}, line {number}: expected a digit from 0 to 9, and no negative numbers."
            )
        path = folder / f"speaker{speaker:02d}.ogg"
        if speaker in SPEAKERS[split] and path.exists():
            voices.setdefault(speaker, []).append(Recording(digit, rep, path, start, length))
    return {speaker: _in_order(recordings) for speaker, recordings in voices.items()}


def _in_order(recordings: list[Recording]) -> list[Recording]:
    return sorted(recordings, key=lambda r: (r.digit, r.repetition))


SHELF = Shelf(
    folder="audiomnist",
    layouts=(
        Layout(
            "the published folder of recordings, data/01/0_01_0.wav to data/60/9_60_49.wav",
            dict.fromkeys(SPLITS, ("data",)),
            _read_folders,
        ),
        Layout(
            "one speakerNN.ogg for each speaker and a table of its recordings",
            dict.fromkeys(SPLITS, (_INDEX,)),
            _read_index,
        ),
    ),
    homepage="https://github.com/soerenab/AudioMNIST",
)


def load_audio_mnist(
    split: str,
    data_home: Path,
    download: bool,
    *,
    size: tuple[int, int] = DEFAULT_SIZE,
    trim: bool = True,
    duration: float | None = None,
    speakers: Iterable[int] | None = None,
) -> ImageSet:
    """Load AudioMNIST.

    Parameters
    ----------
    split, data_home, download
        As in `dikmeans.datasets.load`.
    size : (int, int), default=(24, 64)
        Mel bands and frames.
    trim : bool, default=True
        Cut the silence around the word; the word is then stretched to the width of the picture.
    duration : float, optional
        Seconds a picture spans. By default as long as the word, so that fast and slow speech look
        alike; with ``duration=1`` and ``trim=False`` the recording starts at the left edge and
        keeps its speed.
    speakers : iterable of int, optional
        Only these, out of 1-40 for training and 41-60 for testing.

    Returns
    -------
    ImageSet
    """
    wanted = _checked_speakers(split, speakers)
    voices = SHELF.read(split, data_home, download)
    absent = [speaker for speaker in wanted if speaker not in voices]
    if absent:
        raise MissingDataError(
            f"There are no recordings of speaker(s) {', '.join(map(str, absent))} in "
            f"{data_home / SHELF.folder}. Get them from {SHELF.homepage}, or pass speakers=[...] "
            "with those you have."
        )
    options = {"size": tuple(size), "trim": trim, "duration": duration}
    recordings = {speaker: voices[speaker] for speaker in wanted}
    images = _pictures_of(recordings, options)
    return ImageSet(
        images=np.multiply(images, np.float32(1 / 255), dtype=np.float32),
        labels=np.array([r.digit for voice in recordings.values() for r in voice], np.int64),
        class_names=tuple("0123456789"),
        names=tuple(
            f"{r.digit}_{speaker:02d}_{r.repetition}"
            for speaker, voice in recordings.items()
            for r in voice
        ),
        card=replace(CARD, processing=f"{CARD.processing}: {_describe(options)}"),
    )


def _checked_speakers(split: str, speakers: Iterable[int] | None) -> list[int]:
    if speakers is None:
        return list(SPEAKERS[split])
    wanted = sorted(set(speakers))
    strangers = [speaker for speaker in wanted if speaker not in SPEAKERS[split]]
    if strangers or not wanted:
        first, last = SPEAKERS[split][0], SPEAKERS[split][-1]
        raise ValueError(
            f"speakers must be some of {first}..{last}, those of the {split} part; got {wanted}."
        )
    return wanted


def _pictures_of(recordings: Voices, options: Mapping[str, Any]) -> NDArray[np.uint8]:
    pictures = []
    with Progress("AudioMNIST, speakers", len(recordings)) as progress:
        for speaker, voice in recordings.items():
            pictures.append(_speaker_pictures(speaker, voice, options))
            progress.advance()
    return np.concatenate(pictures)


def _speaker_pictures(
    speaker: int, recordings: list[Recording], options: Mapping[str, Any]
) -> NDArray[np.uint8]:
    def compute() -> NDArray[np.uint8]:
        return np.stack(
            [
                np.rint(255 * spectrogram_picture(signal, rate, **options)).astype(np.uint8)
                for signal, rate in _signals(recordings)
            ]
        )

    files = {recording.path for recording in recordings}
    depends_on = {
        "version": TRANSFORM_VERSION,
        "options": dict(options),
        "files": sorted(
            (path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files
        ),
        "recordings": [(r.digit, r.repetition, r.path.name, r.start, r.length) for r in recordings],
    }
    shape = (len(recordings), *options["size"])
    return derived_array(f"audio-mnist-speaker{speaker:02d}", depends_on, compute, shape)


def _signals(recordings: list[Recording]) -> Iterator[tuple[NDArray[np.float32], int]]:
    """The samples of each recording; a file shared by neighbours is read once."""
    for path, sharing in groupby(recordings, key=lambda recording: recording.path):
        signal, rate = read_sound(path)
        for recording in sharing:
            stop = recording.start + recording.length if recording.length else len(signal)
            if not recording.start < stop <= len(signal):
                raise CorruptFileError(
                    f"{path} has {len(signal):,} samples; a recording of digit {recording.digit} "
                    f"should be at {recording.start:,} to {stop:,}."
                )
            yield signal[recording.start : stop], rate


def _describe(options: Mapping[str, Any]) -> str:
    bands, frames = options["size"]
    span = "the word" if options["duration"] is None else f"{options['duration']} s"
    silence = "silence cut" if options["trim"] else "silence kept"
    return f"{bands} bands by {frames} frames spanning {span}, {silence}"


SET = NamedSet("audio-mnist", load_audio_mnist)
