r"""A sound to a log-mel spectrogram of fixed size.

Rows are mel bands, the highest pitch in row 0 (the top, as spectrograms are drawn); columns are
time, left to right. The frames are evenly spaced over the sound whatever its length: every sound is
stretched to the same width.

`spectrogram_picture` is for recordings made alike. A pixel is the power ``P`` in its band and
frame, in decibels below the loudest pixel of the image,

    pixel = max(0, 1 + 10 log10(P / max P) / range_db),

so the image does not depend on the loudness of the recording.

`noise_free_spectrogram` is for recordings by different microphones, in different rooms, where noise
is added to each band and its power is multiplied by a constant. A pixel is in decibels above the
noise of its band, the level (L) that is exceeded in nine tenths of the time,

    pixel = clip((L - noise - gate_db) / range_db, 0, 1).

A band of nothing but noise is black. The constant is the same in a whole row:
`dikmeans.preprocessing.BandWhitening` removes it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import fft, ndimage

from dikmeans._typing import ArrayLike, FloatArray
from dikmeans.datasets.sounds.read import to_mono

DEFAULT_SIZE = (24, 64)
# Increase it whenever the same parameters give another image: the names of cached images carry it.
TRANSFORM_VERSION = 1

_WINDOW_SECONDS = 0.032
_LOWEST_HZ = 60.0
HIGHEST_HZ = 8000.0
# Recordings reach up to this part of half their rate: filters take the rest.
USABLE_BAND = 0.95
_ENERGY_STEP_SECONDS = 0.005
# Steps of an equalized spectrogram before they become columns, and the most there may be.
_STEP_SECONDS, _MOST_STEPS = 0.004, 50_000
# Whatever is further below the loudest moment cannot be told from silence.
_DYNAMIC_DB = 70.0
# The quantile over time that is a band's noise.
_NOISE = 0.1
# A step is active if it is above noise by this part of the most active one, over so many steps;
# the margin is a part of the time between the first and the last of them.
_ACTIVE, _SMOOTHING_STEPS, _MARGIN = 0.05, 7, 0.5
_SAMPLES_AT_ONCE = 1 << 20


def spectrogram_picture(
    signal: ArrayLike,
    rate: float,
    size: tuple[int, int] = DEFAULT_SIZE,
    *,
    trim: bool = True,
    trim_db: float = 40.0,
    duration: float | None = None,
    range_db: float = 60.0,
) -> FloatArray:
    """The log-mel spectrogram of a sound, as an image.

    Parameters
    ----------
    signal : array, shape (samples,) or (samples, channels)
        The sound, integers or floats; channels are averaged.
    rate : float
        Samples per second. Images of one sound at different rates agree as far as the lower rate
        reaches.
    size : (int, int), default=(24, 64)
        Mel bands (rows) and frames (columns).
    trim : bool, default=True
        Cut the silence before and after the sound.
    trim_db : float, default=40
        Anything this far below the loudest moment is silence. At 30 dB soft consonants ("s", "f")
        are cut too.
    duration : float, optional
        Seconds the image spans; a shorter sound is followed by silence, a longer one is cut. By
        default the image spans the sound.
    range_db : float, default=60
        Decibels between the loudest pixel (1) and the background (0).

    Returns
    -------
    ndarray of float32, shape `size`
        In [0, 1]; silence gives all zeros.

    Examples
    --------
    A tone is a horizontal line:

    >>> import numpy as np
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(8000) / 16000)
    >>> picture = spectrogram_picture(tone, 16000)
    >>> picture.shape
    (24, 64)
    >>> np.unique(picture.argmax(axis=0)).size
    1
    """
    sound = _checked(signal, rate)
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"size must be (bands, frames), two positive integers; got {size!r}.")
    for name, value in (("range_db", range_db), ("trim_db", trim_db), ("duration", duration)):
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive; got {value!r}.")
    bands, frames = size
    if trim:
        sound = _trimmed(sound, rate, trim_db)
    if duration is not None:
        n_samples = max(1, round(duration * rate))
        sound = np.pad(sound[:n_samples], (0, max(0, n_samples - len(sound))))
    window = max(2, round(_WINDOW_SECONDS * rate))
    filters = _mel_filters(bands, window, rate, HIGHEST_HZ)
    return _decibels(_mel_power(sound, filters, window, frames), range_db)


def noise_free_spectrogram(
    signal: ArrayLike,
    rate: float,
    size: tuple[int, int] = DEFAULT_SIZE,
    *,
    highest_hz: float = HIGHEST_HZ,
    trim: bool = True,
    range_db: float = 60.0,
    gate_db: float = 2.0,
) -> FloatArray:
    """The log-mel spectrogram of a sound, each band in decibels above its own noise.

    Parameters
    ----------
    signal, rate, size
        As in `spectrogram_picture`.
    highest_hz : float, default=8000
        Upper end of the highest band; less for rates below 16,000.
    trim : bool, default=True
        Cut silence before and after the sound, but for a margin.
    range_db : float, default=60
        Decibels above the noise that are white.
    gate_db : float, default=2
        Decibels above the noise that are still black.

    Returns
    -------
    ndarray of float32, shape `size`
        In [0, 1]; silence gives all zeros.

    Examples
    --------
    The constant noise of a band does not show, a tone above it does:

    >>> import numpy as np
    >>> rng, time = np.random.default_rng(0), np.arange(8000) / 16000
    >>> tone = np.sin(2 * np.pi * 500 * time) * (abs(time - 0.25) < 0.1)
    >>> picture = noise_free_spectrogram(tone + 0.01 * rng.normal(size=8000), 16000)
    >>> bool(picture[18].max() > 0.5), bool(picture[:10].mean() < 0.1)
    (True, True)
    """
    sound = _checked(signal, rate)
    bands, frames = size
    window = max(2, round(_WINDOW_SECONDS * rate))
    filters = _mel_filters(bands, window, rate, highest_hz)
    n_steps = min(max(frames, round(len(sound) / (_STEP_SECONDS * rate))), _MOST_STEPS)
    power = _mel_power(sound, filters, window, n_steps)
    if not power.max() > 0:
        return np.zeros(size, np.float32)
    levels = 10 * np.log10(np.maximum(power / power.max(), 10 ** (-_DYNAMIC_DB / 10)))
    above = levels - np.quantile(levels, _NOISE, axis=1, keepdims=True) - gate_db
    if trim:
        above = above[:, _active_part(above)]
    return _columns(np.clip(above / range_db, 0, 1), frames).astype(np.float32)


def _active_part(above_noise: FloatArray) -> slice:
    """The steps of a sound that are not silent, with a margin; levels (bands, steps) in decibels.

    What is above its noise in many bands, or far above in a few, is a sound.
    """
    activity = ndimage.uniform_filter1d(np.maximum(above_noise, 0).mean(axis=0), _SMOOTHING_STEPS)
    active = np.flatnonzero(activity > _ACTIVE * activity.max())
    if not active.size:
        return slice(None)
    margin = round(_MARGIN * (active[-1] + 1 - active[0]))
    return slice(max(0, active[0] - margin), active[-1] + 1 + margin)


def _columns(pixels: FloatArray, n: int) -> FloatArray:
    """Pixels (bands, steps) averaged, or interpolated, to `n` columns."""
    steps = pixels.shape[1]
    sums = np.pad(np.cumsum(pixels, axis=1), ((0, 0), (1, 0)))
    edges = np.linspace(0, steps, n + 1)
    at_edges = np.stack([np.interp(edges, np.arange(steps + 1), row) for row in sums])
    return np.diff(at_edges, axis=1) * (n / steps)


def _checked(signal: ArrayLike, rate: float) -> FloatArray:
    sound = np.asarray(signal)
    if sound.ndim not in (1, 2) or sound.size == 0:
        raise ValueError(
            f"signal must be a sound of shape (samples,) or (samples, channels); got {sound.shape}."
        )
    if not (np.isfinite(rate) and rate > 0):
        raise ValueError(f"rate must be a positive number of samples per second; got {rate!r}.")
    sound = to_mono(sound)
    if not np.isfinite(sound).all():
        raise ValueError("signal has samples that are NaN or infinite; remove them first.")
    # The image does not depend on loudness; scaled, no square can overflow or vanish.
    return np.asarray(sound / max(np.abs(sound).max(), np.finfo(np.float32).tiny))


def _trimmed(sound: FloatArray, rate: float, trim_db: float) -> FloatArray:
    """The sound between its first and its last step that is not silent."""
    step = max(1, round(_ENERGY_STEP_SECONDS * rate))
    energy = np.add.reduceat(np.square(sound, dtype=np.float64), np.arange(0, len(sound), step))
    loud = np.flatnonzero(energy > energy.max() * 10 ** (-trim_db / 10))
    # A silent sound has no loud step, and nothing to cut.
    return sound[loud[0] * step : (loud[-1] + 1) * step] if loud.size else sound


def _mel_power(sound: FloatArray, filters: FloatArray, window: int, frames: int) -> FloatArray:
    """Power in each band and frame, shape (bands, frames).

    Where frames are further apart than half a window, several are averaged, so that a long sound
    leaves no gaps.
    """
    per_column = max(1, int(np.ceil(2 * len(sound) / (frames * window))))
    count = frames * per_column
    starts = np.floor((np.arange(count) + 0.5) / count * len(sound)).astype(np.intp)
    padded = np.pad(sound, (window // 2, window - window // 2))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, window)
    taper = np.hanning(window + 2)[1:-1].astype(np.float32)
    columns_at_once = max(1, _SAMPLES_AT_ONCE // (per_column * window))
    power = np.empty((frames, filters.shape[1]))
    for first in range(0, frames, columns_at_once):
        chunk = starts.reshape(frames, per_column)[first : first + columns_at_once]
        spectrum = fft.rfft(pieces[chunk] * taper)
        power[first : first + columns_at_once] = (
            np.square(spectrum.real) + np.square(spectrum.imag)
        ).mean(axis=1) @ filters
    return power.T


@lru_cache(maxsize=16)
def _mel_filters(bands: int, window: int, rate: float, highest_hz: float) -> FloatArray:
    """Triangles evenly spaced in mel, each of sum 1, highest band first; (frequencies, bands)."""
    lowest, highest = (2595 * np.log10(1 + hz / 700) for hz in (_LOWEST_HZ, highest_hz))
    corners = 700 * (10 ** (np.linspace(lowest, highest, bands + 2) / 2595) - 1)
    frequencies = np.fft.rfftfreq(window, 1 / rate)
    rising = (frequencies[:, None] - corners[:-2]) / np.diff(corners[:-1])
    falling = (corners[2:] - frequencies[:, None]) / np.diff(corners[1:])
    triangles = np.clip(np.minimum(rising, falling), 0, None)
    # Narrow triangles may fall between two frequencies and take the nearest. Bands above the
    # Nyquist frequency stay empty.
    for band in np.flatnonzero(triangles.sum(axis=0) == 0):
        if corners[band + 1] <= rate / 2:
            triangles[np.abs(frequencies - corners[band + 1]).argmin(), band] = 1
    triangles /= np.maximum(triangles.sum(axis=0), np.finfo(float).tiny)
    return triangles[:, ::-1]


def _decibels(power: FloatArray, range_db: float) -> FloatArray:
    loudest = power.max()
    if loudest <= 0:
        return np.zeros(power.shape, np.float32)
    floor = 10 ** (-range_db / 10)
    levels = 1 + 10 * np.log10(np.maximum(power / loudest, floor)) / range_db
    return np.asarray(levels, np.float32)
