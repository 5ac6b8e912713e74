"""Audio files to mono float32 signals; WAV needs only SciPy, other formats need soundfile."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.io import wavfile

from dikmeans._typing import Array, FloatArray
from dikmeans.datasets.errors import CorruptFileError
from dikmeans.errors import MissingExtraError

if TYPE_CHECKING:
    import soundfile

# The highest rate in use is 768,000. Filters and windows grow with it: a false one costs memory.
_HIGHEST_RATE = 1_000_000
_BLOCK_SAMPLES = 1 << 16


def read_sound(path: Path) -> tuple[FloatArray, int]:
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
        Samples per second.

    Raises
    ------
    CorruptFileError
        The file cannot be decoded.
    MissingExtraError
        The format needs soundfile, which is not installed.
    """
    read = _read_wav if path.suffix.lower() == ".wav" else _read_with_soundfile
    signal, rate = read(path)
    if not 0 < rate <= _HIGHEST_RATE:
        raise CorruptFileError(path, f"claims a rate of {rate:,} samples per second")
    if not np.isfinite(signal).all():
        raise CorruptFileError(path, "has samples that are NaN, infinite or too large for float32")
    return signal, rate


def to_mono(signal: Array) -> FloatArray:
    """One channel, full scale 1, from samples of any type; channels are the last axis.

    Examples
    --------
    >>> to_mono(np.array([[16384, -16384], [16384, 16384]], np.int16)).tolist()
    [0.0, 0.5]
    """
    scaled: FloatArray
    with np.errstate(over="ignore", invalid="ignore"):  # callers refuse infinite values
        if signal.dtype == np.uint8:  # 8-bit WAV is the only unsigned kind, silent at 128
            scaled = (signal.astype(np.float32) - np.float32(128)) / np.float32(128)
        elif np.issubdtype(signal.dtype, np.signedinteger):
            scaled = (signal / -float(np.iinfo(signal.dtype).min)).astype(np.float32)
        else:
            scaled = signal.astype(np.float32)
        return scaled.mean(axis=-1, dtype=np.float32) if scaled.ndim == 2 else scaled


def _read_wav(path: Path) -> tuple[FloatArray, int]:
    try:
        with warnings.catch_warnings():
            # SciPy warns of chunks it does not know, such as tags.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, samples = wavfile.read(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged header shows up as any of a dozen exceptions
        raise CorruptFileError(path, f"cannot be read as a WAV file: {error}") from error
    return to_mono(samples), rate


def _read_with_soundfile(path: Path) -> tuple[FloatArray, int]:
    try:
        import soundfile
    except ImportError as error:
        raise MissingExtraError("soundfile", "audio", f"Reading {path.suffix} files") from error
    try:
        with soundfile.SoundFile(path) as file:
            # Block by block: the number of samples in a header is a claim, not a fact.
            samples = np.concatenate([np.empty((0, file.channels), np.float32), *_blocks(file)])
            rate = file.samplerate
    except soundfile.LibsndfileError as error:
        raise CorruptFileError(path, f"cannot be read as a sound: {error}") from error
    return to_mono(samples), rate


def _blocks(file: soundfile.SoundFile) -> Iterator[FloatArray]:
    while len(block := file.read(_BLOCK_SAMPLES, dtype="float32", always_2d=True)):
        yield block
