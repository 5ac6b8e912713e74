"""Folders of sounds: any format, rate, level and microphone; what cannot be used is named."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
from PIL import Image
from scipy.signal import lfilter, resample_poly

from dikmeans.datasets import (
    CorruptFileError,
    IgnoredFilesWarning,
    ImageSource,
    MissingDataError,
    MixedKindsError,
    TooLargeError,
    UnreadableFilesWarning,
    load,
    load_sounds,
)
from dikmeans.preprocessing import BandWhitening
from tests.datasets.published import tone, write_zip

RATE = 16000


def word(hertz=(2500, 900, 300), rate=RATE):
    """Falling tones, each fading in and out, between short silences."""
    parts = [tone(hz, 0.15, rate) * np.hanning(round(0.15 * rate)) for hz in hertz]
    silence = np.zeros(round(0.1 * rate))
    return np.concatenate([silence, *parts, silence])


def noisy(signal, level=1e-3, seed=0):
    return signal + level * np.random.default_rng(seed).normal(size=len(signal))


@pytest.fixture
def folder(tmp_path):
    for number, hertz in enumerate([(2500, 900, 300), (300, 900, 2500), (900, 300, 900)]):
        soundfile.write(tmp_path / f"{number}.wav", noisy(word(hertz)), RATE)
    return tmp_path


def likeness(first, second):
    """Correlation of two spectrograms as they are compared."""
    a, b = BandWhitening().fit_transform(np.stack([first, second])).reshape(2, -1)
    return float(a @ b)


def test_a_folder_of_sounds_is_recognized_by_its_files(folder):
    sounds = load(folder)
    assert sounds.kind == "sound"
    assert sounds.preprocessing == "band-whitening"
    assert sounds.images.shape == (3, *sounds.options["size"])
    assert sounds.names == ("0.wav", "1.wav", "2.wav")
    assert sounds.labels is None
    assert 0 <= sounds.images.min() < sounds.images.max() <= 1


@pytest.mark.parametrize("kind", ["flac", "ogg", "mp3"])
def test_other_formats_give_the_same_picture(folder, kind):
    soundfile.write(folder / f"0b.{kind}", noisy(word()), RATE)
    sounds = load(folder)
    same, other = sounds.names.index(f"0b.{kind}"), sounds.names.index("1.wav")
    first = sounds.images[sounds.names.index("0.wav")]
    assert likeness(first, sounds.images[same]) > 0.8
    assert likeness(first, sounds.images[other]) < 0.5


def test_compressed_wav_files_are_read_too(folder):
    soundfile.write(folder / "3.wav", noisy(word()), RATE, subtype="IMA_ADPCM")
    assert "3.wav" in load(folder).names


def recorded(signal, rate):
    """The same sound by another microphone: duller, softer, with its own noise."""
    duller = lfilter([0.3], [1, -0.7], signal)
    return noisy(0.05 * duller / abs(duller).max(), 2e-4, seed=1), rate


def test_microphone_level_and_rate_do_not_matter(tmp_path):
    soundfile.write(tmp_path / "0.wav", noisy(word()), RATE)
    soundfile.write(tmp_path / "1.wav", *recorded(word(), RATE))
    soundfile.write(tmp_path / "2.wav", resample_poly(noisy(word()), 1, 2), 8000)
    high = resample_poly(noisy(word()), 441, 160)
    soundfile.write(tmp_path / "3.wav", high, 44100)
    soundfile.write(tmp_path / "other.wav", noisy(word((300, 900, 2500))), RATE)
    sounds = load(tmp_path)
    first, *same, other = sounds.images
    assert sounds.options["highest_hz"] == pytest.approx(3800)  # what 8,000 samples can hold
    assert min(likeness(first, picture) for picture in same) > 0.7
    assert likeness(first, other) < 0.5


def test_long_silence_is_cut_even_if_there_is_noise_in_it(tmp_path):
    soundfile.write(tmp_path / "short.wav", noisy(word()), RATE)
    quiet = np.zeros(3 * RATE)
    soundfile.write(tmp_path / "long.wav", noisy(np.concatenate([quiet, word(), quiet])), RATE)
    long, short = load_sounds(tmp_path).images
    kept, _ = load_sounds(tmp_path, trim=False).images
    assert (long.max(axis=0) > 0.3).sum() > 0.5 * (short.max(axis=0) > 0.3).sum()
    assert (kept.max(axis=0) > 0.3).sum() < 0.2 * (short.max(axis=0) > 0.3).sum()


def test_sounds_that_cannot_be_used_are_named_and_left_out(folder):
    (folder / "broken.wav").write_bytes(b"RIFF")
    (folder / "empty.ogg").write_bytes(b"")
    soundfile.write(folder / "silent.wav", np.zeros(RATE), RATE)
    soundfile.write(folder / "short.wav", word()[:100], RATE)
    soundfile.write(folder / "slow.wav", word(rate=4000), 4000)
    with pytest.warns(UnreadableFilesWarning, match="5 unreadable") as caught:
        sounds = load(folder)
    assert sounds.names == ("0.wav", "1.wav", "2.wav")
    reasons = {error.path: error.reason for error in caught[0].message.errors}
    assert "is silent" in reasons["silent.wav"]
    assert "is too short: 0.006 s" in reasons["short.wav"]
    assert "4,000 samples per second; at least 8,000" in reasons["slow.wav"]
    assert {"broken.wav", "empty.ogg"} < set(reasons)
    with pytest.raises(CorruptFileError, match=r"broken\.wav"):
        load(folder, on_unreadable="error")


def test_nothing_usable_is_an_error(tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    with (
        pytest.warns(UnreadableFilesWarning, match="is silent"),
        pytest.raises(CorruptFileError, match="has 1 sound file"),
    ):
        load(tmp_path)
    (tmp_path / "silent.wav").unlink()
    with pytest.raises(MissingDataError, match="has no sounds"):
        load_sounds(tmp_path)


def test_pictures_among_sounds_are_refused_unless_they_are_few(folder):
    Image.new("L", (9, 9)).save(folder / "cover.png")
    with pytest.raises(MixedKindsError, match="has 1 pictures and 3 sounds") as caught:
        load(folder)
    assert (caught.value.n_pictures, caught.value.n_sounds) == (1, 3)
    for number in range(3, 10):
        soundfile.write(folder / f"{number}.wav", noisy(word(), seed=number), RATE)
    with pytest.warns(IgnoredFilesWarning, match=r"1 pictures, not used: cover\.png"):
        assert len(load(folder)) == 10


def test_folders_tables_zips_and_single_files_work_as_for_pictures(folder, tmp_path):
    (folder / "labels.csv").write_text("file,label\n0.wav,down\n1.wav,up\n2.wav,down\n")
    labeled = load(folder, labels=folder / "labels.csv")
    assert labeled.class_names == ("down", "up")
    assert labeled.labels.tolist() == [0, 1, 0]
    files = {f"in/{p.name}": p.read_bytes() for p in folder.glob("*.wav")}
    zipped = load(write_zip(tmp_path / "z.zip", files))
    np.testing.assert_array_equal(zipped.images, labeled.images)
    with ImageSource.resolve(str(tmp_path / "z.zip")).files() as read:
        assert read("1.wav") == files["in/1.wav"]
    single = load(folder / "1.wav")
    assert single.names == ("1.wav",)
    np.testing.assert_array_equal(single.images[0], labeled.images[1])


def test_too_many_sounds_for_memory_are_refused(folder):
    with pytest.raises(TooLargeError, match="max_bytes=100"):
        load(folder, max_bytes=100)
