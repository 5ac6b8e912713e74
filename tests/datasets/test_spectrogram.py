import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile
from scipy.signal import resample_poly

from dikmeans.datasets import CorruptFileError, spectrogram_picture
from dikmeans.datasets.sounds.read import read_sound
from tests.datasets.published import tone

RATE = 16000


def word(rate=RATE):
    """Something with a shape in time and pitch: three falling tones, each fading in and out."""
    parts = [tone(hertz, 0.15, rate) * np.hanning(round(0.15 * rate)) for hertz in (2500, 900, 300)]
    return np.concatenate(parts)


def brightest_rows(picture):
    return picture.argmax(axis=0)


def test_time_runs_to_the_right_and_pitch_upwards():
    picture = spectrogram_picture(word(), RATE)
    assert picture.shape == (24, 64)
    assert picture.dtype == np.float32
    first, middle, last = brightest_rows(picture)[[10, 32, 54]]
    assert first < middle < last  # the pitch falls, and row 0 is the highest


@given(st.floats(1e-30, 1e30))
@settings(max_examples=20, deadline=None)
def test_loudness_does_not_matter(gain):
    np.testing.assert_allclose(
        spectrogram_picture(gain * word(), RATE), spectrogram_picture(word(), RATE), atol=1e-3
    )


@given(st.integers(0, 4000), st.integers(0, 4000))
@settings(max_examples=20, deadline=None)
def test_silence_around_the_word_does_not_matter_unless_it_is_kept(before, after):
    # By whole steps of the silence detector: between them the picture moves within a frame.
    padded = np.pad(word(), (before // 80 * 80, after // 80 * 80))
    assert (
        np.abs(spectrogram_picture(padded, RATE) - spectrogram_picture(word(), RATE)).max() < 0.05
    )
    if before > 2000:
        kept = spectrogram_picture(padded, RATE, trim=False)
        assert kept[:, 0].max() == 0


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_the_sampling_rate_does_not_matter_as_far_as_it_reaches(rate):
    ratio = np.gcd(rate, RATE)
    other = resample_poly(word(), rate // ratio, RATE // ratio)
    difference = np.abs(spectrogram_picture(other, rate) - spectrogram_picture(word(), RATE))
    assert difference[10:].mean() < 0.05  # rows below 4 kHz, which every rate here reaches


def test_values_are_decibels_below_the_loudest_within_the_range():
    for range_db in (40, 80):
        picture = spectrogram_picture(word(), RATE, range_db=range_db)
        assert picture.max() == 1
        assert picture.min() == 0
    loud_then_soft = np.concatenate([tone(1000, 0.5, RATE), 0.01 * tone(1000, 0.5, RATE)])
    picture = spectrogram_picture(loud_then_soft, RATE, trim=False, range_db=60)
    assert picture[:, 48].max() == pytest.approx(1 - 40 / 60, abs=0.01)


def test_silence_is_black():
    assert not spectrogram_picture(np.zeros(1000), RATE).any()


def test_a_duration_keeps_the_speed_and_leaves_silence_behind():
    picture = spectrogram_picture(tone(1000, 0.25, RATE), RATE, duration=1.0)
    loud = picture.max(axis=0) > 0.5
    assert loud[:15].all()
    assert not loud[19:].any()
    assert spectrogram_picture(tone(1000, 2.0, RATE), RATE, duration=1.0).min(axis=0).shape == (64,)


def test_a_long_sound_leaves_no_gaps_between_its_frames():
    sound = np.zeros(60 * RATE)
    click = round(20.31 * RATE)
    sound[click : click + 80] = tone(1000, 0.005, RATE)
    picture = spectrogram_picture(sound, RATE, trim=False)
    assert picture.max(axis=0).argmax() == int(20.31 / 60 * 64)


def test_a_sound_shorter_than_a_window_has_a_picture_too():
    assert np.isfinite(spectrogram_picture([0.5], RATE)).all()
    assert np.isfinite(spectrogram_picture(np.ones(5), RATE, size=(40, 7))).all()


def test_integers_floats_and_channels_mean_the_same_sound():
    sound = 0.5 * word()
    integers = np.round(sound * 32768).astype(np.int16)
    stereo = np.stack([sound, sound], axis=1)
    expected = spectrogram_picture(sound, RATE)
    np.testing.assert_allclose(spectrogram_picture(integers, RATE), expected, atol=0.05)
    np.testing.assert_allclose(spectrogram_picture(stereo, RATE), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("signal", "rate", "options", "message"),
    [
        ([], RATE, {}, r"signal must be .* got \(0,\)"),
        (np.zeros((2, 2, 2)), RATE, {}, r"signal must be .* got \(2, 2, 2\)"),
        ([np.nan], RATE, {}, "NaN"),
        ([1.0], 0, {}, "rate must be a positive number"),
        ([1.0], RATE, {"size": (0, 3)}, "size must be"),
        ([1.0], RATE, {"duration": 0}, "duration must be"),
        ([1.0], RATE, {"range_db": 0}, "range_db must be"),
    ],
)
def test_what_is_no_sound_is_refused(signal, rate, options, message):
    with pytest.raises(ValueError, match=message):
        spectrogram_picture(signal, rate, **options)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int32, np.float32])
def test_wav_files_of_every_depth_read_the_same(tmp_path, kind):
    sound = 0.5 * word()
    scaled = {
        np.uint8: sound * 128 + 128,
        np.int16: sound * 2**15,
        np.int32: sound * 2.0**31,
        np.float32: sound,
    }[kind]
    wavfile.write(tmp_path / "x.wav", RATE, scaled.astype(kind))
    signal, rate = read_sound(tmp_path / "x.wav")
    assert rate == RATE
    assert signal.dtype == np.float32
    np.testing.assert_allclose(signal, sound, atol=0.01)


@pytest.mark.parametrize("name", ["x.wav", "x.ogg"])
@pytest.mark.parametrize("content", [b"", b"no sound at all", b"RIFF\x10\x00\x00\x00WAVEfmt "])
def test_a_damaged_sound_file_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorruptFileError, match=rf"{name} cannot be read"):
        read_sound(tmp_path / name)


def test_without_soundfile_the_error_says_what_to_install_and_wav_still_works(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    (tmp_path / "x.ogg").write_bytes(b"OggS")
    with pytest.raises(ImportError, match=r"pip install 'dikmeans\[audio\]'"):
        read_sound(tmp_path / "x.ogg")
    wavfile.write(tmp_path / "x.wav", RATE, word().astype(np.float32))
    assert len(read_sound(tmp_path / "x.wav")[0]) == len(word())
