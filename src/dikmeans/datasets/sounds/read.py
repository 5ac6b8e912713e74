"""Audio files to mono float32 signals; WAV needs only SciPy, other formats need soundfile."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
from scipy.io import wavfile

from dikmeans._typing import Array, FloatArray
from dikmeans.datasets.errors import CorruptFileError
from dikmeans.errors import MissingExtraError

if TYPE_CHECKING:
    import soundfile

SOUND_EXTENSIONS = frozenset(
    (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64")
)
# The highest rate in use is 768,000. Filters and windows grow with it: a false one costs memory.
_HIGHEST_RATE = 1_000_000
_BLOCK_SAMPLES = 1 << 16


def read_sound(path: Path) -> tuple[FloatArray, int]:
    """Read an audio file; see `decode_sound`."""
    return decode_sound(path.read_bytes(), str(path))


def decode_sound(content: bytes, name: str) -> tuple[FloatArray, int]:
    """Decode a sound.

    Parameters
    ----------
    content : bytes
        The file: WAV, or anything libsndfile knows (FLAC, OGG, MP3, ...) if the extra ``audio`` is
        installed.
    name : str
        Name of the file, for its extension and for errors.

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
    decode = _decode_wav if name.lower().endswith(".wav") else _decode_with_soundfile
    signal, rate = decode(content, name)
    if not 0 < rate <= _HIGHEST_RATE:
        raise CorruptFileError(name, f"claims a rate of {rate:,} samples per second")
    if not np.isfinite(signal).all():
        raise CorruptFileError(name, "has samples that are NaN, infinite or too large for float32")
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


def _decode_wav(content: bytes, name: str) -> tuple[FloatArray, int]:
    try:
        with warnings.catch_warnings():
            # SciPy warns of chunks it does not know, such as tags.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, samples = wavfile.read(io.BytesIO(content))
    except Exception as error:  # a damaged header shows up as any of a dozen exceptions
        # SciPy does not know compressed samples; libsndfile may.
        with contextlib.suppress(CorruptFileError, MissingExtraError):
            return _decode_with_soundfile(content, name)
        raise CorruptFileError(name, f"cannot be read as a WAV file: {error}") from error
    return to_mono(samples), rate


def _decode_with_soundfile(content: bytes, name: str) -> tuple[FloatArray, int]:
    try:
        import soundfile
    except ImportError as error:
        kind = f"Reading {PurePath(name).suffix} files"
        raise MissingExtraError("soundfile", "audio", kind) from error
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            # Block by block: the number of samples in a header is a claim, not a fact.
            samples = np.concatenate([np.empty((0, file.channels), np.float32), *_blocks(file)])
            rate = file.samplerate
    except soundfile.LibsndfileError as error:
        raise CorruptFileError(name, f"cannot be read as a sound: {error}") from error
    return to_mono(samples), rate


def _blocks(file: soundfile.SoundFile) -> Iterator[FloatArray]:
    while len(block := file.read(_BLOCK_SAMPLES, dtype="float32", always_2d=True)):
        yield block
