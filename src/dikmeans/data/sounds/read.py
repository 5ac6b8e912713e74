"""Audio files -> mono float32 signals; WAV needs SciPy alone, other formats soundfile."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.io import wavfile

from dikmeans.data.errors import CorruptFileError, missing_extra

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


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
    return _read_wav(path) if path.suffix.lower() == ".wav" else _read_with_soundfile(path)


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
        scaled = signal.astype(np.float32)
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
        samples, rate = soundfile.read(path, dtype="float32")
    except soundfile.LibsndfileError as error:
        raise CorruptFileError(f"{path} cannot be read as a sound: {error}") from error
    return to_mono(samples), rate
