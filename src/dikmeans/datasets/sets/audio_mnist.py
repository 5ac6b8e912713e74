"""AudioMNIST: 30,000 spoken digits, as spectrograms of 24 mel bands by 64 frames.

The first 40 speakers are for training, the other 20 for testing: 20,000 and 10,000 recordings, as
in the paper, and no voice in both. Images are rounded to bytes, like those of every other set, and
cached speaker by speaker, so that the slow first use can be interrupted and resumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from dikmeans._typing import JSON, FloatArray, IntArray
from dikmeans.datasets.errors import CorruptFileError, MissingDataError
from dikmeans.datasets.files.derived import derived_array
from dikmeans.datasets.files.progress import track
from dikmeans.datasets.files.table import read_table
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.published import SPLITS, FileLayout, PublishedFiles
from dikmeans.datasets.sounds.read import read_sound
from dikmeans.datasets.sounds.spectrogram import (
    DEFAULT_SIZE,
    TRANSFORM_VERSION,
    spectrogram_picture,
)

_HOMEPAGE = "https://github.com/soerenab/AudioMNIST"
CARD = Card(
    title="AudioMNIST",
    source=f"S. Becker et al., {_HOMEPAGE} (MIT license)",
    citation="S. Becker, M. Ackermann, S. Lapuschkin, K.-R. Müller, W. Samek. Interpreting and "
    "explaining deep neural networks for classification of audio signals. arXiv:1807.03418, 2018.",
    size="20,000 training recordings (speakers 1-40) and 10,000 test recordings (41-60), 10 digits",
    processing="log-mel spectrograms, see dikmeans.datasets.spectrogram_picture",
)
SPEAKERS = {"train": tuple(range(1, 41)), "test": tuple(range(41, 61))}

_INDEX = "index.csv"
_INDEX_COLUMNS = ("speaker", "digit", "rep", "start", "length")
_FILE_NAME = re.compile(r"(?P<digit>[0-9])_(?P<speaker>[0-9]{2})_(?P<rep>[0-9]+)\.wav")


@dataclass(frozen=True, order=True)
class Recording:
    """One spoken digit: a file, or a part of one.

    Attributes
    ----------
    digit, repetition : int
        The digit, and the number of its repetition by this speaker.
    path : pathlib.Path
        The sound file.
    start, length : int
        First sample and number of samples; a `length` of 0 is the whole file.
    """

    digit: int
    repetition: int
    path: Path
    start: int = 0
    length: int = 0


RecordingsBySpeaker = dict[int, list[Recording]]
"""The recordings of each speaker, by digit and repetition."""


def _read_folders(folder: Path, split: str) -> RecordingsBySpeaker:
    """``data/01/0_01_0.wav``: digit, speaker, repetition."""
    recordings: RecordingsBySpeaker = {}
    for speaker in SPEAKERS[split]:
        for path in (folder / "data" / f"{speaker:02d}").glob("*.wav"):
            name = _FILE_NAME.fullmatch(path.name)
            if name is not None and int(name["speaker"]) == speaker:
                recording = Recording(int(name["digit"]), int(name["rep"]), path)
                recordings.setdefault(speaker, []).append(recording)
    return {speaker: sorted(spoken) for speaker, spoken in recordings.items()}


def _read_index(folder: Path, split: str) -> RecordingsBySpeaker:
    """``speaker01.ogg`` with all recordings of a speaker, and a table of where each starts."""
    recordings: RecordingsBySpeaker = {}
    for number, line in read_table(folder / _INDEX, _INDEX_COLUMNS):
        place = f"{folder / _INDEX}, line {number},"
        try:
            speaker, digit, rep, start, length = (int(line[name] or "") for name in _INDEX_COLUMNS)
        except ValueError as error:
            raise CorruptFileError(place, f"must have whole numbers ({error})") from error
        if not 0 <= digit <= 9 or min(rep, start, length) < 0:
            raise CorruptFileError(place, "must have a digit from 0 to 9, and no negative numbers")
        path = folder / f"speaker{speaker:02d}.ogg"
        if speaker in SPEAKERS[split] and path.exists():
            recordings.setdefault(speaker, []).append(Recording(digit, rep, path, start, length))
    return {speaker: sorted(spoken) for speaker, spoken in recordings.items()}


FILES = PublishedFiles(
    folder="audiomnist",
    layouts=(
        FileLayout(
            "the published folder of recordings, data/01/0_01_0.wav to data/60/9_60_49.wav",
            dict.fromkeys(SPLITS, ("data",)),
            _read_folders,
        ),
        FileLayout(
            "one speakerNN.ogg for each speaker and a table of its recordings",
            dict.fromkeys(SPLITS, (_INDEX,)),
            _read_index,
        ),
    ),
    homepage=_HOMEPAGE,
)


def load_audio_mnist(
    split: str,
    data_home: Path,
    may_download: bool,
    /,
    *,
    size: tuple[int, int] = DEFAULT_SIZE,
    trim: bool = True,
    duration: float | None = None,
    speakers: Iterable[int] | None = None,
) -> ImageSet:
    """Load AudioMNIST.

    Parameters
    ----------
    split, data_home, may_download
        As in `DatasetLoader`.
    size : (int, int), default=(24, 64)
        Mel bands and frames.
    trim : bool, default=True
        Cut the silence around the word; the word is then stretched to the width of the image.
    duration : float, optional
        Seconds an image spans. By default as long as the word, so that fast and slow speech look
        alike; with ``duration=1`` and ``trim=False`` the recording starts at the left edge and
        keeps its speed.
    speakers : iterable of int, optional
        Only these, out of 1-40 for training and 41-60 for testing.
    """
    chosen = _checked_speakers(split, speakers)
    recordings = FILES.read(split, data_home, may_download)
    absent = [speaker for speaker in chosen if speaker not in recordings]
    if absent:
        raise MissingDataError(
            data_home / FILES.folder,
            f"has no recordings of speaker(s) {', '.join(map(str, absent))}",
            f"Get them from {FILES.homepage}, or pass speakers=[...] with those you have.",
            url=FILES.homepage,
        )
    options: JSON = {"size": tuple(size), "trim": trim, "duration": duration}
    images = np.concatenate(
        [
            _speaker_images(speaker, recordings[speaker], options)
            for speaker in track(chosen, "AudioMNIST, speakers")
        ]
    )
    spoken = [(speaker, recording) for speaker in chosen for recording in recordings[speaker]]
    span = "the word" if duration is None else f"{duration} s"
    return ImageSet(
        images=np.multiply(images, np.float32(1 / 255), dtype=np.float32),
        labels=np.array([recording.digit for _, recording in spoken], np.int64),
        class_names=tuple("0123456789"),
        names=tuple(f"{r.digit}_{speaker:02d}_{r.repetition}" for speaker, r in spoken),
        card=replace(
            CARD,
            processing=f"{CARD.processing}: {size[0]} bands by {size[1]} frames spanning {span}, "
            f"silence {'cut' if trim else 'kept'}",
        ),
    )


def _checked_speakers(split: str, speakers: Iterable[int] | None) -> list[int]:
    chosen = sorted(set(SPEAKERS[split] if speakers is None else speakers))
    if not chosen or not set(chosen) <= set(SPEAKERS[split]):
        first, last = SPEAKERS[split][0], SPEAKERS[split][-1]
        raise ValueError(
            f"speakers must be among {first}..{last}, those of the {split} split; got {chosen}."
        )
    return chosen


def _speaker_images(speaker: int, recordings: list[Recording], options: JSON) -> IntArray:
    def compute() -> IntArray:
        return np.stack(
            [
                np.rint(255 * spectrogram_picture(signal, rate, **options)).astype(np.uint8)
                for signal, rate in _signals(recordings)
            ]
        )

    files = {recording.path: recording.path.stat() for recording in recordings}
    depends_on = {
        "version": TRANSFORM_VERSION,
        "options": options,
        "files": sorted((path.name, s.st_size, s.st_mtime_ns) for path, s in files.items()),
        "recordings": [(r.digit, r.repetition, r.path.name, r.start, r.length) for r in recordings],
    }
    shape = (len(recordings), *options["size"])
    return derived_array(f"audio-mnist-speaker{speaker:02d}", depends_on, compute, shape)


def _signals(recordings: list[Recording]) -> Iterator[tuple[FloatArray, int]]:
    """The samples of each recording; a file shared by neighbors is read once."""
    for path, parts in groupby(recordings, key=lambda recording: recording.path):
        signal, rate = read_sound(path)
        for part in parts:
            stop = part.start + part.length if part.length else len(signal)
            if not part.start < stop <= len(signal):
                raise CorruptFileError(
                    path,
                    f"has {len(signal):,} samples; a recording of digit {part.digit} should be at "
                    f"{part.start:,} to {stop:,}",
                )
            yield signal[part.start : stop], rate
