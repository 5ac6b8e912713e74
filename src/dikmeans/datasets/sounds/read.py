"""Audio files -> mono float32 signals; WAV needs SciPy alone, other formats soundfile."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.io import wavfile

from dikmeans.datasets.errors import CorruptFileError, missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


# The highest rate in use is 768,000. Filters and windows grow with it, so that a false one costs memory.
MOST_SAMPLES_A_SECOND = 1_000_000
_BLOCK = 1 << 16


def read_sound(path: Path) -> tuple[NDArray[np.float32], int]:
    """Read an audio file.

    Parameters
    ----------
    path : pathlib.Path
        ``.wav``, or anything libsndfile knows (``.ogg``, ``.flac``, ...) if the extra ``audio`` is
        installed.

    Returns
    -------
    signal : ndarray of float32, shape (samples,)
        Channels averaged, full scale is 1.
    rate : int
        Samples a second.

    Raises
    ------
    CorruptFileError
        The file cannot be decoded.
    ImportError
        The format needs soundfile.
    """
    read = _read_wav if path.suffix.lower() == ".wav" else _read_with_soundfile
    signal, rate = read(path)
    if not 0 < rate <= MOST_SAMPLES_A_SECOND:
        raise CorruptFileError(
            f"{path} claims {rate:,} samples a second; no sound has so many, or so few."
        )
    if not np.isfinite(signal).all():
        raise CorruptFileError(f"{path} has samples that are NaN, infinite or beyond all measure.")
    return signal, rate


def to_mono(signal: NDArray) -> NDArray[np.float32]:
    """One channel, full scale 1, from samples of any type; channels are the last axis.

    Examples
    --------
    >>> to_mono(np.array([[16384, -16384], [16384, 16384]], np.int16)).tolist()
    [0.0, 0.5]
    """
    scaled: NDArray[np.float32]
    if signal.dtype == np.uint8:  # 8-bit WAV is the one unsigned kind, silent at 128
        scaled = (signal.astype(np.float32) - np.float32(128)) / np.float32(128)
    elif np.issubdtype(signal.dtype, np.signedinteger):
        scaled = (signal / -float(np.iinfo(signal.dtype).min)).astype(np.float32)
    else:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # what becomes infinite is refused as such
            scaled = signal.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        return scaled.mean(axis=-1, dtype=np.float32) if scaled.ndim == 2 else scaled


def _read_wav(path: Path) -> tuple[NDArray[np.float32], int]:
    try:
        with warnings.catch_warnings():
            # Chunks of notes and tags, which SciPy remarks on, are of no interest.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, samples = wavfile.read(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged header shows up as any of a dozen exceptions
        raise CorruptFileError(f"{path} cannot be read as a WAV file: {error}") from error
    return to_mono(samples), rate


def _read_with_soundfile(path: Path) -> tuple[NDArray[np.float32], int]:
    try:
        import soundfile
    except ImportError as error:
        raise missing_extra("soundfile", "audio", f"Reading {path.suffix} files") from error
    try:
        with soundfile.SoundFile(path) as file:
            # block by block: the number of samples in a header is a claim, not a fact
            samples = np.concatenate([np.empty((0, file.channels), np.float32), *_blocks(file)])
            rate = file.samplerate
    except soundfile.LibsndfileError as error:
        raise CorruptFileError(f"{path} cannot be read as a sound: {error}") from error
    return to_mono(samples), rate


def _blocks(file: Any) -> Iterator[NDArray[np.float32]]:
    while len(block := file.read(_BLOCK, dtype="float32", always_2d=True)):
        yield block
